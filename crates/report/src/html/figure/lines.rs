//! Charts of the first metric and of the longest wait over a numeric dimension, with the Universal Scalability Law
//! where the scenario requests it.

use litelab_model::metric::{Metric, Unit};
use litelab_stats::{Estimate, Usl};

use super::{Figure, Source};
use crate::analysis::{VariantAnalysis, words};
use crate::chart::{Axis, Entry, Kind, Mark, Sample, Xy, mark};
use crate::document::answer::level_words;
use crate::html::bars::title;
use crate::number;

/// Largest number of curves that remain distinguishable.
const MOST: usize = 6;
/// Least number of values of the dimension; bars show fewer better.
const LEAST: usize = 3;
/// Number of segments of a fitted curve.
const STEPS: u32 = 64;
/// Factor of free width before the first and after the last value of the dimension.
const MARGIN: f64 = 1.05;
/// Distance between points of several curves at the same value of the dimension, as a share of the axis.
const DODGE: f64 = 0.008;
/// Factor between a value and an interval's end above which the end does not extend the axis and is drawn as an arrow.
const FAR: f64 = 10.0;

/// Variants that differ only in the numeric dimension.
struct Group<'a> {
    name: String,
    variants: Vec<(f64, &'a VariantAnalysis)>,
    law: Option<&'a Result<Usl, String>>,
}

/// A curve: its name, its points with the classes of their variants, and the fitted law.
struct Curve {
    name: String,
    points: Vec<(f64, String, Estimate)>,
    law: Option<Result<Usl, String>>,
}

/// The charts; none if no dimension is numeric, or if there are too many curves to distinguish.
pub(in crate::html) fn figures(source: Source<'_>) -> Vec<Figure> {
    let Some((dimension, groups)) = groups(source) else { return Vec::new() };
    let Some(first) = source.scenario.metrics.first() else { return Vec::new() };
    let tail = source.scenario.longest();
    let mut metrics = vec![first];
    metrics.extend((*first != tail).then_some(&tail));
    metrics.into_iter().filter_map(|metric| figure(source, &dimension, metric, &groups)).collect()
}

/// The numeric dimension (that of a fitted law or of workers, else the one with the most values), and its groups.
fn groups(source: Source<'_>) -> Option<(String, Vec<Group<'_>>)> {
    let of_law = source.scenario.scalability.first().map(|law| law.dimension.as_str());
    let levels = |dimension: &String| {
        let values: Option<Vec<f64>> = source.measured().map(|variant| level(variant, dimension)).collect();
        let mut values = values?;
        values.sort_by(f64::total_cmp);
        values.dedup();
        Some(values.len()).filter(|count| *count >= LEAST)
    };
    let rank = |dimension: &String| (Some(dimension.as_str()) == of_law, dimension == "workers", levels(dimension));
    let numeric = source.scenario.dimensions.iter().filter(|dimension| levels(dimension).is_some());
    let dimension = numeric.max_by_key(|dimension| rank(dimension))?;
    let mut groups: Vec<(String, Group)> = Vec::new();
    for variant in source.measured() {
        let others = || variant.dimensions.iter().filter(|(name, _)| *name != dimension);
        let label = others().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ");
        let point = (level(variant, dimension)?, variant);
        match groups.iter_mut().find(|(known, _)| *known == label) {
            Some((_, group)) => group.variants.push(point),
            None => {
                let varying = others()
                    .filter(|(name, value)| source.measured().any(|other| other.dimensions.get(*name) != Some(value)));
                let name = varying.map(|(name, value)| words::value(name, value)).collect::<Vec<_>>().join(", ");
                let laws = source.scenario.scalability.iter();
                let law = laws.filter(|law| law.dimension == *dimension).find(|law| law.label == label);
                groups.push((label, Group { name, variants: vec![point], law: law.map(|law| &law.law) }));
            }
        }
    }
    if groups.len() > MOST || !groups.iter().any(|(_, group)| group.variants.len() >= LEAST) {
        return None;
    }
    let mut groups: Vec<Group> = groups.into_iter().map(|(_, group)| group).collect();
    let kept = |group: &Group| {
        let (_, first) = group.variants.first()?;
        group.variants.iter().all(|(_, v)| v.durability == first.durability).then_some(first.durability)
    };
    // The safest first. The durability stands beside each curve where it differs.
    groups.sort_by_key(|group| std::cmp::Reverse(kept(group)));
    let levels: Vec<_> = groups.iter().map(kept).collect();
    for (group, level) in groups.iter_mut().zip(&levels) {
        group.variants.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        if let Some(level) = level.filter(|_| levels.iter().any(|other| other != &levels[0])) {
            group.name = format!("{} ({})", group.name, level_words(level));
        }
    }
    Some((dimension.clone(), groups))
}

