//! The shape of an exported analysis.
//!
//! [`SCHEMA`] counts up when a field is removed or changes its meaning; new fields may come without. Values are in base
//! units (`unit` says which), ratios are arm over the arm compared with, and a ratio without an interval is not in it.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use litelab_model::Scalar;
use litelab_protocol::Description;
use litelab_record::ServerRecord;
use litelab_record::environment::{Environment, LoadWindow};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the shape.
pub const SCHEMA: u32 = 2;

/// A run analysed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Export {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What was run and when.
    pub run: Run,
    /// The machine before the run.
    pub environment: Environment,
    /// The machine's load during each block.
    pub loads: Vec<LoadWindow>,
    /// The runners and the builds of SQLite in them.
    pub runners: Vec<Description>,
    /// The servers of its arms, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub servers: BTreeMap<String, ServerRecord>,
    /// Scenarios with their comparisons.
    pub scenarios: Vec<Scenario>,
    /// Arms with their values.
    pub arms: Vec<Arm>,
    /// Claims with their verdicts.
    pub claims: Vec<Claim>,
    /// Sentences with their values filled in.
    pub findings: Vec<String>,
    /// Where one way overtakes another, in each metric that the study asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crossovers: Vec<Crossover>,
}

/// What was run and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Version of litelab that made it.
    pub litelab: String,
    /// The study's name.
    pub study: String,
    /// Its question.
    pub title: String,
    /// Where its claims come from.
    pub source: String,
    /// UTC, ISO 8601.
    pub created: String,
    /// When its last block ended, if it is complete.
    pub finished: Option<String>,
    /// Blocks that are complete.
    pub blocks: u32,
    /// Whether it was run with `--quick`.
    pub quick: bool,
    /// Seed of orders and values.
    pub seed: u64,
    /// Relative difference below which two arms count as equivalent.
    pub tolerance: f64,
}

/// A number and how precisely it is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// The point estimate.
    pub value: f64,
    /// Lower end of the interval; absent with too few observations.
    pub low: Option<f64>,
    /// Upper end of it.
    pub high: Option<f64>,
    /// Coverage of the interval, a fraction.
    pub confidence: Option<f64>,
    /// Trials or blocks behind it.
    pub n: usize,
    /// Observations an interval needs, where there are too few.
    pub needs: Option<usize>,
}

/// A scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// The question it answers.
    pub question: String,
    /// Blocks planned.
    pub blocks: u32,
    /// Index of the arm others are compared with.
    pub baseline: usize,
    /// Metrics shown.
    pub metrics: Vec<String>,
    /// Metrics in which arms are judged; the first that is conclusive decides.
    pub judged: Vec<String>,
    /// Level of each ratio's interval: all of the scenario hold together at 95 %.
    pub confidence: f64,
    /// Every arm against the baseline in every judged metric.
    pub comparisons: Vec<Comparison>,
    /// Identical arms against each other.
    pub aa: Vec<Comparison>,
    /// What the harness itself costs.
    pub harness: Vec<Harness>,
    /// Bounds that every trial was looked at by.
    pub alerts: Vec<Alert>,
    /// Universal Scalability Law over the workers, for each combination of the other dimensions.
    pub scalability: Vec<Scalability>,
    /// Effects of single choices in the first metric, where the arms are all combinations and it was asked for.
    pub effects: Vec<Effect>,
    /// Arms over the time of their trials.
    pub timelines: Vec<Timeline>,
    /// Whether arms with the same rows to leave left the same.
    pub content: Vec<Content>,
}

/// What a choice does on the average over all others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Effect {
    /// The metric.
    pub metric: String,
    /// The dimension.
    pub dimension: String,
    /// The choice.
    pub value: String,
    /// The baseline's.
    pub reference: String,
    /// For an interaction the other dimension and choice.
    pub with: Option<(String, String)>,
    /// Geometric mean of the ratios to the baseline's choice; for an interaction how much greater that is under the other
    /// choice.
    pub ratio: Option<Estimate>,
}

