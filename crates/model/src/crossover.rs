//! Crossovers: from how many workers on (or rows, or whatever number grows) one way overtakes another.

use indexmap::IndexMap;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::metric::Metric;
use crate::quantity::Scalar;

/// Ways to be compared over a dimension that grows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Crossover {
    /// Scenarios in which to look, each by itself.
    pub scenarios: Vec<String>,
    /// The dimension that grows: whole numbers of at least 1, two of them or more.
    pub over: String,
    /// What is overtaken: dimensions that select one arm at each value of `over`.
    pub base: IndexMap<String, Scalar>,
    /// What may overtake it, each a table of dimensions that select one arm at each value of `over`.
    pub others: Vec<IndexMap<String, Scalar>>,
    /// In which metrics, each by itself.
    pub metrics: Vec<String>,
}

/// A [`Crossover`] in one scenario, with its arms found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CrossoverPlan {
    /// Index of the scenario.
    pub scenario: usize,
    /// The dimension that grows.
    pub over: String,
    /// In which metrics.
    pub metrics: Vec<Metric>,
    /// What is overtaken.
    pub base: LinePlan,
    /// What may overtake it.
    pub others: Vec<LinePlan>,
}

/// Arms that differ in the dimension that grows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinePlan {
    /// The values by which the study selects them: `go:mysql galera`.
    pub label: String,
    /// Value of the dimension and index of the arm, ascending; two at least.
    pub arms: Vec<(u32, usize)>,
}
