//! Response time against offered load.

use litelab_model::metric::Unit;
use maud::{Markup, html};

use super::draw::axis::Axis;
use super::draw::frame::{Frame, Space};
use super::draw::legend::{self, Entry, Sample};
use super::draw::mark;
use super::draw::scale::Kind;
use super::draw::svg::{self, Path};
use super::{Chart, say};

/// P50, P95 and P99 of response time at each rate that was tried, with the limit they are held against.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Load {
    /// What is shown: `response time against offered load`.
    pub title: String,
    /// The answer in a sentence; may be empty.
    pub summary: String,
    /// What the horizontal axis measures, per second: `offered load`.
    pub offered: String,
    /// What the vertical axis measures, in nanoseconds: `response time`.
    pub response: String,
    /// In any order.
    pub probes: Vec<Probe>,
    /// What had to be kept; none where there was no such condition.
    pub limit: Option<Limit>,
    /// The highest rate that was kept, per second.
    pub sustainable: Option<f64>,
}

/// One rate that was tried.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Probe {
    /// Offered, per second.
    pub offered: f64,
    /// Median response time in nanoseconds.
    pub p50: Option<f64>,
    /// Nanoseconds.
    pub p95: Option<f64>,
    /// Nanoseconds.
    pub p99: Option<f64>,
    /// Why the rate was not kept, in a few words; none where it was.
    pub saturated: Option<String>,
}

/// A bound on response time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limit {
    /// Nanoseconds.
    pub nanos: f64,
    /// What it is of: `limit of P99`.
    pub label: String,
}

const HEIGHT: f64 = 220.0;
/// Height of the row of saturated probes.
const LANE: f64 = 16.0;
/// The cross among the shapes.
const CROSS: usize = 5;

/// A quantile's name and how a probe tells it.
type Quantile = (&'static str, fn(&Probe) -> Option<f64>);

const QUANTILES: [Quantile; 3] = [("P50", |probe| probe.p50), ("P95", |probe| probe.p95), ("P99", |probe| probe.p99)];

impl Chart for Load {
    fn title(&self) -> &str {
        &self.title
    }

    fn description(&self) -> String {
        let mut drawn = format!("{} against {}, the former on a logarithmic axis.", self.response, self.offered);
        if let Some(limit) = &self.limit {
            drawn.push_str(&format!(" {} {}.", limit.label, say::value(limit.nanos, Some(Unit::Nanos))));
        }
        if let Some(rate) = self.sustainable {
            drawn.push_str(&format!(" Highest rate kept: {}.", say::value(rate, Some(Unit::PerSecond))));
        }
        say::description(&self.summary, &drawn, self.sorted().into_iter().map(Probe::sentence))
    }

    fn svg(&self, id: &str) -> Markup {
        let probes = self.sorted();
        let times = probes.iter().flat_map(|probe| QUANTILES.iter().filter_map(|(_, of)| of(probe)));
        let limit = self.limit.as_ref().filter(|limit| Kind::Logarithmic.places(limit.nanos));
        let y = Axis::times(&self.response, times.chain(limit.map(|limit| limit.nanos)));
        let sustainable = self.sustainable.filter(|rate| *rate >= 0.0);
        let rates = probes.iter().map(|probe| probe.offered).chain(sustainable);
        let x = Axis::linear(&self.offered, Some(Unit::PerSecond), true, rates);
        let (Some(x), Some(y)) = (x, y) else { return svg::empty(self, id) };
        let saturated: Vec<&&Probe> = probes.iter().filter(|probe| probe.saturated.is_some()).collect();
        let (legend, top) = legend::legend(&self.entries(limit, !saturated.is_empty()), 0.0);
        let lane = if saturated.is_empty() { 0.0 } else { LANE };
        let frame = Frame::new(&x, &y, Space { lanes: lane, ..Space::new(top, HEIGHT) });
        let crosses = saturated.iter().filter_map(|probe| Some((frame.x.at(probe.offered)?, frame.bottom + 9.0)));
        let cross = mark::shapes(CROSS, crosses);
        let mut bound = Path::default();
        if let Some(y) = limit.and_then(|limit| frame.y.at(limit.nanos)) {
            bound.start(frame.left, y).across(frame.right);
        }
        let mut kept = Path::default();
        if let Some(x) = sustainable.and_then(|rate| frame.x.at(rate)) {
            kept.start(x, frame.top).down(frame.bottom);
        }
        let inner = html! {
            (legend)
            (frame.markup())
            (bound.markup("limit"))
            (kept.markup("kept"))
            @for (i, (_, of)) in QUANTILES.iter().enumerate() {
                @let places = || probes.iter().filter_map(|probe| Some((frame.at(probe.offered, of(probe)?)?, *probe)));
                (Path::default().through(places().map(|(place, _)| Some(place))).markup(&mark::line(i)))
                @for saturated in [false, true] {
                    @let these = places().filter(|(_, probe)| probe.saturated.is_some() == saturated);
                    (hollow(i, saturated, these.map(|(place, _)| place)))
                }
            }
            (cross.markup("mark bad"))
        };
        svg::figure(self, id, frame.end, &inner)
    }
}

/// Markers, of which those of saturated probes are hollow.
fn hollow(series: usize, hollow: bool, places: impl Iterator<Item = (f64, f64)>) -> Markup {
    if !hollow {
        return mark::markers(series, places);
    }
    mark::shapes(series, places).markup(&format!("hollow {}", mark::colour(series)))
}

impl Load {
    /// By offered load.
    fn sorted(&self) -> Vec<&Probe> {
        let mut probes: Vec<&Probe> =
            self.probes.iter().filter(|p| p.offered >= 0.0 && Kind::Linear.places(p.offered)).collect();
        probes.sort_by(|a, b| a.offered.total_cmp(&b.offered));
        probes
    }

    fn entries(&self, limit: Option<&Limit>, saturated: bool) -> Vec<Entry> {
        let known =
            QUANTILES.iter().enumerate().filter(|(_, (_, of))| self.probes.iter().any(|probe| of(probe).is_some()));
        let mut entries: Vec<Entry> = known.map(|(i, (name, _))| Entry::new(Sample::Series(i), *name)).collect();
        if let Some(limit) = limit {
            let bound = say::value(limit.nanos, Some(Unit::Nanos));
            entries.push(Entry::new(Sample::Rule("limit"), format!("{}: {bound}", limit.label)));
        }
        if let Some(rate) = self.sustainable {
            let rate = say::value(rate, Some(Unit::PerSecond));
            entries.push(Entry::new(Sample::Rule("kept"), format!("highest rate kept: {rate}")));
        }
        if saturated {
            entries.push(Entry::new(Sample::Shape(CROSS, "mark bad".into()), "rate not kept (its markers are hollow)"));
        }
        entries
    }
}

impl Probe {
    fn sentence(&self) -> String {
        let times = QUANTILES
            .iter()
            .filter_map(|(name, of)| Some(format!(", {name} {}", say::value(of(self)?, Some(Unit::Nanos)))));
        let state = self.saturated.as_ref().map(|why| format!(", not kept: {why}")).unwrap_or_default();
        format!("{}{}{state}", say::value(self.offered, Some(Unit::PerSecond)), times.collect::<String>())
    }
}
