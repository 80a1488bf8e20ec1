//! Charts of throughput and P99 over workers, with the Universal Scalability Law.

use litelab_model::Scalar;
use litelab_model::metric::{Measure, Metric, Quantile, Timing, Unit};
use litelab_stats::{Estimate, Usl};

use super::{Figure, Source};
use crate::analysis::{Scalability, VariantAnalysis};
use crate::chart::{Axis, Entry, Kind, Mark, Panel, Reading, Sample, Xy, mark, say};
use crate::number;

/// Largest number of curves that remain distinguishable.
const MOST: usize = 6;
/// Number of segments of a fitted curve.
const STEPS: u32 = 64;
/// Factor of free width before the first and after the last number of workers.
const MARGIN: f64 = 1.05;
/// Distance between points of several series at the same number of workers, as a share of the axis.
const DODGE: f64 = 0.008;
/// Factor between a value and an interval's end above which the end does not extend the axis and is drawn as an arrow.
const FAR: f64 = 10.0;

/// Variants that differ only in the number of workers.
struct Series {
    /// Name of the series; may be empty if it is the only one.
    name: String,
    /// Numbers of workers with throughput and latency, ascending.
    points: Vec<(u32, Option<Reading>, Option<Reading>)>,
    law: Result<Usl, String>,
}

pub(super) fn figure(source: Source<'_>) -> Option<Figure> {
    let scenario = source.scenario;
    let first = scenario.scalability.first()?;
    let shown = &scenario.scalability[..scenario.scalability.len().min(MOST)];
    let is_p99 = |metric: &&Metric| matches!(metric.measure, Measure::Latency(_, Quantile::P99));
    let service = Metric::from(Measure::Latency(Timing::Service, Quantile::P99));
    let p99 = scenario.metrics.iter().find(is_p99).unwrap_or(&service);
    let of = |of: &Scalability| variants(source, of);
    let point = |metric: &Metric, (workers, variant): (u32, &VariantAnalysis)| {
        let latency = variant.estimate(p99).filter(|_| variant.too_few(p99).is_none());
        (workers, variant.estimate(metric).map(Reading::from), latency.map(Reading::from))
    };
    let series = shown.iter().map(|law| Series {
        name: law.label.clone(),
        points: of(law).into_iter().map(|variant| point(&law.metric, variant)).collect(),
        law: law.law.clone(),
    });
    let chart = Xy {
        title: format!("{}: {} and {p99} against {}", scenario.name, first.metric, first.dimension),
        ..chart(&first.dimension, &first.metric, &p99.to_string(), &series.collect::<Vec<_>>())
    };
    let more = match scenario.scalability.len() - shown.len() {
        0 => String::new(),
        more => format!(" {more} more curves are left out; their figures stand below the table."),
    };
    let note = format!("Medians over rounds with 95 % intervals; the law is fitted to all rounds.{more}");
    let variants = shown.iter().flat_map(of).map(|(_, variant)| variant.index).collect();
    Some(Figure { chart: Box::new(chart), note, variants, course: None })
}

/// Variants of one curve with their numbers of workers, the fewest first.
fn variants<'a>(source: Source<'a>, law: &Scalability) -> Vec<(u32, &'a VariantAnalysis)> {
    let of = |variant: &'a VariantAnalysis| {
        let Some(Scalar::Integer(level)) = variant.dimensions.get(&law.dimension) else { return None };
        let others = variant.dimensions.iter().filter(|(name, _)| **name != law.dimension);
        let label = others.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ");
        Some((u32::try_from(*level).ok()?, variant)).filter(|(level, _)| *level > 0 && label == law.label)
    };
    let mut variants: Vec<(u32, &VariantAnalysis)> = source.measured().filter_map(of).collect();
    variants.sort_by_key(|(level, _)| *level);
    variants
}

