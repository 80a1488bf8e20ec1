//! Claims: published sentences as comparisons over arms; findings: sentences about the outcome.

use indexmap::IndexMap;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::{Quantity, Scalar};

/// A published sentence, and the comparison that examines it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Unique in the study.
    pub name: String,
    /// The sentence, in its source's sense.
    pub text: String,
    /// The source's own figures, if it gives any.
    #[serde(default)]
    pub published: String,
    /// What to know when reading the verdict.
    #[serde(default)]
    pub note: String,
    /// Scenario whose arms are compared.
    pub scenario: String,
    /// Metric that is compared.
    pub metric: String,
    /// The arm the claim is about: dimensions that select exactly one.
    #[serde(default)]
    pub arm: IndexMap<String, Scalar>,
    /// The arm it is compared with; without one the claim is about the arm's own value.
    pub against: Option<IndexMap<String, Scalar>>,
    /// Scenario of `against`, if another one.
    pub against_scenario: Option<String>,
    /// The claim holds where the ratio `arm / against` (or the value) is at least this: a number, with a unit for a
    /// value (`"20 MB"`, `"5 ms"`).
    pub at_least: Option<Quantity>,
    /// The claim holds where it is at most this.
    pub at_most: Option<Quantity>,
}

/// A plain sentence about the outcome; `{name}` in it is replaced by a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// The sentence.
    pub text: String,
    /// Values by name.
    #[serde(default)]
    pub values: IndexMap<String, FindingValue>,
}

/// A value of a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FindingValue {
    /// Scenario.
    pub scenario: String,
    /// Metric.
    pub metric: String,
    /// Dimensions that select one arm, or with `best` those among which to choose.
    #[serde(default)]
    pub arm: IndexMap<String, Scalar>,
    /// With these, the value is the ratio `arm / against`.
    pub against: Option<IndexMap<String, Scalar>>,
    /// The value is the name, in this dimension, of the best arm of those selected; arms not told apart from it are
    /// named, too.
    pub best: Option<String>,
}
