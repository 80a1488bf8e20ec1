//! Search for the highest sustainable rate of arrivals: one trial of the plan becomes a series of trials, each with a
//! fresh process and a fresh copy of the database.

use litelab_model::Variant;
use litelab_model::condition::SearchPlan;
use litelab_model::metric::{Measure, Quantile, Timing};
use litelab_protocol::Load;
use litelab_record::measure::Meter;
use litelab_record::outcome::{
    Failure, FailureKind, Flag, Measurement, Outcome, Probe, ResponseTimes, SearchOutcome, Series,
};

use crate::trial::{self, TrialContext};

/// Runs trials until the rate is determined. The outcome is that of the last trial at this rate, with the search
/// attached; if no rate was sustained, that of the last trial, with a sustainable rate of 0. A rate at which more
/// transactions fail than the scenario permits is not sustained; a trial that fails for another reason ends the search.
pub fn run(
    variant: &Variant,
    search: &SearchPlan,
    id: &str,
    bench: &mut TrialContext<'_>,
    report: &mut dyn FnMut(&Probe),
) -> (Outcome, Series) {
    let (mut kept, mut broken): (Option<f64>, Option<f64>) = (None, None);
    let mut probes = Vec::new();
    let mut best: Option<(Box<Measurement>, Series)> = None;
    let mut failed = None;
    while let Some(rate) = search.next(kept, broken) {
        let variant = at_rate(variant, search, rate);
        let mut probe = Probe { rate, ..Probe::default() };
        let mut last = None;
        while probe.kept.max(probe.broken) <= search.repeats / 2 {
            let number = probes.len();
            let (outcome, series) = trial::run(&variant, &format!("{id}/{number}"), bench);
            let measurement = match outcome {
                Outcome::Measured(measurement) => measurement,
                Outcome::Failed(failure) => {
                    let reason = format!("at {rate:.0} per second: {}", failure.reason);
                    let kind = failure.kind;
                    let outcome = Outcome::Failed(Box::new(Failure { reason, ..*failure }));
                    if kind != FailureKind::Transactions {
                        return (outcome, series);
                    }
                    probe.broken += 1;
                    (probe.condition, probe.reason) = ("failed".into(), "too many transactions failed".into());
                    failed = Some((outcome, series));
                    continue;
                }
            };
            match broken_by(search, &measurement) {
                None => probe.kept += 1,
                Some((condition, reason)) => {
                    probe.broken += 1;
                    (probe.condition, probe.reason) = (condition, reason);
                }
            }
            probe.response = response_times(&measurement);
            last = Some((measurement, series));
        }
        report(&probe);
        // The last trial decided the majority, so it agrees with the verdict. Until a rate is sustained, any trial is
        // kept.
        if last.is_some() && (probe.held() || kept.is_none()) {
            best = last;
        }
        if probe.held() {
            kept = Some(rate)
        } else {
            broken = Some(rate)
        }
        probes.push(probe);
    }
    match (best, failed) {
        (Some((mut measurement, series)), _) => {
            measurement.search = Some(SearchOutcome { sustainable: kept.unwrap_or_default(), probes });
            (Outcome::Measured(measurement), series)
        }
        (None, Some(failed)) => failed,
        (None, None) => {
            let reason = "the search had no rate to try".into();
            let (settings, result) = (Vec::new(), None);
            let failure = Failure { kind: FailureKind::Preparation, reason, stderr: String::new(), settings, result };
            (Outcome::Failed(Box::new(failure)), Series::default())
        }
    }
}

fn response_times(measurement: &Measurement) -> Option<ResponseTimes> {
    let mut meter = Meter::new(measurement);
    let mut at = |quantile| meter.value(&Measure::Latency(Timing::Response, quantile).into());
    Some(ResponseTimes { p50: at(Quantile::P50)?, p95: at(Quantile::P95)?, p99: at(Quantile::P99)? })
}

/// A copy of the variant with this rate of arrivals in the role under search.
pub(crate) fn at_rate(variant: &Variant, search: &SearchPlan, wanted: f64) -> Variant {
    let mut variant = variant.clone();
    for role in variant.trial.roles.iter_mut().filter(|role| role.name == search.role) {
        if let Load::Open { rate, .. } = &mut role.load {
            *rate = wanted;
        }
    }
    variant
}

/// The first condition that the trial violated. An overload violates every condition, because arrivals that were never
/// started have no response time to judge; so does a trial without measurements.
fn broken_by(search: &SearchPlan, measurement: &Measurement) -> Option<(String, String)> {
    for flag in &measurement.flags {
        if let Flag::Overloaded { role, achieved, unserved } = flag
            && *role == search.role
        {
            let reason =
                format!("{:.0} % of the rate was served, {unserved} arrivals were not begun", achieved * 100.0);
            return Some(("arrivals".into(), reason));
        }
    }
    let mut meter = Meter::new(measurement);
    for limit in &search.holds {
        let metric = limit.metric.to_string();
        match meter.value(&limit.metric) {
            Some(value) if limit.keeps(value) => {}
            Some(value) => return Some((metric, format!("{} was {value:.4}", limit.metric))),
            None => return Some((metric, format!("there was no {}", limit.metric))),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use litelab_model::condition::LimitPlan;

    use super::*;

    fn search() -> SearchPlan {
        let limit = LimitPlan {
            metric: "failed".parse().expect("metric"),
            at_least: None,
            at_most: Some(0.01),
            text: String::new(),
        };
        SearchPlan { role: "w".into(), from: 1.0, factor: 2.0, precision: 0.1, repeats: 3, holds: vec![limit] }
    }

    fn measured(committed: u64, failed: u64, flags: Vec<Flag>) -> Measurement {
        let operation = serde_json::json!({
            "role": "w", "transaction": "t", "committed": committed, "empty": 0, "failed": failed, "ended": 0,
            "measured": 0, "rows": 0, "errors": {}, "unserved": 0, "unfinished": [],
            "service": litelab_protocol::histogram::Histogram::new(),
        });
        let operations = vec![serde_json::from_value(operation).expect("operation")];
        let result = litelab_protocol::TrialResult { operations, ..Default::default() };
        Measurement { result, flags, ..Measurement::default() }
    }

    #[test]
    fn a_condition_a_missing_value_and_an_overload_break_a_rate() {
        let search = search();
        assert_eq!(broken_by(&search, &measured(99, 1, vec![])), None);
        assert!(broken_by(&search, &measured(98, 2, vec![])).is_some_and(|(_, r)| r.contains("failed was 0.02")));
        assert!(broken_by(&search, &measured(0, 0, vec![])).is_some_and(|(_, r)| r.contains("no failed")));
        let overloaded = |role: &str| vec![Flag::Overloaded { role: role.into(), achieved: 0.5, unserved: 9 }];
        assert!(broken_by(&search, &measured(99, 0, overloaded("w"))).is_some_and(|(c, _)| c == "arrivals"));
        assert_eq!(broken_by(&search, &measured(99, 0, overloaded("other"))), None);
    }
}
