//! Alerts: bounds that every trial of a scenario is checked against. An alert is reported and fails nothing.

use litelab_model::condition::LimitPlan;
use serde::Serialize;

use super::variant::VariantAnalysis;
use crate::number;

/// Result of an alert over all trials of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AlertResult {
    /// The bound.
    #[serde(flatten)]
    pub limit: LimitPlan,
    /// Number of trials that have a value of the metric, with enough observations for it.
    pub trials: u64,
    /// Variants in which the alert fired, in the order of the scenario.
    pub fired: Vec<Fired>,
}

/// A variant in which an alert fired.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fired {
    /// Index of the variant.
    pub variant: usize,
    /// Number of trials whose value is beyond the bound.
    pub trials: u64,
    /// Number of trials that have a value.
    pub of: u64,
    /// The value farthest beyond the bound.
    pub worst: f64,
}

impl AlertResult {
    /// Condition under which the alert fires: `errors > 5.00 %`.
    #[must_use]
    pub fn condition(&self) -> String {
        let limit = &self.limit;
        let unit = limit.metric.unit();
        let above = limit.at_most.map(|high| format!("{} > {}", limit.metric, number::value(high, unit)));
        let below = limit.at_least.map(|low| format!("{} < {}", limit.metric, number::value(low, unit)));
        let condition = above.into_iter().chain(below).collect::<Vec<_>>().join(" or ");
        if limit.text.is_empty() { condition } else { format!("{} ({condition})", limit.text) }
    }
}

/// Checks the trials of a scenario's variants against a bound.
pub(super) fn examine(limit: &LimitPlan, variants: &[&VariantAnalysis]) -> AlertResult {
    let mut result = AlertResult { limit: limit.clone(), trials: 0, fired: Vec::new() };
    // A stall makes trials too short to judge: they are examined, too. The longest of too few is no quantile.
    let is_known = |variant: &&&VariantAnalysis| variant.metrics.get(&limit.metric).is_some_and(|v| v.max_of.is_none());
    for variant in variants.iter().filter(is_known) {
        let values = variant.values(&limit.metric);
        result.trials += values.len() as u64;
        // Distance from the nearer bound, positive outside.
        let distance = |value: f64| {
            let above = limit.at_most.map_or(f64::NEG_INFINITY, |high| value - high);
            above.max(limit.at_least.map_or(f64::NEG_INFINITY, |low| low - value))
        };
        let beyond: Vec<f64> = values.iter().map(|(_, value)| *value).filter(|value| !limit.keeps(*value)).collect();
        if let Some(worst) = beyond.iter().copied().max_by(|a, b| distance(*a).total_cmp(&distance(*b))) {
            let (trials, of) = (beyond.len() as u64, values.len() as u64);
            result.fired.push(Fired { variant: variant.index, trials, of, worst });
        }
    }
    result
}
