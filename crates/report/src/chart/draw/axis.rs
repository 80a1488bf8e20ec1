//! An axis: its range, its ticks and its title.

use litelab_model::metric::Unit;

use super::scale::{self, Kind, Scale};
use super::svg::WIDTH;
use super::{text, ticks};
use crate::number;

/// Smallest horizontal distance between labels, and smallest vertical distance between baselines.
const APART: (f64, f64) = (6.0, 14.5);

/// Unit of a time axis that is always in seconds.
const SECONDS: number::Scale = number::Scale { divisor: 1.0, after: " s", after_end: "", name: "s" };

/// An axis that is not placed in a picture yet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    kind: Kind,
    low: f64,
    high: f64,
    what: String,
    labels: Labels,
}

#[derive(Clone, Debug, PartialEq)]
enum Labels {
    /// Multiples of a unit.
    Of(number::Scale),
    /// Times, each label with its unit.
    Times,
    /// Given labels, the most important first.
    Given(Vec<(f64, String)>),
}

/// A marked value of an axis, with its position and label.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    pub(crate) place: f64,
    pub(crate) label: String,
}

impl Axis {
    /// Creates a linear axis over these values and 0; `None` if no value can be placed.
    pub(crate) fn linear(what: &str, unit: Unit, values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let (low, high) = Kind::Linear.range(values)?;
        let (low, high) = if (low, high) == (0.0, 0.0) { (0.0, 1.0) } else { (low.min(0.0), high.max(0.0)) };
        let unit = number::choose(low.abs().max(high.abs()), unit);
        Some(Self { kind: Kind::Linear, low, high, what: what.into(), labels: Labels::Of(unit) })
    }

    /// Creates an axis like [`Axis::linear`], extended to the next tick.
    pub(crate) fn rounded(what: &str, unit: Unit, values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut axis = Self::linear(what, unit, values)?;
        if let Labels::Of(unit) = axis.labels {
            let (low, high) = (axis.low / unit.divisor, axis.high / unit.divisor);
            if let [first, second, ..] = ticks::linear(low, high, 6)[..] {
                let step = second - first;
                axis.low = (low / step).floor() * step * unit.divisor;
                axis.high = (high / step).ceil() * step * unit.divisor;
            }
        }
        Some(axis)
    }

    /// Creates an axis of seconds from 0, which uses no other unit.
    pub(crate) fn seconds(what: &str, values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let axis = Self::linear(what, Unit::Nanos, values)?;
        Some(Self { labels: Labels::Of(SECONDS), ..axis })
    }

