//! Conditions on a trial: alerts, the search for the highest rate that is kept, processes and nodes that are killed.

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
    /// Metric that is looked at.
    pub metric: String,
    /// It is kept where the value is at least this: a number, with a unit where the metric has one (`"5 ms"`).
    pub at_least: Option<Quantity>,
    /// It is kept where the value is at most this.
    pub at_most: Option<Quantity>,
    /// In words.
    #[serde(default)]
    pub text: String,
}

/// The search for the highest rate of arrivals at which all conditions are kept: by steps of a factor until one is not,
/// then by halving what lies between.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// The role whose rate is sought; it gets the rate from the search alone.
    pub rate: String,
    /// First rate, per second.
    pub from: Quantity,
    /// From one rate to the next, until one is not kept; default: 2.
    pub factor: Option<Quantity>,
    /// The search ends when the lowest rate not kept is above the highest one kept by no more than this share.
    /// Default: 0.1.
    pub precision: Option<Quantity>,
    /// Trials of each rate, of which most decide; default: 3.
    pub repeats: Option<Quantity>,
    /// What has to be kept, besides the rate itself.
    pub holds: Vec<Limit>,
}

/// What is killed while it works: runner processes (`role` and `processes`), or a node of the server (`node`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Kill {
    /// The role whose processes are killed, its first ones first.
    pub role: Option<String>,
    /// How many; `$killed` in invariants. One at least stays.
    pub processes: Option<Quantity>,
    /// The node of the server that is killed, counted from 1 in the order of the url's hosts.
    pub node: Option<Quantity>,
    /// From `go` to the first kill, and from one to the next.
    pub after: Quantity,
    /// From the kill of a node to its start. Without it the node is started after the trial.
    pub back: Option<Quantity>,
}

/// A [`Limit`] with its metric found; values in base units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitPlan {
    /// What is looked at.
    pub metric: Metric,
    /// Kept from here.
    pub at_least: Option<f64>,
    /// Kept up to here.
    pub at_most: Option<f64>,
    /// In words; empty where the study gives none.
    pub text: String,
}

/// A [`Search`] without expressions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchPlan {
    /// Name of the role.
    pub role: String,
    /// First rate, per second.
    pub from: f64,
    /// Above 1.
    pub factor: f64,
    /// Above 0.
    pub precision: f64,
    /// At least 1.
    pub repeats: u32,
    /// At least one.
    pub holds: Vec<LimitPlan>,
}

/// A [`Kill`] without expressions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum KillPlan {
    /// Of runner processes.
    Processes {
        /// Name of the role.
        role: String,
        /// At least 1, fewer than the role has.
        processes: u32,
        /// Milliseconds from `go` to the first, and from each to the next.
        after_ms: u64,
    },
    /// Of a node of the server.
    Node {
        /// From 1.
        node: u32,
        /// Milliseconds from `go` to the kill.
        after_ms: u64,
        /// Milliseconds from the kill to its start; none where that is after the trial.
        back_ms: Option<u64>,
    },
}

impl KillPlan {
    /// How many workers of a role it takes away.
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
    /// The rate to try after `kept`, the highest that was, and `broken`, the lowest that was not; none when the search is
    /// over. It ends, too, a factor of 2^20 away from where it began.
    #[must_use]
    pub fn next(&self, kept: Option<f64>, broken: Option<f64>) -> Option<f64> {
        let far = f64::from(1 << 20);
        match (kept, broken) {
            (None, None) => Some(self.from),
            (Some(kept), None) => {
                Some(kept * self.factor).filter(|rate| *rate <= self.from * far && *rate < MAX_SAFE_INTEGER as f64)
            }
            (None, Some(broken)) => Some(broken / self.factor).filter(|rate| *rate >= self.from / far),
            // The middle of their logarithms.
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

    /// Searches where every rate up to `limit` is kept. Returns the highest kept, the lowest not kept, and the steps.
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