/// A positive number of a dimension.
fn level(variant: &VariantAnalysis, dimension: &str) -> Option<f64> {
    variant.dimensions.get(dimension)?.to_string().parse().ok().filter(|level: &f64| *level > 0.0 && level.is_finite())
}

fn figure(source: Source<'_>, dimension: &str, metric: &Metric, groups: &[Group]) -> Option<Figure> {
    let law_of = source.scenario.scalability.first().map(|law| &law.metric);
    let point =
        |(level, variant): &(f64, &VariantAnalysis)| Some((*level, source.class(variant), *variant.estimate(metric)?));
    let curve = |group: &Group| Curve {
        name: group.name.clone(),
        points: group.variants.iter().filter_map(point).collect(),
        law: group.law.filter(|_| law_of == Some(metric)).cloned(),
    };
    let curves: Vec<Curve> = groups.iter().map(curve).filter(|curve| !curve.points.is_empty()).collect();
    let on_axis: Vec<Estimate> = source.on_axis().filter_map(|v| v.estimate(metric)).copied().collect();
    let is_longest = *metric == source.scenario.longest();
    let what = if is_longest { "longest wait of a trial".to_owned() } else { title(metric) };
    let dimension = words::dimension(dimension);
    let chart = Xy {
        title: format!("{}: {what} by {dimension}", source.scenario.name),
        ..chart(&dimension, &what, metric.unit(), &curves, &on_axis)
    };
    if curves.is_empty() {
        return None;
    }
    let law = if curves.iter().any(|curve| curve.law.is_some()) { " The law is fitted to all rounds." } else { "" };
    let note = format!("Medians over rounds with 95 % intervals.{law}");
    Some(Figure { chart: Box::new(chart), note, course: None })
}

fn chart(dimension: &str, what: &str, unit: Unit, curves: &[Curve], on_axis: &[Estimate]) -> Xy {
    let mut levels: Vec<f64> = curves.iter().flat_map(|curve| &curve.points).map(|(level, ..)| *level).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let (Some(first), Some(last)) = (levels.first(), levels.last()) else { return Xy::default() };
    let range = (first / MARGIN, last * MARGIN);
    // The first and last labels have priority; those between are drawn if there is room.
    let between = levels.iter().skip(1).take(levels.len().saturating_sub(2));
    let ticks = [first, last].into_iter().chain(between).map(|n| (*n, n.to_string())).collect();
    let x = Axis::given(&format!("{dimension} (number, log scale)"), Kind::Logarithmic, range, ticks);
    let y = match unit {
        Unit::Nanos => Axis::times(what, ends(on_axis)),
        _ => Axis::rounded(what, unit, ends(on_axis)),
    };
    let top = y.as_ref().map_or(0.0, |axis| axis.range().1);
    let laws = curves.iter().enumerate().filter_map(|(i, of)| Some((i, of.law.as_ref()?.as_ref().ok()?)));
    let fitted = |(i, law)| Mark::Line(format!("line fit {}", mark::colour(i)), fit(law, range, top));
    let mut marks: Vec<Mark> = laws.clone().map(fitted).collect();
    marks.extend(curves.iter().enumerate().flat_map(|(i, curve)| curve.marks(i, dodge(i, curves.len(), range))));
    let named = curves.iter().enumerate().map(|(i, curve)| Entry::new(Sample::Series(i), &curve.name));
    let law = laws.take(1).map(|_| Entry::new(Sample::Rule("line fit"), "fitted Universal Scalability Law"));
    Xy {
        drawn: format!("{what} against {dimension} on a logarithmic axis."),
        words: curves.iter().map(|curve| curve.sentence(unit)).collect(),
        legend: named.chain(law).collect(),
        x: Some(x),
        y,
        height: 200.0,
        marks,
        caption: curves.iter().filter_map(|of| Some(of.named(&law_in_words(of.law.as_ref()?, dimension)))).collect(),
        ..Xy::default()
    }
}

