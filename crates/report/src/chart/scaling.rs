//! Throughput and latency against workers.

use litelab_model::metric::Unit;
use litelab_stats::Usl;
use maud::{Markup, html};

use super::draw::axis::Axis;
use super::draw::frame::{Frame, Space};
use super::draw::legend::{self, Entry, Sample};
use super::draw::scale::Kind;
use super::draw::svg::{self, Anchor, Path, WIDTH};
use super::draw::{mark, text};
use super::{Chart, Reading, say};
use crate::number;

/// Two panels over the same workers: throughput with the fitted law above, latency below.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scaling {
    /// What is shown: `throughput and P99 against workers`.
    pub title: String,
    /// The answer in a sentence; may be empty.
    pub summary: String,
    /// Title of the horizontal axis: `workers`.
    pub workers: String,
    /// What the upper panel measures: `throughput`.
    pub throughput: String,
    /// Unit of the upper panel; none is read as per second.
    pub unit: Option<Unit>,
    /// What the lower panel measures, in nanoseconds: `P99 of service time`. Without latencies there is no lower panel.
    pub latency: String,
    /// One for each combination of the other dimensions.
    pub series: Vec<ScalingSeries>,
}

/// Arms that differ in the number of workers only.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScalingSeries {
    /// Its name in the legend; may be empty where it is the only one.
    pub name: String,
    /// In any order.
    pub points: Vec<ScalingPoint>,
    /// The law as fitted, or why there is none in a few words; nothing where none was sought.
    pub law: Option<Result<Law, String>>,
}

/// One arm.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ScalingPoint {
    /// 0 is left out.
    pub workers: u32,
    /// In the unit of the chart.
    pub throughput: Option<Reading>,
    /// In nanoseconds.
    pub latency: Option<Reading>,
}

/// The Universal Scalability Law, X(N) = λN / (1 + σ(N − 1) + κN(N − 1)).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Law {
    /// Throughput of one worker alone.
    pub lambda: f64,
    /// Contention.
    pub sigma: Reading,
    /// Coherence.
    pub kappa: Reading,
    /// Workers at which it is highest; none where it has no peak above one worker.
    pub peak: Option<f64>,
}

impl From<&Usl> for Law {
    fn from(usl: &Usl) -> Self {
        Self { lambda: usl.lambda.value, sigma: (&usl.sigma).into(), kappa: (&usl.kappa).into(), peak: usl.peak() }
    }
}

const HEIGHT: f64 = 170.0;
/// Points of a fitted curve.
const STEPS: u32 = 64;
/// Before the first and behind the last number of workers, as a factor.
const MARGIN: f64 = 1.05;
/// Between the points of several series at the same number of workers.
const DODGE: f64 = 3.0;

impl Chart for Scaling {
    fn title(&self) -> &str {
        &self.title
    }

    fn description(&self) -> String {
        let below = if self.has_latency() { format!(", and {} below it", self.latency) } else { String::new() };
        let drawn = format!("{} against {} on a logarithmic axis{below}.", self.throughput, self.workers);
        say::description(&self.summary, &drawn, self.series.iter().map(|series| series.sentence(self.unit())))
    }

    fn svg(&self, id: &str) -> Markup {
        let points = || self.series.iter().flat_map(ScalingSeries::placed);
        let throughputs = points().filter_map(|point| point.throughput).flat_map(|r| shown(&r, Kind::Linear));
        let upper = Axis::rounded(&self.throughput, Some(self.unit()), throughputs);
        let latencies = points().filter_map(|point| point.latency).flat_map(|r| shown(&r, Kind::Logarithmic));
        let lower = Axis::times(&self.latency, latencies);
        let mut levels: Vec<u32> = points().map(|point| point.workers).collect();
        levels.sort_unstable();
        levels.dedup();
        let (Some(first), Some(last)) = (levels.first(), levels.last()) else { return svg::empty(self, id) };
        if upper.is_none() && lower.is_none() {
            return svg::empty(self, id);
        }
        let range = (f64::from(*first) / MARGIN, f64::from(*last) * MARGIN);
        // First and last have the right of way; those between stand where there is room.
        let between = levels.iter().skip(1).take(levels.len().saturating_sub(2));
        let order = [first, last].into_iter().chain(between).map(|n| (f64::from(*n), n.to_string())).collect();
        let x = Axis::given(&format!("{} (number, log scale)", self.workers), Kind::Logarithmic, range, order);

        let (legend, mut top) = legend::legend(&self.entries(), 0.0);
        let axes = [upper.map(|axis| (axis, true)), lower.map(|axis| (axis, false))];
        let axes: Vec<(Axis, bool)> = axes.into_iter().flatten().collect();
        let left = axes.iter().map(|(axis, _)| Frame::left(axis, HEIGHT)).fold(0.0, f64::max);
        let mut panels = Vec::new();
        for (axis, of_throughput) in &axes {
            let frame = Frame::new(&x, axis, Space { left, ..Space::new(top, HEIGHT) });
            panels.push(self.panel(&frame, *of_throughput));
            top = frame.end + 8.0;
        }
        let caption: Vec<String> = self.series.iter().filter_map(|series| series.law_in_words(&self.workers)).collect();
        let caption: Vec<String> = caption.iter().flat_map(|line| text::wrap(line, WIDTH)).collect();
        let inner = html! {
            (legend)
            @for panel in panels { (panel) }
            (svg::lines(0.0, top + 12.0, Anchor::Start, "", &caption))
        };
        svg::figure(self, id, top + caption.len() as f64 * text::LINE + 6.0, &inner)
    }
}