/// A chart of two panels over the same workers: throughput with the fitted law above, latency below.
fn chart(workers: &str, throughput: &Metric, latency: &str, series: &[Series]) -> Xy {
    let unit = throughput.unit();
    let mut levels: Vec<u32> = series.iter().flat_map(|series| &series.points).map(|(level, ..)| *level).collect();
    levels.sort_unstable();
    levels.dedup();
    let (Some(first), Some(last)) = (levels.first(), levels.last()) else { return Xy::default() };
    let range = (f64::from(*first) / MARGIN, f64::from(*last) * MARGIN);
    // The first and last labels have priority; those between are drawn if there is room.
    let between = levels.iter().skip(1).take(levels.len().saturating_sub(2));
    let ticks = [first, last].into_iter().chain(between).map(|n| (f64::from(*n), n.to_string())).collect();
    let x = Axis::given(&format!("{workers} (number, log scale)"), Kind::Logarithmic, range, ticks);
    let of_throughput = readings(series, range, |(workers, throughput, _)| Some((*workers, (*throughput)?)));
    let of_latency = readings(series, range, |(workers, _, latency)| Some((*workers, (*latency)?)));
    let upper = Axis::rounded(&throughput.to_string(), Some(unit), ends(&of_throughput));
    let lower = Axis::times(latency, ends(&of_latency));
    let top = upper.as_ref().map_or(0.0, |axis| axis.range().1);
    let laws = series.iter().enumerate().filter_map(|(i, series)| Some((i, series.law.as_ref().ok()?)));
    let fitted = |(i, law)| Mark::Line(format!("line fit {}", mark::colour(i)), curve(law, range, top));
    let mut above: Vec<Mark> = laws.clone().map(fitted).collect();
    above.extend(marks(&of_throughput, |i| series[i].law.is_err()));
    let named = series.iter().enumerate().map(|(i, series)| Entry::new(Sample::Marker(i), &series.name));
    let law = laws.take(1).map(|_| Entry::new(Sample::Rule("line fit"), "fitted Universal Scalability Law"));
    let below = if lower.is_some() { format!(", and {latency} below it") } else { String::new() };
    Xy {
        drawn: format!("{throughput} against {workers} on a logarithmic axis{below}."),
        words: series.iter().map(|series| series.sentence(unit)).collect(),
        legend: named.chain(law).collect(),
        x: Some(x),
        panels: vec![
            Panel { y: upper, height: 170.0, marks: above, ..Panel::default() },
            Panel { y: lower, height: 170.0, marks: marks(&of_latency, |_| true).collect(), ..Panel::default() },
        ],
        caption: series.iter().map(|series| series.named(&series.law_in_words(workers))).collect(),
        ..Xy::default()
    }
}

/// Readings of each series, offset from those of the others at the same number of workers.
fn readings(
    series: &[Series],
    (low, high): (f64, f64),
    of: impl Fn(&(u32, Option<Reading>, Option<Reading>)) -> Option<(u32, Reading)>,
) -> Vec<Vec<(f64, Reading)>> {
    let middle = (series.len() as f64 - 1.0) / 2.0;
    let beside = |i: usize| (high / low).powf((i as f64 - middle) * DODGE);
    let of_one = |(i, series): (usize, &Series)| {
        let readings = series.points.iter().filter_map(&of);
        readings.map(|(workers, reading)| (f64::from(workers) * beside(i), reading)).collect()
    };
    series.iter().enumerate().map(of_one).collect()
}

/// Values that the axis must contain.
fn ends(readings: &[Vec<(f64, Reading)>]) -> impl Iterator<Item = f64> {
    readings.iter().flatten().flat_map(|(_, reading)| {
        let (low, high) = reading.range.unwrap_or((reading.value, reading.value));
        [low.max(reading.value / FAR), reading.value, high.min(reading.value.abs() * FAR)]
    })
}

/// Whiskers and markers, joined by a line if there is no law.
fn marks(readings: &[Vec<(f64, Reading)>], joined: impl Fn(usize) -> bool) -> impl Iterator<Item = Mark> {
    readings.iter().enumerate().flat_map(move |(i, readings)| {
        let points: Vec<(f64, f64)> = readings.iter().map(|(x, reading)| (*x, reading.value)).collect();
        let line = joined(i).then(|| Mark::Line(mark::line(i), points.clone()));
        let whiskers = Mark::Whiskers(format!("whisker {}", mark::colour(i)), readings.clone());
        line.into_iter().chain([whiskers, Mark::Points(mark::marker(i), i, points)])
    })
}