/// A table that arms with the same work were to leave alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// The table; `table#1` for one of several databases.
    pub table: String,
    /// Indices of the arms.
    pub arms: Vec<usize>,
    /// Hex SHA-256 of what most of them left.
    pub sha256: String,
    /// Indices of those that left something else: a failed self-check.
    pub odd: Vec<usize>,
}

/// An arm over the time of its trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Timeline {
    /// Index of the arm.
    pub arm: usize,
    /// In order.
    pub windows: Vec<Window>,
}

/// A part of the time of an arm's trials; medians over blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Seconds from the start to its beginning.
    pub from: f64,
    /// Seconds from the start to its end.
    pub to: f64,
    /// By name: `throughput` and `errors` per second, `wal` and `database` in bytes, `pages checkpointed` per second,
    /// `wal restarts`.
    pub values: BTreeMap<String, Estimate>,
}

/// A bound that every trial was looked at by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Alert {
    /// What is looked at.
    pub metric: String,
    /// It fires below this.
    pub at_least: Option<f64>,
    /// It fires above this.
    pub at_most: Option<f64>,
    /// Trials that have a value.
    pub trials: u64,
    /// Arms in which it fired.
    pub fired: Vec<Fired>,
}

/// An arm in which an alert fired.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fired {
    /// Index of the arm.
    pub arm: usize,
    /// In so many of its trials.
    pub trials: u64,
    /// Of so many.
    pub of: u64,
    /// The value farthest beyond the bound.
    pub worst: f64,
}

/// X(N) = λN / (1 + σ(N − 1) + κN(N − 1)).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Scalability {
    /// What the arms have in common.
    pub label: String,
    /// The dimension that is N.
    pub dimension: String,
    /// What is X.
    pub metric: String,
    /// λ; absent where nothing could be fitted.
    pub lambda: Option<Estimate>,
    /// σ.
    pub sigma: Option<Estimate>,
    /// κ.
    pub kappa: Option<Estimate>,
    /// N of the highest fitted X, if there is one above 1.
    pub peak: Option<f64>,
    /// N of the highest median measured.
    pub best: Option<u32>,
    /// The lowest N above that at which X is lower for certain.
    pub falls_from: Option<u32>,
    /// Why there is no fit.
    pub reason: Option<String>,
}

/// An arm against another in one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Index of the arm.
    pub arm: usize,
    /// Index of the arm it is compared with.
    pub against: usize,
    /// The metric.
    pub metric: String,
    /// arm / against; absent without an interval.
    pub ratio: Option<Estimate>,
    /// Of the signed-rank test that the ratio is 1.
    pub p_value: Option<f64>,
    /// Holm's, over all of the scenario's comparisons.
    pub p_adjusted: Option<f64>,
    /// `faster`, `slower`, `equivalent` or `inconclusive`, in the metric's own sense of better.
    pub verdict: String,
    /// The durability of both arms: `D4`, or `D4 → D2` where the arm keeps less than the one it is compared with.
    pub durability: String,
    /// What is given up or kept, where they differ.
    pub durability_difference: Option<String>,
    /// Blocks likely still needed.
    pub blocks_needed: Option<u32>,
    /// Whether this metric decided between the two arms.
    pub decided: bool,
    /// Why there is no ratio.
    pub reason: Option<String>,
}

/// What the harness itself costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Harness {
    /// The runner.
    pub runner: String,
    /// Nanoseconds per transaction.
    pub nanos: f64,
    /// Index of its fastest arm.
    pub fastest: Option<usize>,
    /// Share of that arm's mean transaction.
    pub share: Option<f64>,
}

/// An arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Arm {
    /// Its place among the arms.
    pub index: usize,
    /// `scenario/label`.
    pub name: String,
    /// The scenario's name.
    pub scenario: String,
    /// Its values in the dimensions of its scenario.
    pub dimensions: IndexMap<String, Scalar>,
    /// Driver.
    pub driver: String,
    /// Profile.
    pub profile: String,
    /// `volatile`, `D0` to `D4`, from the settings read back; absent where it is not known.
    pub durability: Option<String>,
    /// The rung in words.
    pub durability_meaning: Option<String>,
    /// Settings in effect: all values seen on any connection.
    pub settings: BTreeMap<String, BTreeSet<String>>,
    /// Trials planned.
    pub planned: u64,
    /// Why it was not run, if it was not.
    pub skipped: Option<String>,
    /// Trials that gave a measurement.
    pub measured: u64,
    /// Trials that did not.
    pub failures: Vec<Failure>,
    /// Errors of all its trials, by transaction and extended result code.
    pub errors: Vec<Errors>,
    /// What is to be said beside the numbers.
    pub notes: Vec<String>,
    /// By metric.
    pub metrics: BTreeMap<String, Values>,
}