/// What of a reading is to be on the axis.
fn shown(reading: &Reading, kind: Kind) -> Vec<f64> {
    if !kind.places(reading.value) {
        return Vec::new();
    }
    let (low, high) = reading.range.unwrap_or((reading.value, reading.value));
    // An interval's end far below the value on a logarithmic axis would flatten all the rest; it gets an arrow.
    [low.max(reading.value / 10.0), reading.value, high.min(reading.value.abs() * 10.0)].to_vec()
}

impl Scaling {
    fn unit(&self) -> Unit {
        self.unit.unwrap_or(Unit::PerSecond)
    }

    fn has_latency(&self) -> bool {
        self.series.iter().flat_map(|series| &series.points).any(|point| point.latency.is_some())
    }

    fn entries(&self) -> Vec<Entry> {
        let named = self.series.iter().enumerate().filter(|(_, series)| !series.name.trim().is_empty());
        let mut entries: Vec<Entry> =
            named.map(|(i, series)| Entry::new(Sample::Marker(i), series.name.clone())).collect();
        if self.series.iter().any(|series| matches!(series.law, Some(Ok(_)))) {
            entries.push(Entry::new(Sample::Rule("line fit"), "fitted Universal Scalability Law"));
        }
        entries
    }

    fn panel(&self, frame: &Frame, of_throughput: bool) -> Markup {
        let of = |point: &ScalingPoint| if of_throughput { point.throughput } else { point.latency };
        let middle = (self.series.len() as f64 - 1.0) / 2.0;
        html! {
            (frame.markup())
            @for (i, series) in self.series.iter().enumerate() {
                @let dodge = ((i as f64 - middle) * DODGE).clamp(-12.0, 12.0);
                @let readings = series.placed().into_iter().filter_map(|point| Some((point.workers, of(&point)?)));
                @let places = readings.filter_map(|(n, r)| Some((frame.at(f64::from(n), r.value)?, r)));
                @let places: Vec<((f64, f64), Reading)> =
                    places.map(|((x, y), r)| (((x + dodge).clamp(frame.left, frame.right), y), r)).collect();
                @match series.law.as_ref().filter(|_| of_throughput) {
                    Some(Ok(law)) => (law.curve(frame).markup(&format!("line fit {}", mark::colour(i)))),
                    _ => (Path::default().through(places.iter().map(|(p, _)| Some(*p))).markup(&mark::line(i))),
                }
                @let whiskers = mark::whiskers(places.iter().map(|((x, _), reading)| (*x, reading)), &frame.y);
                (whiskers.markup(&format!("whisker {}", mark::colour(i))))
                (mark::markers(i, places.iter().map(|(place, _)| *place)))
            }
        }
    }
}

impl ScalingSeries {
    /// By workers, of which there is at least one.
    fn placed(&self) -> Vec<ScalingPoint> {
        let mut points: Vec<ScalingPoint> = self.points.iter().copied().filter(|point| point.workers > 0).collect();
        points.sort_by_key(|point| point.workers);
        points
    }

    fn law_in_words(&self, workers: &str) -> Option<String> {
        let name = if self.name.is_empty() { String::new() } else { format!("{}: ", self.name) };
        Some(match self.law.as_ref()? {
            Ok(law) => format!("{name}{}", law.in_words(workers)),
            Err(why) => format!("{name}no fit: {why}"),
        })
    }

    fn sentence(&self, unit: Unit) -> String {
        let name = if self.name.is_empty() { String::new() } else { format!("{}: ", self.name) };
        let points = self.placed().into_iter().filter_map(|point| {
            let throughput = point.throughput.map(|reading| say::reading(&reading, Some(unit)));
            let latency = point.latency.map(|reading| say::value(reading.value, Some(Unit::Nanos)));
            let both: Vec<String> = throughput.into_iter().chain(latency).collect();
            (!both.is_empty()).then(|| format!("{} → {}", point.workers, both.join(", ")))
        });
        let law = self.law_in_words("workers").map(|_| self.law.as_ref());
        let law = match law.flatten() {
            Some(Ok(law)) => format!(" ({})", law.in_words("workers")),
            Some(Err(why)) => format!(" (no fit: {why})"),
            None => String::new(),
        };
        format!("{name}{}{law}", points.collect::<Vec<_>>().join(", "))
    }
}

impl Law {
    /// Fitted throughput of so many workers, where the law has a meaning.
    fn at(&self, workers: f64) -> Option<f64> {
        let pairs = self.kappa.value * workers * (workers - 1.0);
        let throughput = self.lambda * workers / (1.0 + self.sigma.value * (workers - 1.0) + pairs);
        (throughput > 0.0 && throughput.is_finite()).then_some(throughput)
    }

    /// From the fewest to the most workers measured, with a gap where it leaves the plot.
    fn curve(&self, frame: &Frame) -> Path {
        let (first, last) = ((frame.x.low * MARGIN).ln(), (frame.x.high / MARGIN).ln());
        let places = (0..=STEPS).map(|step| {
            let workers = (first + (last - first) * f64::from(step) / f64::from(STEPS)).exp();
            frame.at(workers, self.at(workers).filter(|throughput| frame.y.has(*throughput))?)
        });
        let mut path = Path::default();
        path.through(places);
        path
    }

    fn in_words(&self, workers: &str) -> String {
        let short = |value: f64| number::bound(value, None);
        let coefficient = |name: &str, of: &Reading| match of.range {
            Some((low, high)) => format!("{name} {} [{}, {}]", short(of.value), short(low), short(high)),
            None => format!("{name} {}", short(of.value)),
        };
        let peak = match self.peak.filter(|peak| peak.is_finite()) {
            Some(peak) => format!("peak at {peak:.1} {workers}"),
            None => "no peak above one worker".into(),
        };
        let (sigma, kappa) = (coefficient("contention σ", &self.sigma), coefficient("coherence κ", &self.kappa));
        format!("{sigma}, {kappa}, {peak}")
    }
}
