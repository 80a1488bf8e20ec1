//! Absolute chart of a scenario: a bar with its interval for each variant, by durability level and then by value.

use litelab_model::durability::Durability;
use litelab_model::metric::{Measure, Metric, Quantile, Timing, Unit};
use litelab_stats::Estimate;
use maud::{Markup, PreEscaped, html};

use super::figure::Source;
use crate::analysis::{Starvation, VariantAnalysis};
use crate::document::answer::level_words;
use crate::document::clean;
use crate::number;

/// Largest number of bars of a scenario; the table has all variants.
const MOST: usize = 30;
/// Width of the drawing, in its own units.
const WIDTH: f64 = 1000.0;
/// Ratio of the largest to the smallest value above which the axis is logarithmic.
const FAR: f64 = 200.0;
/// Factor of a value up to which its interval extends the axis.
const WIDE: f64 = 1.3;

/// Name of a metric as a title: `rows per second`.
pub(super) fn title(metric: &Metric) -> String {
    metric.to_string().replace('_', " ")
}

/// CSS class of a durability level.
pub(super) fn class(level: Option<Durability>) -> String {
    level.map_or_else(|| "unknown".into(), |level| level.to_string().to_ascii_lowercase())
}

/// The durability level as a coloured label.
pub(super) fn tag(level: Option<Durability>) -> Markup {
    html! { span class={ "tag " (class(level)) } { (level_words(level)) } }
}

/// The chart; `None` if nothing was measured.
pub(super) fn table(source: Source<'_>, id: &str) -> Option<Markup> {
    let scenario = source.scenario;
    let metric = scenario.metrics.first()?;
    let mut ranked: Vec<&VariantAnalysis> = source.measured().filter(|v| v.estimate(metric).is_some()).collect();
    ranked.sort_by(|a, b| a.rank(metric).total_cmp(&b.rank(metric)));
    let mut levels: Vec<Option<Durability>> = ranked.iter().map(|variant| variant.durability).collect();
    levels.sort_by(|a, b| b.cmp(a));
    levels.dedup();
    let most = MOST.div_ceil(levels.len().max(1));
    let groups: Vec<(Option<Durability>, Vec<&VariantAnalysis>)> = levels
        .into_iter()
        .map(|level| (level, ranked.iter().filter(|v| v.durability == level).take(most).copied().collect()))
        .collect();
    let on_axis = source.on_axis().filter_map(|variant| variant.estimate(metric));
    // An interval that reaches far beyond its value ends at the border.
    let end = |estimate: &Estimate| estimate.interval().map_or(estimate.value, |i| i.high()).min(estimate.value * WIDE);
    let axis = Axis::over(on_axis.flat_map(|estimate| [estimate.value, end(estimate)]).collect(), metric.unit())?;
    let longest = scenario.longest();
    let timing = if matches!(longest.measure, Measure::Latency(Timing::Response, _)) {
        Timing::Response
    } else {
        Timing::Service
    };
    // The highest quantile for which most trials have transactions enough.
    let known = |tail: &Tail| 2 * ranked.iter().filter(|v| time(v, &tail.1) != number::NONE).count() >= ranked.len();
    let quantiles = [("1 in 1,000 takes", Quantile::P999), ("1 in 100 takes", Quantile::P99)];
    let tails = quantiles.map(|(name, quantile)| (name, Metric::from(Measure::Latency(timing, quantile))));
    let tail = tails.into_iter().find(known).filter(|(_, tail)| tail != metric);
    // The longest is one observation, of which every trial has enough.
    let wait = |variant: &VariantAnalysis| {
        variant.estimate(&longest).map_or_else(|| number::NONE.into(), |wait| number::value(wait.value, Unit::Nanos))
    };
    let starves = ranked.iter().any(|variant| Starvation::of(variant) != Starvation::No);
    let shown: usize = groups.iter().map(|(_, variants)| variants.len()).sum();
    let columns = 4 + usize::from(tail.is_some()) + usize::from(starves);
    Some(html! {
        div.scroll role="region" tabindex="0" aria-labelledby=(id) {
            table.bars {
                caption id=(id) {
                    b { (title(metric)) } ": median of " (number::counted(scenario.done, "round")) " and its 95 % interval, by what a crash or a power loss can do"
                    @if shown < ranked.len() { "; the best " (shown) " of " (ranked.len()) " variants, all are in the table" }
                }
                thead {
                    tr {
                        th scope="col" { "variant" }
                        th.n scope="col" { (title(metric)) }
                        th.axis scope="col" {
                            span.unseen { "bar" }
                            span.ticks aria-hidden="true" { @for tick in axis.labels() { span { (tick) } } }
                        }
                        @if let Some((name, _)) = &tail { th.n scope="col" { (name) } }
                        th.n scope="col" { "longest wait" }
                        @if starves { th.n scope="col" { "starved?" } }
                    }
                }
                @for (level, variants) in &groups {
                    tbody class=(class(*level)) {
                        tr.level {
                            th scope="rowgroup" colspan=(columns) {
                                (tag(*level))
                                @if let Some(level) = level { " " span.dim { (level.meaning()) } }
                            }
                        }
                        @for variant in variants {
                            tr class=(source.class(variant)) {
                                th scope="row" { a href={ "#" (source.anchor(variant)) } { (clean(&variant.words)) } }
                                td.n { @if let Some(estimate) = variant.estimate(metric) { (number::brief(estimate, metric.unit())) } }
                                td { @if let Some(estimate) = variant.estimate(metric) { (axis.bar(estimate)) } }
                                @if let Some((name, tail)) = &tail { td.n data-head=(name) { (time(variant, tail)) } }
                                td.n data-head="longest wait" { (wait(variant)) }
                                @if starves { td.n data-head="starved?" { (Starvation::of(variant).words()) } }
                            }
                        }
                    }
                }
            }
        }
    })
}

