//! Claims, published statements tested by comparisons of variants, and findings, sentences about the outcome.

use indexmap::IndexMap;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::{Quantity, Scalar};

/// A published statement with the comparison that tests it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Name of the claim, unique in the study.
    pub name: String,
    /// The statement, in the sense of its source.
    pub text: String,
    /// Figures published by the source, if any.
    #[serde(default)]
    pub published: String,
    /// Information for the interpretation of the verdict.
    #[serde(default)]
    pub note: String,
    /// Name of the scenario whose variants are compared.
    pub scenario: String,
    /// Metric to compare.
    pub metric: String,
    /// The variant that the claim is about: dimensions that select exactly one.
    #[serde(default)]
    pub variant: IndexMap<String, Scalar>,
    /// The variant to compare with. Default: none; the claim is then about the value of `variant`.
    pub against: Option<IndexMap<String, Scalar>>,
    /// Scenario of `against`; default: `scenario`.
    pub against_scenario: Option<String>,
    /// Lower bound: the claim holds if the ratio `variant / against` (or the value) is at least this. A number, with a unit
    /// for a value (`"20 MB"`, `"5 ms"`).
    pub at_least: Option<Quantity>,
    /// Upper bound: the claim holds if the ratio (or the value) is at most this.
    pub at_most: Option<Quantity>,
}

/// A sentence about the outcome. `{name}` in the sentence is replaced by a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// The sentence with its placeholders.
    pub text: String,
    /// Values of the placeholders by name.
    #[serde(default)]
    pub values: IndexMap<String, FindingValue>,
}

/// A value of a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FindingValue {
    /// Name of the scenario.
    pub scenario: String,
    /// Metric of the value.
    pub metric: String,
    /// Dimensions that select one variant, or with `best` the variants to choose from.
    #[serde(default)]
    pub variant: IndexMap<String, Scalar>,
    /// Dimensions that select another variant; the value is then the ratio `variant / against`.
    pub against: Option<IndexMap<String, Scalar>>,
    /// Dimension whose value names the best of the selected variants; this name is then the value. Variants that do not differ
    /// measurably from the best are named, too.
    pub best: Option<String>,
}