/// How often a transaction met an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Errors {
    /// The transaction.
    pub transaction: String,
    /// Extended result code.
    pub code: String,
    /// Times it was returned.
    pub seen: u64,
    /// Of those, times a retry cured it.
    pub cured: u64,
    /// The database's own message of the first of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Trials that failed for one reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The kind of failure.
    pub kind: String,
    /// One line.
    pub reason: String,
    /// Blocks in which it happened.
    pub blocks: Vec<u32>,
}

/// A metric of an arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Values {
    /// `per_second`, `nanoseconds`, `bytes`, `share`, `count` or `per_transaction`.
    pub unit: String,
    /// Whether more of it is better.
    pub more_is_better: bool,
    /// Median over blocks; of a rare event its share or rate in the transactions of all trials together.
    pub median: Option<Estimate>,
    /// Of a rare event how often it happened, and in how many transactions it could.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<(u64, u64)>,
    /// Present where trials have too few observations for the quantile: so many, their median. The values are then the longest
    /// of each trial, and nothing is judged by them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_of: Option<u64>,
    /// Whether half of the trials or more are too short to be judged by them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub short: bool,
    /// Blocks that have a value.
    pub blocks: Vec<u32>,
    /// Their values, in the same order.
    pub values: Vec<f64>,
}

/// A claim examined.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its name.
    pub name: String,
    /// The published sentence.
    pub text: String,
    /// The source's own figures.
    pub published: String,
    /// What to know when reading the verdict.
    pub note: String,
    /// What is compared.
    pub metric: String,
    /// Index of the arm.
    pub arm: usize,
    /// Index of the arm it is compared with; absent where the claim is about the arm's own value.
    pub against: Option<usize>,
    /// The claim holds from here.
    pub at_least: Option<f64>,
    /// The claim holds up to here.
    pub at_most: Option<f64>,
    /// The ratio, or the value; a ratio only with an interval.
    pub measured: Option<Estimate>,
    /// `holds`, `contradicted` or `inconclusive`.
    pub verdict: String,
    /// Blocks likely still needed.
    pub blocks_needed: Option<u32>,
    /// Why it was not judged.
    pub reason: Option<String>,
}

/// From where on one way is ahead of another, up to the last value measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Crossover {
    /// The scenario's name.
    pub scenario: String,
    /// The dimension that grows.
    pub over: String,
    /// In what.
    pub metric: String,
    /// What is overtaken, as the study selects it.
    pub base: String,
    /// Indices of its arms, one for each of `levels`.
    pub base_arms: Vec<usize>,
    /// What may overtake it.
    pub other: String,
    /// Indices of its arms, one for each of `levels`.
    pub other_arms: Vec<usize>,
    /// Values of the dimension, ascending.
    pub levels: Vec<u32>,
    /// Where the lead begins; absent where it could not be judged.
    pub at: Option<Place>,
    /// The earliest place; absent with too few blocks.
    pub from: Option<Place>,
    /// The latest place.
    pub to: Option<Place>,
    /// Coverage of the interval, a fraction.
    pub confidence: Option<f64>,
    /// Blocks that have all values.
    pub n: usize,
    /// Blocks that an interval needs, where there are too few.
    pub needs: Option<usize>,
    /// other / base at the last level; absent without an interval.
    pub last: Option<Estimate>,
    /// Why it could not be judged.
    pub reason: Option<String>,
}

/// A place among the levels of a crossover.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// `up_to_first` (at the first level or below it), `at`, or `beyond_last`.
    pub place: String,
    /// Of the dimension, interpolated; present for `at`.
    pub value: Option<f64>,
}