/// Title of a column of latencies, and its metric.
type Tail = (&'static str, Metric);

fn time(variant: &VariantAnalysis, metric: &Metric) -> String {
    let known = variant.estimate(metric).filter(|_| variant.not_judged(metric).is_none());
    known.map_or_else(|| number::NONE.into(), |estimate| number::value(estimate.value, Unit::Nanos))
}

/// Axis from 0 in steps, or from one power of ten to another in decades.
struct Axis {
    logarithmic: bool,
    low: f64,
    step: f64,
    steps: u32,
    unit: Unit,
}

impl Axis {
    fn over(values: Vec<f64>, unit: Unit) -> Option<Self> {
        let values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        let high = values.iter().copied().reduce(f64::max)?;
        let low = values.iter().copied().reduce(f64::min)?;
        if low > 0.0 && high / low > FAR {
            let (from, to) = (low.log10().floor(), high.log10().ceil());
            let step = ((to - from) / 6.0).ceil().max(1.0);
            return Some(Self { logarithmic: true, low: from, step, steps: ((to - from) / step).ceil() as u32, unit });
        }
        let divisor = number::choose(high, unit).divisor;
        let rough = (high.max(f64::MIN_POSITIVE) / divisor / 5.0).max(1e-300);
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|n| n * power).into_iter().find(|step| *step >= rough)? * divisor;
        Some(Self { logarithmic: false, low: 0.0, step, steps: (high / step).ceil().max(1.0) as u32, unit })
    }

    fn labels(&self) -> Vec<String> {
        let at = |i: u32| self.low + f64::from(i) * self.step;
        let value = |i: u32| if self.logarithmic { 10_f64.powf(at(i)) } else { at(i) };
        (0..=self.steps).map(|i| short(&number::value(value(i), self.unit))).collect()
    }

    /// Position of a value on the drawing, within its borders.
    fn place(&self, value: f64) -> f64 {
        let at = if self.logarithmic { value.max(f64::MIN_POSITIVE).log10() } else { value };
        (WIDTH * (at - self.low) / (self.step * f64::from(self.steps))).clamp(0.0, WIDTH).round()
    }

    /// A bar with a line for the interval; on a logarithmic axis, which has no 0, a dot.
    fn bar(&self, estimate: &Estimate) -> Markup {
        let at = self.place(estimate.value);
        let interval = estimate.interval().map(|i| format!("M{} 9H{}", self.place(i.low()), self.place(i.high())));
        let mark =
            if self.logarithmic { format!("M{} 9h0", at.clamp(6.0, WIDTH - 6.0)) } else { format!("M0 2H{at}V16H0z") };
        html! {
            svg.bar viewBox={ "0 0 " (WIDTH) " 18" } preserveAspectRatio="none" aria-hidden="true" {
                path class=(if self.logarithmic { "dot" } else { "fill" }) d=(PreEscaped(mark)) {}
                @if let Some(interval) = interval { path.interval d=(PreEscaped(interval)) {} }
            }
        }
    }
}

/// A label without zeros at the end of its number: `20k/s` of `20.0k/s`.
fn short(label: &str) -> String {
    let end = label.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(label.len());
    let (number, unit) = label.split_at(end);
    let number = number::trimmed(number);
    if number.chars().all(|c| c == '0') { "0".into() } else { format!("{number}{unit}") }
}

#[cfg(test)]
mod tests {
    use litelab_stats::{Confidence, median};

    use super::*;

    #[test]
    fn an_axis_has_round_labels_and_every_value_lies_within() {
        let of = |values: &[f64], unit| Axis::over(values.to_vec(), unit).unwrap();
        assert_eq!(of(&[1_400.0, 76_600.0], Unit::PerSecond).labels(), ["0", "20k/s", "40k/s", "60k/s", "80k/s"]);
        assert_eq!(of(&[3e6], Unit::Bytes).labels(), ["0", "1 MiB", "2 MiB", "3 MiB"]);
        assert_eq!(of(&[20e3, 30e6], Unit::Nanos).labels(), ["10 µs", "100 µs", "1 ms", "10 ms", "100 ms"]);
        for values in [vec![0.0], vec![-1.0], vec![5e-324, 1e308], vec![f64::NAN, 1.0], vec![0.1; 3]] {
            let axis = Axis::over(values.clone(), Unit::Share).unwrap();
            assert!(values.iter().all(|value| (0.0..=WIDTH).contains(&axis.place(value.max(0.0)))), "{values:?}");
        }
        assert!(Axis::over(vec![f64::NAN], Unit::Count).is_none());
    }

    #[test]
    fn a_bar_ends_at_its_value() {
        let axis = Axis::over(vec![50.0, 100.0], Unit::Count).unwrap();
        let estimate = median(&[48.0, 49.0, 50.0, 50.0, 51.0, 52.0, 50.0], Confidence::P95).unwrap();
        let bar = axis.bar(&estimate).into_string();
        assert!(bar.contains("M0 2H500V16H0z") && bar.contains("M480 9H520"), "{bar}");
    }
}
