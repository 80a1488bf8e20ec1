//! Crossovers: the value of a growing number (workers, rows, …) from which one alternative overtakes another.

use indexmap::IndexMap;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::metric::Metric;
use crate::quantity::Scalar;

/// Alternatives to compare over a dimension of growing numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Crossover {
    /// Scenarios to analyse, each by itself.
    pub scenarios: Vec<String>,
    /// Dimension of growing numbers: two or more integers of at least 1.
    pub over: String,
    /// The alternative to be overtaken: dimensions that select one variant at each value of `over`.
    pub base: IndexMap<String, Scalar>,
    /// The alternatives that can overtake it, each a table of dimensions that select one variant at each value of `over`.
    pub others: Vec<IndexMap<String, Scalar>>,
    /// Metrics to analyse, each by itself.
    pub metrics: Vec<String>,
}

/// A [`Crossover`] in one scenario, resolved to variants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CrossoverPlan {
    /// Index of the scenario.
    pub scenario: usize,
    /// Dimension of growing numbers.
    pub over: String,
    /// Metrics to analyse, each by itself.
    pub metrics: Vec<Metric>,
    /// The alternative to be overtaken.
    pub base: LinePlan,
    /// The alternatives that can overtake it.
    pub others: Vec<LinePlan>,
}

/// The variants of one alternative, which differ only in the growing dimension.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinePlan {
    /// The values by which the study selects the variants, such as `go:mysql galera`.
    pub label: String,
    /// Value of the growing dimension and index of the variant, ascending; at least two.
    pub variants: Vec<(u32, usize)>,
}