/// Factor that sets a curve's points apart from those of the others at the same value of the dimension.
fn dodge(i: usize, of: usize, (low, high): (f64, f64)) -> f64 {
    (high / low).powf((i as f64 - (of as f64 - 1.0) / 2.0) * DODGE)
}

/// Values that the axis must contain.
fn ends(estimates: &[Estimate]) -> impl Iterator<Item = f64> {
    estimates.iter().flat_map(|estimate| {
        let value = estimate.value;
        let (low, high) = (estimate.low().unwrap_or(value), estimate.high().unwrap_or(value));
        [low.max(value / FAR), value, high.min(value.abs() * FAR)]
    })
}

/// Points of the fitted law from the lowest to the highest measured value, with a gap where it leaves the plot.
fn fit(law: &Usl, (low, high): (f64, f64), top: f64) -> Vec<(f64, f64)> {
    let (first, last) = ((low * MARGIN).ln(), (high / MARGIN).ln());
    let point = |step: u32| {
        let n = (first + (last - first) * f64::from(step) / f64::from(STEPS)).exp();
        let throughput = law.throughput(n).filter(|throughput| *throughput <= top);
        (n, throughput.unwrap_or(f64::NAN))
    };
    (0..=STEPS).map(point).collect()
}

fn law_in_words(law: &Result<Usl, String>, workers: &str) -> String {
    let law = match law {
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

impl Curve {
    fn named(&self, what: &str) -> String {
        if self.name.is_empty() { what.to_owned() } else { format!("{}: {what}", self.name) }
    }

    /// A whisker and a marker for each variant, joined by a line if there is no fitted law.
    fn marks(&self, i: usize, beside: f64) -> Vec<Mark> {
        let fitted = matches!(self.law, Some(Ok(_)));
        let joined = self.points.iter().map(|(level, _, estimate)| (level * beside, estimate.value)).collect();
        let mut marks = if fitted { Vec::new() } else { vec![Mark::Line(mark::line(i), joined)] };
        for (level, class, estimate) in &self.points {
            let (x, y) = (level * beside, estimate.value);
            marks.push(Mark::Whiskers(format!("whisker {} {class}", mark::colour(i)), vec![(x, *estimate)]));
            marks.push(Mark::Points(format!("{} {class}", mark::marker(i)), i, vec![(x, y)]));
        }
        marks
    }

    fn sentence(&self, unit: Unit) -> String {
        let point =
            |(level, _, estimate): &(f64, String, Estimate)| format!("{level} → {}", number::estimate(estimate, unit));
        self.named(&self.points.iter().map(point).collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use litelab_stats::{Bounds, Confidence, UslPoint};

    use super::*;
    use crate::chart::tests::look::{draw, marks, texts};

    #[test]
    fn the_law_of_scalability_is_drawn_and_said() {
        let throughput = |n: f64| 1000.0 * n / (1.0 + 0.1 * (n - 1.0) + 0.01 * n * (n - 1.0));
        let levels = [1_u32, 2, 4, 8, 16, 32];
        let points: Vec<UslPoint> =
            levels.iter().map(|n| UslPoint { concurrency: *n, throughput: throughput(f64::from(*n)) }).collect();
        let law = Usl::fit(&points, Confidence::P95, 1).map_err(|error| error.to_string());
        let median = |value: f64| Estimate { value, n: 1, bounds: Bounds::NeedsAtLeast(6) };
        let point = |n: u32| (f64::from(n), format!("v v{n}"), median(throughput(f64::from(n))));
        let drawn = |law| {
            let curve = Curve { name: "a".into(), points: levels.map(point).to_vec(), law: Some(law) };
            let estimates: Vec<Estimate> = curve.points.iter().map(|(.., estimate)| *estimate).collect();
            draw(&chart("workers", "throughput", Unit::PerSecond, &[curve], &estimates))
        };
        let svg = drawn(law);
        assert_eq!(marks(&svg, "fit").len(), 2, "the curve, and the legend");
        assert_eq!(marks(&svg, "v8").len(), 1, "the point of one variant");
        let caption = texts(&svg).join(" ");
        assert!(caption.contains("contention σ 0.1 ") && caption.contains("peak at 9.5 workers"), "{caption}");
        let svg = drawn(Err("too few levels".into()));
        assert!(marks(&svg, "fit").is_empty() && texts(&svg).concat().contains("no fit: too few levels"));
    }
}
