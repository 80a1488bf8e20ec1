//! Latency by percentile, on an axis that gives each further nine the same room.

use litelab_model::metric::Unit;
use maud::{Markup, html};

use super::draw::axis::Axis;
use super::draw::frame::{Frame, Space};
use super::draw::legend::{self, Entry, Sample};
use super::draw::mark;
use super::draw::scale::Kind;
use super::draw::svg::{self, Path};
use super::{Chart, say};

/// Curves of latency against log(1/(1 − q)).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Percentiles {
    /// What is shown: `service time of transfer`.
    pub title: String,
    /// The answer in a sentence; may be empty.
    pub summary: String,
    /// What the vertical axis measures: `service time`. The unit is on its ticks.
    pub axis: String,
    /// What the percentiles are of: `transactions`.
    pub of: String,
    /// One for each arm; more than eight are hard to tell apart.
    pub curves: Vec<PercentileCurve>,
}

/// One arm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PercentileCurve {
    /// Its name in the legend.
    pub name: String,
    /// Quantile (0 to 1; 1 is the maximum) and nanoseconds, in any order.
    pub points: Vec<(f64, f64)>,
}

const HEIGHT: f64 = 220.0;
/// Markers of one curve are at least this far apart.
const BETWEEN_MARKERS: f64 = 26.0;
/// Room behind the last finite quantile for the maximum and its label, as a share of the room before it.
const TO_MAX: f64 = 0.2;
/// No axis goes beyond this many nines.
const NINES: f64 = 15.0;

impl Chart for Percentiles {
    fn title(&self) -> &str {
        &self.title
    }

    fn description(&self) -> String {
        let drawn = format!("{} by percentile of {}, both axes logarithmic.", self.axis, self.of);
        say::description(&self.summary, &drawn, self.curves.iter().map(PercentileCurve::sentence))
    }

    fn svg(&self, id: &str) -> Markup {
        let curves: Vec<Vec<(f64, f64)>> = self.curves.iter().map(PercentileCurve::nines).collect();
        let placed = || curves.iter().flatten();
        let Some(y) = Axis::times(&self.axis, placed().map(|(_, nanos)| *nanos)) else { return svg::empty(self, id) };
        let finite = placed().map(|(nines, _)| *nines).filter(|nines| nines.is_finite());
        let last = finite.fold(1.0, f64::max);
        // 1 − 0.999 is a little more than 0.001.
        let last = if (last - last.round()).abs() < 1e-6 { last.round() } else { last };
        let maximum = placed().any(|(nines, _)| nines.is_infinite());
        let end = if maximum { last * (1.0 + TO_MAX) } else { last };
        let x = Axis::given(&format!("percentile of {} (%, log scale)", self.of), Kind::Linear, (0.0, end), {
            let nines = (1..=last as i32).map(|n| (f64::from(n), percentile(n)));
            let median = (2.0_f64.log10(), "50 %".to_owned());
            let first = maximum.then(|| (end, "max".to_owned()));
            first.into_iter().chain([median]).chain(nines).chain([(0.0, "0 %".to_owned())]).collect()
        });
        let entries = self.curves.iter().enumerate().map(|(i, curve)| Entry::new(Sample::Series(i), &curve.name));
        let entries: Vec<Entry> = entries.filter(|entry| !entry.text.trim().is_empty()).collect();
        let (legend, top) = legend::legend(&entries, 0.0);
        let frame = Frame::new(&x, &y, Space::new(top, HEIGHT));
        let inner = html! {
            (legend)
            (frame.markup())
            @for (i, curve) in curves.iter().enumerate() {
                @let places = curve.iter().filter_map(|(nines, nanos)| frame.at(nines.min(end), *nanos));
                @let places = thin(places.collect());
                (Path::default().through(places.iter().copied().map(Some)).markup(&mark::line(i)))
                (mark::markers(i, marked(&places, i)))
            }
        };
        svg::figure(self, id, frame.end, &inner)
    }
}

/// `99.9 %` of 3.
fn percentile(nines: i32) -> String {
    let nines = usize::try_from(nines).unwrap_or(0);
    match nines {
        0 => "0 %".into(),
        1 => "90 %".into(),
        2 => "99 %".into(),
        _ => format!("99.{} %", "9".repeat(nines - 2)),
    }
}

/// Without those that hardly differ from the one before; the last is kept.
fn thin(places: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for (i, place) in places.iter().enumerate() {
        let far = |other: &(f64, f64)| (place.0 - other.0).abs() + (place.1 - other.1).abs() >= 1.5;
        if kept.last().is_none_or(far) || i + 1 == places.len() {
            kept.push(*place);
        }
    }
    kept
}

/// Where markers stand: each curve begins a little later than the one before, so that curves that lie upon each other
/// are seen.
fn marked(places: &[(f64, f64)], curve: usize) -> Vec<(f64, f64)> {
    let mut marked: Vec<(f64, f64)> = Vec::new();
    let skip = if places.len() > 8 { curve % 4 } else { 0 };
    for place in places.iter().skip(skip) {
        if marked.last().is_none_or(|last| (place.0 - last.0).abs() >= BETWEEN_MARKERS) {
            marked.push(*place);
        }
    }
    marked
}

impl PercentileCurve {
    /// log₁₀(1/(1 − q)) and nanoseconds of the points that can be drawn, in order; infinite for the maximum.
    fn nines(&self) -> Vec<(f64, f64)> {
        let drawn = self.points.iter().filter(|(q, nanos)| (0.0..=1.0).contains(q) && Kind::Logarithmic.places(*nanos));
        let nines = drawn.map(|(q, nanos)| {
            let nines = -(1.0 - q).log10();
            // −log₁₀ 1 is −0.
            (if nines > NINES { f64::INFINITY } else { nines + 0.0 }, *nanos)
        });
        let mut nines: Vec<(f64, f64)> = nines.collect();
        nines.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
        nines
    }

    /// Its latency at the percentiles that people ask for, where it has a point there.
    fn sentence(&self) -> String {
        let asked = [(0.5, "P50"), (0.95, "P95"), (0.99, "P99"), (0.999, "P99.9"), (1.0, "max")];
        let at = |q: f64| self.points.iter().find(|(have, _)| (have - q).abs() < 1e-9).map(|(_, nanos)| *nanos);
        let known =
            asked.iter().filter_map(|(q, name)| Some(format!("{name} {}", say::value(at(*q)?, Some(Unit::Nanos)))));
        let known: Vec<String> = known.collect();
        let known = if known.is_empty() { ticks_of(self.points.len()) } else { known.join(", ") };
        format!("{}: {known}", self.name)
    }
}

fn ticks_of(points: usize) -> String {
    crate::number::counted(points as u64, "point")
}
