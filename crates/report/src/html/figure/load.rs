//! Response time against the rate of arrivals, where the highest rate that is kept was sought.

use litelab_model::condition::{LimitPlan, SearchPlan};
use litelab_model::metric::{Measure, Metric, Timing};

use super::{Figure, Source};
use crate::analysis::ArmAnalysis;
use crate::chart::{Limit, Load, Probe};
use crate::number;

/// Arms of a scenario that have a picture of their own.
const MOST: usize = 4;

pub(super) fn figures(source: Source<'_>) -> Vec<Figure> {
    source.measured().filter_map(|arm| figure(source, arm)).take(MOST).collect()
}

fn figure(source: Source<'_>, arm: &ArmAnalysis) -> Option<Figure> {
    let probes = source.evidence.probes(arm.index);
    let search = source.info.plan.arms.get(arm.index)?.search.as_ref()?;
    if probes.is_empty() {
        return None;
    }
    let drawn = probes.iter().map(|probe| Probe {
        offered: probe.rate,
        p50: probe.response.map(|times| times.p50),
        p95: probe.response.map(|times| times.p95),
        p99: probe.response.map(|times| times.p99),
        saturated: (!probe.held())
            .then(|| if probe.reason.is_empty() { "not kept".to_owned() } else { probe.reason.clone() }),
    });
    let sustainable = arm.estimate(&Measure::Sustainable.into());
    let rate = sustainable.map(|estimate| number::sentence(estimate, Measure::Sustainable.unit()));
    let of = if source.scenario.arms.len() > 1 { format!(", {}", source.name(arm)) } else { String::new() };
    let chart = Load {
        title: format!("{}: response time against offered load{of}", source.scenario.name),
        summary: rate.map_or_else(String::new, |rate| format!("The highest rate that was kept is {rate}.")),
        offered: "offered load".into(),
        response: "response time from the scheduled start".into(),
        probes: drawn.collect(),
        limit: limit(search),
        sustainable: sustainable.map(|estimate| estimate.value),
    };
    let old = if probes.iter().any(|probe| probe.response.is_none()) {
        " Response times of single rates are not in this run file: it was made before they were kept."
    } else {
        ""
    };
    let kept = search.holds.iter().map(condition).collect::<Vec<_>>().join(" and ");
    let note = format!(
        "Every rate that was tried, of all blocks; a rate is kept while {kept} and all arrivals are served.{old}"
    );
    Some(Figure { chart: Box::new(chart), note, arms: vec![arm.index], course: None })
}

/// The bound on response time that is sought to be kept.
fn limit(search: &SearchPlan) -> Option<Limit> {
    search.holds.iter().find_map(|hold| match hold.metric.measure {
        Measure::Latency(Timing::Response, _) => {
            Some(Limit { nanos: hold.at_most?, label: format!("limit of {}", hold.metric) })
        }
        _ => None,
    })
}

fn condition(hold: &LimitPlan) -> String {
    let value = |metric: &Metric, bound: f64| number::value(bound, metric.measure.unit());
    let above = hold.at_least.map(|low| format!("{} ≥ {}", hold.metric, value(&hold.metric, low)));
    let below = hold.at_most.map(|high| format!("{} ≤ {}", hold.metric, value(&hold.metric, high)));
    above.into_iter().chain(below).collect::<Vec<_>>().join(" and ")
}
