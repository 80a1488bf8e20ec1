//! Claims, statements tested by comparisons of variants, and findings, sentences about the outcome.

use indexmap::IndexMap;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::one_or_many::OneOrMany;
use crate::quantity::{Quantity, Scalar};

/// Whose statement a claim is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// A result that the source states.
    Source,
    /// A recommendation, expectation or target of the source, which it did not measure.
    Advice,
    /// A statement of the study's own author.
    #[default]
    Own,
}

impl Origin {
    /// All origins, those of a source first.
    pub const ALL: [Self; 3] = [Self::Source, Self::Advice, Self::Own];

    /// The word used in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Advice => "advice",
            Self::Own => "own",
        }
    }
}

/// A statement with the comparison that tests it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Name of the claim, unique in the study.
    pub name: String,
    /// Whose statement it is: `source`, `advice` or `own`; default: `own`.
    #[serde(default)]
    pub origin: Origin,
    /// The statement as it is judged.
    pub text: String,
    /// The sentence, or the row of a table, of the source in its own words. Required unless the claim is `own`.
    #[serde(default)]
    pub quote: String,
    /// Place of the quotation: the source's heading or file. Required with `quote`.
    #[serde(default)]
    pub place: String,
    /// The figure that the source publishes, or the two ends of its range. The bounds are a band around it: from the low
    /// end divided by a factor to the high end times it. The factor is 1.25 for ratios, shares and sizes, and 2 for
    /// absolute rates and times and for shares of rare events (`failed`, `empty`, `errors`). A stated `at_least` or
    /// `at_most` takes the place of that end of the band.
    pub published: Option<OneOrMany<Quantity>>,
    /// Information for the interpretation of the verdict.
    #[serde(default)]
    pub note: String,
    /// Name of the scenario whose variants are compared.
    pub scenario: String,
    /// Metric to compare.
    pub metric: String,
    /// Metric of the variant to compare with, of the same unit; default: `metric`. With it `against` may be absent: the
    /// claim is then about the ratio of two metrics of `variant`.
    pub against_metric: Option<String>,
    /// Metric shown beside the measured one, of the same variants, which is not judged: the usual definition where the
    /// source has one of its own.
    pub beside: Option<String>,
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
    /// Whether the claim is judged with `--quick` too; default: `true`. `false` for a figure that depends on the full
    /// scale: the time of a whole scan, a ratio to it.
    #[serde(default = "judged_with_quick")]
    pub quick: bool,
}

fn judged_with_quick() -> bool {
    true
}

/// A sentence about the outcome. `{name}` in the sentence is replaced by a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// Name by which a page selects it; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
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