    /// The lowest and the highest value of the axis.
    pub(crate) fn range(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// Creates a logarithmic axis of times in nanoseconds, with at least a factor of 4 between its ends.
    pub(crate) fn times(what: &str, values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let range = Kind::Logarithmic.range(values)?;
        let (low, high) = scale::widened((range.0 / 1.1, range.1 * 1.1), 4.0);
        Some(Self { kind: Kind::Logarithmic, low, high, what: what.into(), labels: Labels::Times })
    }

    /// Creates an axis with given ticks, the most important first; those without room are left out. The title is used
    /// unchanged.
    pub(crate) fn given(what: &str, kind: Kind, (low, high): (f64, f64), ticks: Vec<(f64, String)>) -> Self {
        Self { kind, low, high, what: what.into(), labels: Labels::Given(ticks) }
    }

    /// Places the axis between two positions.
    pub(crate) fn scale(&self, from: f64, to: f64) -> Scale {
        Scale { kind: self.kind, low: self.low, high: self.high, from, to }
    }

    /// As many ticks as have room next to each other.
    pub(crate) fn ticks_across(&self, scale: &Scale) -> Vec<Tick> {
        let apart = |a: &Tick, b: &Tick| (left(b) - right(a)).max(left(a) - right(b)) >= APART.0;
        self.ticks(scale, 9, &apart)
    }

    /// As many ticks as have room above each other.
    pub(crate) fn ticks_up(&self, scale: &Scale) -> Vec<Tick> {
        // A logarithmic axis needs more ticks to be readable.
        let most = if self.kind == Kind::Logarithmic { 9 } else { 7 };
        self.ticks(scale, most, &|a, b| (a.place - b.place).abs() >= APART.1)
    }

    fn ticks(&self, scale: &Scale, most: usize, apart: &dyn Fn(&Tick, &Tick) -> bool) -> Vec<Tick> {
        let place = |ticks: Vec<(f64, String)>| -> Vec<Tick> {
            let inside = ticks.into_iter().filter(|(value, _)| scale.has(*value));
            inside.filter_map(|(value, label)| Some(Tick { place: scale.at(value)?, label })).collect()
        };
        let fits = |ticks: &Vec<Tick>| !ticks.is_empty() && ticks.windows(2).all(|pair| apart(&pair[0], &pair[1]));
        let densest = |of: &dyn Fn(usize) -> Vec<(f64, String)>| {
            (1..=most).rev().map(|most| place(of(most))).find(fits).unwrap_or_default()
        };
        match &self.labels {
            Labels::Of(unit) => densest(&|most| {
                let values = ticks::linear(self.low / unit.divisor, self.high / unit.divisor, most);
                let labels = ticks::even_labels(&values);
                values.into_iter().map(|value| value * unit.divisor).zip(labels).collect()
            }),
            Labels::Times => densest(&|most| {
                let values = ticks::logarithmic(self.low, self.high, most);
                values.into_iter().map(|value| (value, ticks::time(value))).collect()
            }),
            Labels::Given(ticks) => {
                let mut kept: Vec<Tick> = Vec::new();
                for tick in place(ticks.clone()) {
                    if kept.iter().all(|other| apart(other, &tick)) {
                        kept.push(tick);
                    }
                }
                kept
            }
        }
    }

    /// Title of the axis: the measured quantity and its unit.
    pub(crate) fn title(&self, ticks: &[Tick]) -> String {
        let what = &self.what;
        match &self.labels {
            Labels::Of(unit) => format!("{what} ({})", unit.name),
            Labels::Times => {
                let mut units = ticks.iter().filter_map(|tick| tick.label.split(' ').nth(1));
                match (units.next(), units.next_back()) {
                    (Some(first), Some(last)) if first != last => format!("{what} ({first} to {last}, log scale)"),
                    (Some(unit), _) => format!("{what} ({unit}, log scale)"),
                    _ => format!("{what} (time, log scale)"),
                }
            }
            Labels::Given(_) => what.clone(),
        }
    }
}

impl Tick {
    /// Position of the label's middle, such that the whole label is inside the picture.
    pub(crate) fn middle(&self) -> f64 {
        let half = (text::width(&self.label) / 2.0).min(WIDTH / 2.0);
        self.place.clamp(half, WIDTH - half)
    }
}

fn left(tick: &Tick) -> f64 {
    tick.middle() - text::width(&tick.label) / 2.0
}

fn right(tick: &Tick) -> f64 {
    tick.middle() + text::width(&tick.label) / 2.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn labels(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn an_axis_names_its_unit() {
        let axis = Axis::rounded("throughput", Unit::PerSecond, [11_200.0]).unwrap();
        let ticks = axis.ticks_up(&axis.scale(200.0, 0.0));
        assert_eq!(labels(&ticks), ["0", "2", "4", "6", "8", "10", "12"]);
        assert_eq!(axis.title(&ticks), "throughput (thousand per second)");
        let axis = Axis::times("response time", [20e3, 5e6]).unwrap();
        let ticks = axis.ticks_up(&axis.scale(200.0, 0.0));
        assert_eq!(labels(&ticks), ["20 µs", "50 µs", "100 µs", "200 µs", "500 µs", "1 ms", "2 ms", "5 ms"]);
        assert_eq!(axis.title(&ticks), "response time (µs to ms, log scale)");
    }

    #[test]
    fn what_cannot_be_placed_makes_no_axis() {
        assert_eq!(Axis::linear("t", Unit::Count, [0.0]).map(|axis| axis.range()), Some((0.0, 1.0)));
        assert_eq!(Axis::times("t", [0.0, -1.0, f64::NAN, f64::INFINITY]), None);
        assert_eq!(Axis::linear("t", Unit::Count, [f64::NAN]), None);
    }

    proptest! {
        #[test]
        fn labels_never_overlap(
            values in prop::collection::vec(-1e9..1e9_f64, 1..5), room in 60.0..430.0_f64, times: bool,
        ) {
            let axis = if times {
                Axis::times("t", values.iter().map(|v| v.abs() + 1e-3))
            } else {
                Axis::linear("v", Unit::Bytes, values)
            };
            let axis = axis.unwrap();
            let across = axis.ticks_across(&axis.scale(5.0, 5.0 + room));
            for pair in across.windows(2) {
                prop_assert!(right(&pair[0]) + APART.0 <= left(&pair[1]) + 1e-9, "{:?}", across);
            }
            prop_assert!(across.iter().all(|tick| left(tick) >= 0.0 && right(tick) <= WIDTH));
            let up = axis.ticks_up(&axis.scale(5.0 + room, 5.0));
            prop_assert!(!up.is_empty());
            prop_assert!(up.windows(2).all(|pair| pair[0].place - pair[1].place >= APART.1));
            prop_assert!(up.iter().all(|tick| (5.0..=5.0 + room).contains(&tick.place)));
        }
    }
}
