//! Conditions of a trial: alerts, the search for the highest sustainable rate, and kills of processes and nodes.

use litelab_protocol::MAX_SAFE_INTEGER;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::metric::Metric;
use crate::quantity::Quantity;

/// A bound on a metric of one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// Metric with the bound.
    pub metric: String,
    /// Lower bound of the metric, included: a number, with a unit if the metric has one (`"5 ms"`).
    pub at_least: Option<Quantity>,
    /// Upper bound of the metric, included.
    pub at_most: Option<Quantity>,
    /// Description of the limit.
    #[serde(default)]
    pub text: String,
}

/// A search for the highest arrival rate at which all conditions hold. The rate changes by a factor until the first
/// change of outcome, then by bisection of the interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// Name of the role whose rate the search sets. It overrides the `rate` of the role.
    pub rate: String,
    /// First rate in transactions per second.
    pub from: Quantity,
    /// Factor from one rate to the next before the bisection; default: 2.
    pub factor: Option<Quantity>,
    /// Relative precision of the result: the search ends when the lowest failing rate exceeds the highest sustained
    /// rate by at most this share. Default: 0.1.
    pub precision: Option<Quantity>,
    /// Number of trials at each rate, of which the majority decides; default: 3.
    pub repeats: Option<Quantity>,
    /// Conditions for a sustained rate, in addition to the rate itself.
    pub holds: Vec<Limit>,
}

/// A kill during the trial: of runner processes (`role` and `processes`), or of a node of the server (`node`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Kill {
    /// Role whose processes are killed, in order from its first.
    pub role: Option<String>,
    /// Number of processes to kill, fewer than the role has; `$killed` in invariants.
    pub processes: Option<Quantity>,
    /// Node of the server to kill, counted from 1 in the order of the hosts in the URL.
    pub node: Option<Quantity>,
    /// Time from `go` to the first kill, and from each kill to the next.
    pub after: Quantity,
    /// Time from the kill of a node to its restart. Default: the node is restarted after the trial.
    pub back: Option<Quantity>,
}

/// A resolved [`Limit`], with bounds in base units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitPlan {
    /// Metric with the bound.
    pub metric: Metric,
    /// Lower bound, included.
    pub at_least: Option<f64>,
    /// Upper bound, included.
    pub at_most: Option<f64>,
    /// Description of the limit; empty if the study gives none.
    pub text: String,
}

/// A resolved [`Search`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchPlan {
    /// Name of the role whose rate the search sets.
    pub role: String,
    /// First rate in transactions per second.
    pub from: f64,
    /// Factor from one rate to the next before the bisection, above 1.
    pub factor: f64,
    /// Relative precision of the result, above 0.
    pub precision: f64,
    /// Number of trials at each rate, at least 1.
    pub repeats: u32,
    /// Conditions for a sustained rate, at least one.
    pub holds: Vec<LimitPlan>,
}

/// A resolved [`Kill`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum KillPlan {
    /// A kill of runner processes.
    Processes {
        /// Name of the role whose processes are killed.
        role: String,
        /// Number of processes to kill: at least 1, fewer than the role has.
        processes: u32,
        /// Milliseconds from `go` to the first kill, and from each kill to the next.
        after_ms: u64,
    },
    /// A kill of a node of the server.
    Node {
        /// Number of the node, from 1.
        node: u32,
        /// Milliseconds from `go` to the kill.
        after_ms: u64,
        /// Milliseconds from the kill to the restart; `None` for a restart after the trial.
        back_ms: Option<u64>,
    },
}

impl KillPlan {
    /// Number of workers of the role `name` that the kill removes.
    #[must_use]
    pub fn workers_of(&self, name: &str) -> u32 {
        match self {
            Self::Processes { role, processes, .. } if role == name => *processes,
            _ => 0,
        }
    }
}

impl LimitPlan {
    /// Whether a value is within the bounds.
    #[must_use]
    pub fn keeps(&self, value: f64) -> bool {
        self.at_least.is_none_or(|low| value >= low) && self.at_most.is_none_or(|high| value <= high)
    }
}

impl SearchPlan {
    /// The rate to try next; `None` at the end of the search.
    ///
    /// `kept` is the highest rate that was sustained, `broken` the lowest that was not. The search also ends at a
    /// factor of 2^20 from the first rate.
    #[must_use]
    pub fn next(&self, kept: Option<f64>, broken: Option<f64>) -> Option<f64> {
        let far = f64::from(1 << 20);
        match (kept, broken) {
            (None, None) => Some(self.from),
            (Some(kept), None) => {
                Some(kept * self.factor).filter(|rate| *rate <= self.from * far && *rate < MAX_SAFE_INTEGER as f64)
            }
            (None, Some(broken)) => Some(broken / self.factor).filter(|rate| *rate >= self.from / far),
            // The geometric mean.
            (Some(kept), Some(broken)) => (broken / kept > 1.0 + self.precision).then(|| (kept * broken).sqrt()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(from: f64) -> SearchPlan {
        SearchPlan { role: "r".into(), from, factor: 2.0, precision: 0.1, repeats: 1, holds: vec![] }
    }

    /// Searches with every rate up to `limit` sustained. Returns the highest sustained rate, the lowest other one, and
    /// the number of steps.
    fn find(search: &SearchPlan, limit: f64) -> (Option<f64>, Option<f64>, u32) {
        let (mut kept, mut broken, mut steps) = (None, None, 0);
        while let Some(rate) = search.next(kept, broken) {
            if rate <= limit {
                kept = Some(rate)
            } else {
                broken = Some(rate)
            }
            steps += 1;
            assert!(steps < 100, "no end");
        }
        (kept, broken, steps)
    }

    #[test]
    fn the_limit_is_found_from_both_sides() {
        for limit in [3.0, 99.0, 100.0, 777.0, 123_456.0] {
            let (kept, broken, _) = find(&search(100.0), limit);
            let (kept, broken) = (kept.expect("kept"), broken.expect("broken"));
            assert!(kept <= limit && limit < broken, "{kept} {limit} {broken}");
            assert!(broken / kept <= 1.1);
        }
    }

    #[test]
    fn a_search_without_a_limit_ends() {
        assert!(find(&search(100.0), f64::INFINITY).1.is_none());
        assert_eq!(find(&search(100.0), 0.0).0, None);
    }

    #[test]
    fn a_value_on_the_bound_is_kept() {
        let limit = |at_least, at_most| LimitPlan {
            metric: "failed".parse().expect("metric"),
            at_least,
            at_most,
            text: String::new(),
        };
        assert!(limit(None, Some(0.05)).keeps(0.05) && !limit(None, Some(0.05)).keeps(0.051));
        assert!(limit(Some(2.0), None).keeps(2.0) && !limit(Some(2.0), None).keeps(1.9));
    }
}