/// Points of the fitted law from the fewest to the most measured workers, with a gap where it leaves the plot.
fn curve(law: &Usl, (low, high): (f64, f64), top: f64) -> Vec<(f64, f64)> {
    let (first, last) = ((low * MARGIN).ln(), (high / MARGIN).ln());
    let point = |step: u32| {
        let n = (first + (last - first) * f64::from(step) / f64::from(STEPS)).exp();
        let pairs = law.kappa.value * n * (n - 1.0);
        let throughput = law.lambda.value * n / (1.0 + law.sigma.value * (n - 1.0) + pairs);
        (n, if (0.0..=top).contains(&throughput) { throughput } else { f64::NAN })
    };
    (0..=STEPS).map(point).collect()
}

impl Series {
    fn named(&self, what: &str) -> String {
        if self.name.is_empty() { what.to_owned() } else { format!("{}: {what}", self.name) }
    }

    fn law_in_words(&self, workers: &str) -> String {
        let law = match &self.law {
            Ok(law) => law,
            Err(why) => return format!("no fit: {why}"),
        };
        let short = |value: f64| number::bound(value, None);
        let coefficient = |name: &str, of: &Estimate| match of.interval() {
            Some(known) => format!("{name} {} [{}, {}]", short(of.value), short(known.low()), short(known.high())),
            None => format!("{name} {}", short(of.value)),
        };
        let peak = match law.peak() {
            Some(peak) => format!("peak at {peak:.1} {workers}"),
            None => "no peak above one worker".into(),
        };
        let (sigma, kappa) = (coefficient("contention σ", &law.sigma), coefficient("coherence κ", &law.kappa));
        format!("{sigma}, {kappa}, {peak}")
    }

    fn sentence(&self, unit: Unit) -> String {
        let points = self.points.iter().filter_map(|(workers, throughput, latency)| {
            let throughput = throughput.map(|reading| say::reading(&reading, Some(unit)));
            let latency = latency.map(|reading| say::value(reading.value, Some(Unit::Nanos)));
            let both: Vec<String> = throughput.into_iter().chain(latency).collect();
            (!both.is_empty()).then(|| format!("{workers} → {}", both.join(", ")))
        });
        self.named(&format!("{} ({})", points.collect::<Vec<_>>().join(", "), self.law_in_words("workers")))
    }
}

#[cfg(test)]
mod tests {
    use litelab_stats::{Confidence, UslPoint};

    use super::*;
    use crate::chart::tests::look::{draw, marks, texts};

    #[test]
    fn the_law_of_scalability_is_drawn_and_said() {
        let throughput = |n: f64| 1000.0 * n / (1.0 + 0.1 * (n - 1.0) + 0.01 * n * (n - 1.0));
        let levels = [1_u32, 2, 4, 8, 16, 32];
        let points: Vec<UslPoint> =
            levels.iter().map(|n| UslPoint { concurrency: *n, throughput: throughput(f64::from(*n)) }).collect();
        let law = Usl::fit(&points, Confidence::P95, 1).map_err(|error| error.to_string());
        let point =
            |n: u32| (n, Some(Reading::from(throughput(f64::from(n)))), Some(Reading::within(1e6, 0.9e6, 1.2e6)));
        let of = |law| Series { name: String::new(), points: levels.map(point).to_vec(), law };
        let drawn = |law| draw(&chart("workers", &Measure::Throughput.into(), "p99", &[of(law)]));
        let svg = drawn(law);
        assert_eq!(marks(&svg, "fit").len(), 2, "the curve, and the legend");
        let caption = texts(&svg).join(" ");
        assert!(caption.contains("contention σ 0.1 ") && caption.contains("peak at 9.5 workers"), "{caption}");
        let svg = drawn(Err("too few levels".into()));
        assert!(marks(&svg, "fit").is_empty() && texts(&svg).concat().contains("no fit: too few levels"));
    }
}
