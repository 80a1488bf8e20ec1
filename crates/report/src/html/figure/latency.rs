//! Charts of latencies by percentile.

use litelab_model::metric::{Timing, Unit};
use litelab_protocol::histogram::Histogram;

use super::{Figure, Source, left_out};
use crate::chart::{Axis, Entry, Kind, Mark, Sample, Xy, mark};
use crate::html::evidence::{Latency, latencies};
use crate::number;

/// Largest number of curves that remain distinguishable.
const MOST: usize = 6;
/// Width after the last finite quantile for the maximum and its label, as a share of the width before it.
const TO_MAX: f64 = 0.2;
/// Distance between the markers of a curve, in points.
const BETWEEN_MARKERS: usize = 3;
/// Number of points of a curve for each further nine of its percentiles.
const PER_NINE: u32 = 6;
/// Number of latencies beyond each point but the last: a smaller tail does not predict the next trial. A little less
/// than ten, because a share of the total is seldom a whole number in floating point.
const BEYOND: f64 = 9.999;

/// Class and name of a variant, and points of quantile and nanoseconds in order; quantile 1 is the maximum.
type Curve = (String, String, Vec<(f64, f64)>);

pub(super) fn figures(source: Source<'_>) -> Vec<Figure> {
    let all = latencies(&source.scenario.metrics);
    all.iter().filter_map(|latency| figure(source, latency)).collect()
}

fn figure(source: Source<'_>, latency: &Latency) -> Option<Figure> {
    let (timing, transaction) = latency;
    let shown = source.chosen(MOST);
    let known = shown.iter().filter_map(|variant| Some((*variant, source.evidence.latency(variant.index, latency)?)));
    let known: Vec<_> = known.collect();
    let least = known.iter().map(|(_, all)| all.count()).min()?;
    let what = words(*timing);
    let of = transaction.as_ref().map_or_else(String::new, |name| format!(" of {name}"));
    let note = format!(
        "{}All rounds pooled, {} or more in each curve; the last point is the longest, and no other is drawn that fewer \
         than ten lie beyond.",
        left_out(
            shown.len(),
            source.measured().count(),
            "the best of each durability level, the baseline, and the next by the first metric"
        ),
        number::counted(least, noun(*timing)),
    );
    let title = format!("{}: {what}{of} by percentile", source.scenario.name);
    let curves: Vec<Curve> = known.iter().map(|(v, all)| (source.class(v), v.words.clone(), points(all))).collect();
    let chart = chart(title, &format!("{what}{of}"), &format!("{}s", noun(*timing)), &curves);
    Some(Figure { chart: Box::new(chart), note, course: None })
}

/// Points of a curve, evenly spaced on the axis log(1/(1 − q)), and the maximum.
fn points(all: &Histogram) -> Vec<(f64, f64)> {
    let total = all.count() as f64;
    let quantiles = (1..)
        .map(|step| 1.0 - 10_f64.powf(-f64::from(step) / f64::from(PER_NINE)))
        .take_while(|q| (1.0 - q) * total >= BEYOND && *q < 1.0);
    // Those of the description, which lie between them.
    let named = [0.5, 0.95].into_iter().filter(|q| (1.0 - q) * total >= BEYOND);
    let mut quantiles: Vec<f64> = std::iter::once(0.0).chain(quantiles).chain(named).chain([1.0]).collect();
    quantiles.sort_by(f64::total_cmp);
    quantiles.into_iter().filter_map(|q| Some((q, all.quantile(q)? as f64))).collect()
}

