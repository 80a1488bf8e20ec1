//! Marks that distinguish series: colour, shape and dash.

use litelab_stats::Estimate;

use super::scale::Scale;
use super::svg::Path;

/// Number of colours and shapes. Series beyond it reuse them with another dash.
pub(crate) const SERIES: usize = 8;

const DASHES: usize = 4;

/// Half the width of a whisker's cap.
const CAP: f64 = 3.5;

/// Index of the cross.
pub(crate) const CROSS: usize = 5;

/// Outlines that begin at their middle, 8 units wide: circle, square, triangle, diamond, inverted triangle, cross,
/// upright cross, hourglass.
const SHAPES: [&str; SERIES] = [
    "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
    "m-3.5 -3.5h7v7h-7z",
    "m0 -5l4.5 8h-9z",
    "m0 -5l5 5l-5 5l-5 -5z",
    "m0 5l-4.5 -8h9z",
    "m-4 -4l8 8m-8 0l8 -8",
    "m0 -5v10m-5 -5h10",
    "m-4 -4h8l-8 8h8z",
];

/// CSS class of a series' colour.
pub(crate) fn colour(series: usize) -> String {
    format!("s{}", series % SERIES)
}

/// CSS classes of a series' line.
pub(crate) fn line(series: usize) -> String {
    format!("line d{} {}", (series + series / SERIES) % DASHES, colour(series))
}

/// CSS classes of a series' markers.
pub(crate) fn marker(series: usize) -> String {
    format!("mark {}", colour(series))
}

/// Adds a shape to a path; indices beyond the last shape begin again with the first.
pub(in crate::chart) fn shape(path: &mut Path, shape: usize, (x, y): (f64, f64)) {
    path.start(x, y).then(SHAPES[shape % SERIES]);
}

/// Positions of an interval's ends on an axis, each with whether it is closed there. An end outside the axis is placed
/// at the end of the axis and is not closed. `None` without an interval.
pub(in crate::chart) fn ends(estimate: &Estimate, axis: &Scale) -> Option<[(f64, bool); 2]> {
    let (low, high) = (estimate.low()?, estimate.high()?);
    let closed = |end: f64| axis.at(end).filter(|_| axis.has(end)).map(|place| (place, true));
    let beyond = |other: bool| if other { (axis.to, false) } else { (axis.from, false) };
    Some([
        closed(low).unwrap_or_else(|| beyond(low > axis.high)),
        closed(high).unwrap_or_else(|| beyond(high >= axis.low)),
    ])
}

/// Adds a vertical whisker to a path.
pub(in crate::chart) fn whisker(path: &mut Path, x: f64, estimate: &Estimate, axis: &Scale) {
    let Some([(low, low_closed), (high, high_closed)]) = ends(estimate, axis) else { return };
    path.start(x, low).down(high);
    if low_closed {
        path.start(x - CAP, low).across(x + CAP);
    } else {
        path.start(x - CAP, low - CAP).line(x, low).line(x + CAP, low - CAP);
    }
    if high_closed {
        path.start(x - CAP, high).across(x + CAP);
    } else {
        path.start(x - CAP, high + CAP).line(x, high).line(x + CAP, high + CAP);
    }
}

#[cfg(test)]
mod tests {
    use litelab_stats::{Bounds, Interval};

    use super::super::scale::Kind;
    use super::*;

    #[test]
    fn series_differ_in_more_than_colour() {
        let looks: std::collections::BTreeSet<(String, &str)> =
            (0..3 * SERIES).map(|series| (line(series), SHAPES[series % SERIES])).collect();
        assert_eq!(looks.len(), 3 * SERIES);
        assert_eq!(SHAPES.iter().collect::<std::collections::BTreeSet<_>>().len(), SHAPES.len());
    }

    #[test]
    fn an_end_outside_the_axis_lies_at_the_border() {
        let axis = Scale { kind: Kind::Logarithmic, low: 0.1, high: 10.0, from: 0.0, to: 100.0 };
        let of = |bounds| ends(&Estimate { value: 1.0, n: 6, bounds }, &axis);
        let at = |low, high| of(Bounds::Interval(Interval::new(low, high, 0.95).unwrap()));
        assert_eq!(at(1.0, 10.0), Some([(50.0, true), (100.0, true)]));
        assert_eq!(at(0.0, f64::MAX), Some([(0.0, false), (100.0, false)]));
        assert_eq!(at(0.01, 1.0), Some([(0.0, false), (50.0, true)]));
        assert_eq!(at(20.0, 30.0), Some([(100.0, false), (100.0, false)]));
        assert_eq!(at(0.01, 0.02), Some([(0.0, false), (0.0, false)]));
        assert_eq!(of(Bounds::NeedsAtLeast(6)), None);
    }
}
