//! Charts of response time over the rate of arrivals, for searches of the highest sustainable rate.

use litelab_model::condition::{LimitPlan, SearchPlan};
use litelab_model::metric::{Measure, Metric, Timing, Unit};
use litelab_record::outcome::{Probe, ResponseTimes};

use super::{Figure, Source};
use crate::analysis::VariantAnalysis;
use crate::chart::{Axis, Entry, Lane, Mark, Sample, Xy, mark};
use crate::number;

/// Largest number of variants of a scenario with a chart.
const MOST: usize = 4;

/// Name of a quantile, and its value in a probe.
type Quantile = (&'static str, fn(&ResponseTimes) -> f64);

const QUANTILES: [Quantile; 3] = [("P50", |times| times.p50), ("P95", |times| times.p95), ("P99", |times| times.p99)];

pub(super) fn figures(source: Source<'_>) -> Vec<Figure> {
    source.measured().filter_map(|variant| figure(source, variant)).take(MOST).collect()
}

fn figure(source: Source<'_>, variant: &VariantAnalysis) -> Option<Figure> {
    let probes = source.evidence.probes(variant.index);
    let search = source.info.plan.variants.get(variant.index)?.search.as_ref()?;
    if probes.is_empty() {
        return None;
    }
    let sustainable = variant.estimate(&Measure::Sustainable.into());
    let rate = sustainable.map(|estimate| number::sentence(estimate, Unit::PerSecond));
    let of = if source.scenario.variants.len() > 1 { format!(", {}", variant.words) } else { String::new() };
    let chart = Xy {
        title: format!("{}: response time against offered load{of}", source.scenario.name),
        summary: rate.map_or_else(String::new, |rate| format!("The highest rate that was kept is {rate}.")),
        ..chart(probes, limit(search), sustainable.map(|estimate| estimate.value))
    };
    let old = if probes.iter().any(|probe| probe.response.is_none()) {
        " Response times of single rates are not in this run file: it was made before they were kept."
    } else {
        ""
    };
    let kept = search.holds.iter().map(condition).collect::<Vec<_>>().join(" and ");
    let note = format!(
        "Every rate that was tried, of all rounds; a rate is kept while {kept} and all arrivals are served.{old}"
    );
    Some(Figure { chart: Box::new(chart), note, course: None })
}

/// A chart with a bound in nanoseconds and its name, and with the highest sustained rate.
fn chart(probes: &[Probe], limit: Option<(f64, String)>, sustainable: Option<f64>) -> Xy {
    let mut probes: Vec<&Probe> = probes.iter().collect();
    probes.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    let points = |of: fn(&ResponseTimes) -> f64, held: fn(&Probe) -> bool| -> Vec<(f64, f64)> {
        let these = probes.iter().filter(|probe| held(probe));
        these.filter_map(|probe| Some((probe.rate, of(probe.response.as_ref()?)))).collect()
    };
    let times = QUANTILES.iter().flat_map(|(_, of)| points(*of, |_| true)).map(|(_, nanos)| nanos);
    let times = times.chain(limit.iter().map(|(nanos, _)| *nanos));
    let mut marks: Vec<Mark> = limit.iter().map(|(nanos, _)| Mark::Across("limit", *nanos)).collect();
    marks.extend(sustainable.map(|rate| Mark::Down("kept", rate)));
    marks.extend(QUANTILES.iter().enumerate().flat_map(|(i, (_, of))| {
        [
            Mark::Line(mark::line(i), points(*of, |_| true)),
            Mark::Points(mark::marker(i), i, points(*of, Probe::held)),
            Mark::Points(format!("hollow {}", mark::colour(i)), i, points(*of, |probe| !probe.held())),
        ]
    }));
    let broken: Vec<f64> = probes.iter().filter(|probe| !probe.held()).map(|probe| probe.rate).collect();
    let mut drawn =
        "response time from the scheduled start against offered load, the former on a logarithmic axis.".to_owned();
    let known = probes.iter().any(|probe| probe.response.is_some());
    let named = QUANTILES.iter().enumerate().filter(|_| known);
    let mut legend: Vec<Entry> = named.map(|(i, (name, _))| Entry::new(Sample::Series(i), *name)).collect();
    if let Some((nanos, label)) = &limit {
        let bound = number::value(*nanos, Unit::Nanos);
        drawn.push_str(&format!(" {label} {bound}."));
        legend.push(Entry::new(Sample::Rule("limit"), format!("{label}: {bound}")));
    }
    if let Some(rate) = sustainable {
        let rate = number::value(rate, Unit::PerSecond);
        drawn.push_str(&format!(" Highest rate kept: {rate}."));
        legend.push(Entry::new(Sample::Rule("kept"), format!("highest rate kept: {rate}")));
    }
    let mut lanes = Vec::new();
    if !broken.is_empty() {
        let sample = Sample::Shape(mark::CROSS, "mark bad".into());
        legend.push(Entry::new(sample, "rate not kept (its markers are hollow)"));
        lanes.push(Lane { class: "mark bad", shape: mark::CROSS, at: broken, through: false });
    }
    let rates = probes.iter().map(|probe| probe.rate).chain(sustainable);
    Xy {
        drawn,
        words: probes.iter().map(|probe| sentence(probe)).collect(),
        legend,
        x: Axis::linear("offered load", Unit::PerSecond, rates),
        y: Axis::times("response time from the scheduled start", times),
        height: 220.0,
        marks,
        lanes,
        ..Xy::default()
    }
}

fn sentence(probe: &Probe) -> String {
    let rate = number::value(probe.rate, Unit::PerSecond);
    let time =
        |(name, of): &Quantile| Some(format!(", {name} {}", number::value(of(probe.response.as_ref()?), Unit::Nanos)));
    let times: String = QUANTILES.iter().filter_map(time).collect();
    match (probe.held(), probe.reason.as_str()) {
        (true, _) => format!("{rate}{times}"),
        (false, "") => format!("{rate}{times}, not kept"),
        (false, reason) => format!("{rate}{times}, not kept: {reason}"),
    }
}

/// The bound on response time that the search must keep.
fn limit(search: &SearchPlan) -> Option<(f64, String)> {
    search.holds.iter().find_map(|hold| match hold.metric.measure {
        Measure::Latency(Timing::Response, _) => Some((hold.at_most?, format!("limit of {}", hold.metric))),
        _ => None,
    })
}

fn condition(hold: &LimitPlan) -> String {
    let value = |metric: &Metric, bound: f64| number::value(bound, metric.unit());
    let above = hold.at_least.map(|low| format!("{} ≥ {}", hold.metric, value(&hold.metric, low)));
    let below = hold.at_most.map(|high| format!("{} ≤ {}", hold.metric, value(&hold.metric, high)));
    above.into_iter().chain(below).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Chart;
    use crate::chart::tests::look::{draw, marks};

    #[test]
    fn a_rate_that_was_not_kept_is_marked_beyond_its_colour() {
        let probe = |rate, reason: &str| Probe {
            rate,
            kept: u32::from(reason.is_empty()),
            reason: reason.into(),
            response: Some(ResponseTimes { p50: 1e6, p95: 2e6, p99: 3e6 }),
            ..Probe::default()
        };
        let probes = [probe(200.0, "queue grew"), probe(100.0, "")];
        let chart = chart(&probes, Some((20e6, "limit of P99".into())), Some(100.0));
        let svg = draw(&chart);
        assert_eq!(marks(&svg, "hollow").len(), 3, "P50, P95 and P99 of one probe");
        assert_eq!(marks(&svg, "bad").len(), 2, "one cross, and the legend");
        assert_eq!((marks(&svg, "limit").len(), marks(&svg, "kept").len()), (2, 2));
        let said = chart.description();
        assert!(said.contains("limit of P99 20.0 ms") && said.contains("not kept: queue grew"), "{said}");
    }
}