/// Latency over log₁₀(1/(1 − q)), an axis on which each further nine has the same width.
fn chart(title: String, what: &str, of: &str, curves: &[Curve]) -> Xy {
    // Avoids a minus zero: −log₁₀ 1 is −0.
    let nines = |(q, nanos): &(f64, f64)| (0.0 - (1.0 - q).log10(), *nanos);
    let placed: Vec<Vec<(f64, f64)>> = curves.iter().map(|(_, _, points)| points.iter().map(nines).collect()).collect();
    let all = || placed.iter().flatten();
    let last = all().map(|(nines, _)| *nines).filter(|nines| nines.is_finite()).fold(1.0, f64::max);
    // 1 − 0.999 is a little more than 0.001.
    let last = if (last - last.round()).abs() < 1e-6 { last.round() } else { last };
    let maximum = all().any(|(nines, _)| nines.is_infinite());
    let end = if maximum { last * (1.0 + TO_MAX) } else { last };
    let ticks = maximum.then(|| (end, "max".to_owned())).into_iter();
    let ticks = ticks.chain([(2.0_f64.log10(), "50 %".to_owned())]);
    let ticks = ticks.chain((1..=last as i32).map(|nines| (f64::from(nines), percentile(nines))));
    let ticks = ticks.chain([(0.0, "0 %".to_owned())]).collect();
    let axis = Axis::given(&format!("percentile of {of} (%, log scale)"), Kind::Linear, (0.0, end), ticks);
    let marks = placed.iter().zip(curves).enumerate().flat_map(|(i, (points, (class, ..)))| {
        let points: Vec<(f64, f64)> = points.iter().map(|(nines, nanos)| (nines.min(end), *nanos)).collect();
        // The markers of each curve are offset from those of the previous one, so that overlapping curves remain
        // visible.
        let marked = |at: usize| (at + i).is_multiple_of(BETWEEN_MARKERS) || at + 1 == points.len();
        let markers = points.iter().enumerate().filter(|(at, _)| marked(*at)).map(|(_, point)| *point).collect();
        let classes = |of: String| format!("{of} {class}");
        [Mark::Points(classes(mark::marker(i)), i, markers), Mark::Line(classes(mark::line(i)), points.clone())]
    });
    Xy {
        title,
        drawn: format!("{what} by percentile of {of}, both axes logarithmic."),
        words: curves.iter().map(sentence).collect(),
        legend: curves.iter().enumerate().map(|(i, (_, name, _))| Entry::new(Sample::Series(i), name)).collect(),
        x: Some(axis),
        y: Axis::times(what, all().map(|(_, nanos)| *nanos)),
        height: 220.0,
        marks: marks.collect(),
        ..Xy::default()
    }
}

/// Formats 3 nines as `99.9 %`.
fn percentile(nines: i32) -> String {
    match usize::try_from(nines).unwrap_or(0) {
        0 => "0 %".into(),
        1 => "90 %".into(),
        2 => "99 %".into(),
        nines => format!("99.{} %", "9".repeat(nines - 2)),
    }
}

/// Latencies of a curve at the usual percentiles, if it has a point there.
fn sentence((_, name, points): &Curve) -> String {
    let asked = [(0.5, "P50"), (0.95, "P95"), (0.99, "P99"), (0.999, "P99.9"), (1.0, "max")];
    let at = |q: f64| points.iter().find(|(have, _)| (have - q).abs() < 1e-9).map(|(_, nanos)| *nanos);
    let known = asked.iter().filter_map(|(q, name)| Some(format!("{name} {}", number::value(at(*q)?, Unit::Nanos))));
    format!("{name}: {}", known.collect::<Vec<_>>().join(", "))
}

fn words(timing: Timing) -> &'static str {
    match timing {
        Timing::Service => "service time",
        Timing::Response => "response time from the scheduled start",
        Timing::Lag => "lag behind the schedule",
        Timing::Wait => "wait for a connection or lock",
        Timing::Query => "time until the query's call returned",
        Timing::FirstRow => "time until the first row",
        Timing::Probe => "lateness of the host program's timer",
        Timing::PoolWait => "wait of a job in the runtime's blocking pool",
        Timing::Timer => "a timer of the driver or runtime",
    }
}

fn noun(timing: Timing) -> &'static str {
    match timing {
        Timing::Probe => "timer",
        Timing::PoolWait => "job",
        Timing::Timer => "value",
        _ => "transaction",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Chart;
    use crate::chart::tests::look::{draw, texts};

    #[test]
    fn a_curve_ends_with_the_last_quantile_that_ten_lie_beyond_and_the_longest() {
        let mut histogram = Histogram::new();
        assert_eq!(points(&histogram), []);
        (1..=100_000_u64).for_each(|i| histogram.record(i * 1000));
        let points = points(&histogram);
        assert!(points.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{points:?}");
        // Ten of 100,000 lie beyond the fourth nine.
        let [.., (last, _), (whole, longest)] = points[..] else { panic!("{points:?}") };
        assert!((last - 0.9999).abs() < 1e-9 && whole == 1.0 && longest >= 1e8, "{points:?}");
    }

    #[test]
    fn percentiles_stand_at_their_nines() {
        let points = vec![(0.5, 10e3), (0.9, 20e3), (0.99, 50e3), (0.999, 2e6), (1.0, 9e6)];
        let curves = ["a", "b"].map(|name| (String::new(), name.to_owned(), points.clone()));
        let of = |curves: &[Curve]| chart("t".into(), "service time", "transactions", curves);
        let texts = texts(&draw(&of(&curves)));
        for label in ["50 %", "90 %", "99 %", "99.9 %", "max", "100 µs", "1 ms", "service time (µs to ms, log scale)"]
        {
            assert!(texts.iter().any(|text| text == label), "{label}: {texts:?}");
        }
        let said = of(&curves).description();
        assert!(said.contains("a: P50 10.0 µs, P99 50.0 µs, P99.9 2.00 ms, max 9.00 ms"), "{said}");
        assert!(!draw(&of(&[(String::new(), "a".into(), vec![(0.5, 1.0)])])).contains(">max<"));
    }
}
