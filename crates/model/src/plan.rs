//! Plans: resolved studies, whose variants have no defaults, inheritance or expressions. A run stores its plan, which
//! is sufficient to repeat the run.

use indexmap::IndexMap;
use litelab_protocol::{Begin, Dialect, Transaction, Trial};
use litelab_stats::minimum_rounds;
use serde::{Deserialize, Serialize};

use crate::claim::Origin;
use crate::condition::{KillPlan, LimitPlan, SearchPlan};
use crate::crossover::CrossoverPlan;
use crate::judging::{judged, shared_confidence};
use crate::metric::Metric;
use crate::quantity::{Scalar, Vars};
use crate::server::Server;
use crate::setting::Setting;
use crate::study::Location;

/// Name of the dimension that distinguishes the second of two identical variants.
pub const AA: &str = "aa";

/// A resolved study.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Name of the study.
    pub study: String,
    /// The question that the study answers.
    pub title: String,
    /// Source of the study's claims.
    pub source: String,
    /// Whether the study was resolved with `--quick`.
    pub quick: bool,
    /// Seed of the order of trials and of all generated values.
    pub seed: u64,
    /// Relative difference below which two variants count as equivalent.
    pub tolerance: f64,
    /// Scenarios in the order of the file.
    pub scenarios: Vec<ScenarioPlan>,
    /// Variants in the order of their scenarios. A variant is identified by its index in this list.
    pub variants: Vec<Variant>,
    /// Claims, resolved to variants.
    pub claims: Vec<ClaimPlan>,
    /// Names of the claims that `--quick` omits, because of their `quick` key or of their variants.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// Findings, resolved to variants.
    pub findings: Vec<FindingPlan>,
    /// Crossovers, resolved to variants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crossovers: Vec<CrossoverPlan>,
    /// Drivers given on the command line in place of the study's own. A variant that its driver does not support is
    /// skipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drivers: Vec<String>,
    /// Further options of the command line that changed the plan.
    #[serde(default, skip_serializing_if = "Given::is_nothing")]
    pub given: Given,
}

/// Options of the command line that changed a plan, besides those with a field of their own in [`Plan`]. A report writes
/// the command of its run with them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Given {
    /// Number of rounds of every scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// Names of the scenarios.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// Variables.
    #[serde(default, skip_serializing_if = "Vars::is_empty")]
    pub vars: Vars,
    /// Whether every scenario has its baseline twice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aa: bool,
    /// Whether the plan combines variants of two runs ([`crate::interleave`]). No study resolves to it; only its run
    /// file repeats it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub combined: bool,
}

impl Given {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// A scenario of a plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScenarioPlan {
    /// Name of the scenario.
    pub name: String,
    /// The question that the scenario answers.
    pub question: String,
    /// Number of rounds: trials of each variant.
    pub rounds: u32,
    /// Names of the dimensions in which the variants differ.
    pub dimensions: Vec<String>,
    /// Index of the variant that the other variants are compared with.
    pub baseline: usize,
    /// Metrics to show. Variants are judged by the first one.
    pub metrics: Vec<Metric>,
    /// Bounds to check in every trial.
    #[serde(default)]
    pub alerts: Vec<LimitPlan>,
    /// Dimension over which the Universal Scalability Law is fitted; `None` for no fit.
    #[serde(default)]
    pub usl: Option<String>,
    /// Whether the effects of single dimensions are shown.
    #[serde(default)]
    pub effects: bool,
    /// Number of time windows in which trials are shown, at most [`Self::MOST_WINDOWS`]; 0 for none.
    #[serde(default)]
    pub timeline: u32,
}

impl ScenarioPlan {
    /// Largest number of windows of a timeline.
    pub const MOST_WINDOWS: u32 = 100;
}

/// One combination of all choices, run as one trial per round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Index of the variant's scenario.
    pub scenario: usize,
    /// Values of the variant in the dimensions of its scenario.
    pub dimensions: IndexMap<String, Scalar>,
    /// Name of the driver as in the study: `driver` or `runner:driver`.
    pub driver: String,
    /// SQL dialect of the driver's database.
    #[serde(default)]
    pub dialect: Dialect,
    /// Server of the variant; `None` for SQLite.
    #[serde(default)]
    pub server: Option<Server>,
    /// Name of the profile.
    pub profile: String,
    /// Settings of the profile, in order. Settings of a whole server are applied before the trial, or only compared if
    /// the user provides the server.
    pub settings: Vec<Setting>,
    /// Location of the database.
    pub location: Location,
    /// Number of databases per trial.
    pub databases: u32,
    /// Statements that create an empty database.
    pub schema: String,
    /// Rows present before the trial.
    pub data: Option<DataPlan>,
    /// Number of processes of executor `processes`; `None` for one per worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    /// The trial, without databases. `writes` of its transactions is set after SQLite has compiled them.
    pub trial: Trial,
    /// The workload's own `begin` of each transaction of `trial`, which one that only reads keeps; empty if the scenario
    /// states no other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_begins: Vec<Begin>,
    /// Conditions on the database after the trial.
    pub invariants: Vec<InvariantPlan>,
    /// Names of the tables whose content is hashed.
    pub content: Vec<String>,
    /// Minimum duration of a trial in milliseconds, warm-up included, if its roles end by time.
    pub duration_ms: Option<u64>,
    /// The search for a rate; the trial then runs repeatedly.
    #[serde(default)]
    pub search: Option<SearchPlan>,
    /// The kill of processes or of a node during the trial.
    #[serde(default)]
    pub kill: Option<KillPlan>,
    /// Upper limit of transactions per second set by the scenario's own pauses, on any database.
    #[serde(default)]
    pub ceiling: Option<f64>,
    /// Largest share of failed executions of a transaction in a role, 0 to 1. A trial with more fails.
    #[serde(default = "failed_at_most")]
    pub failed_at_most: f64,
    /// Variables of the variant, for readers of the run.
    pub vars: Vars,
    /// Reason for which the variant is skipped here: its runner is not built, or lacks the driver.
    pub skipped: Option<String>,
}

/// Default of [`Variant::failed_at_most`]. An exhausted retry or a lock timeout fails a transaction occasionally; with
/// more failures, throughput and latency describe only the remaining transactions.
pub(crate) fn failed_at_most() -> f64 {
    0.01
}

/// Rows present before the trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataPlan {
    /// Path of a database to start from.
    pub from: Option<String>,
    /// Transaction that inserts one row.
    pub transaction: Option<Transaction>,
    /// Number of rows, numbered from 0.
    pub rows: u64,
    /// SQL to run once after the rows are inserted.
    pub then: Option<String>,
}

/// A condition on the database after a trial. Its expressions still contain names of counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InvariantPlan {
    /// Description of the condition; the query if the study gives none.
    pub about: String,
    /// The query, whose result is one number.
    pub sql: String,
    /// Expected result, an expression over counts.
    pub equals: Option<String>,
    /// Lower bound of the result, included.
    #[serde(default)]
    pub at_least: Option<String>,
    /// Upper bound of the result, included.
    #[serde(default)]
    pub at_most: Option<String>,
}

/// A claim, resolved to variants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimPlan {
    /// Name of the claim, unique in the study.
    pub name: String,
    /// Whose statement it is.
    #[serde(default)]
    pub origin: Origin,
    /// The statement as it is judged.
    pub text: String,
    /// The sentence of the source; empty for a statement of the study's own.
    #[serde(default)]
    pub quote: String,
    /// Place of the quotation in the source.
    #[serde(default)]
    pub place: String,
    /// Information for the interpretation of the verdict.
    pub note: String,
    /// Metric to compare.
    pub metric: Metric,
    /// Metric of `against`, if it is not `metric`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_metric: Option<Metric>,
    /// Metric shown beside the measured one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Metric>,
    /// Index of the variant that the claim is about.
    pub variant: usize,
    /// Index of the variant to compare with; `None` if the claim is about the value of `variant`.
    pub against: Option<usize>,
    /// Lower bound of the ratio or value, included.
    pub at_least: Option<f64>,
    /// Upper bound of the ratio or value, included.
    pub at_most: Option<f64>,
}

impl ClaimPlan {
    /// The metrics whose values the claim needs.
    pub fn metrics(&self) -> impl Iterator<Item = &Metric> {
        std::iter::once(&self.metric).chain(&self.against_metric).chain(&self.beside)
    }
}

/// A sentence about the outcome, resolved to variants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindingPlan {
    /// Name by which a page selects it; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The sentence with its placeholders `{name}`.
    pub text: String,
    /// Values of the placeholders by name.
    pub values: IndexMap<String, FindingValuePlan>,
}

/// A value of a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum FindingValuePlan {
    /// The value of one variant.
    Value {
        /// Metric of the value.
        metric: Metric,
        /// Index of the variant.
        variant: usize,
    },
    /// The ratio of two variants.
    Ratio {
        /// Metric of both values.
        metric: Metric,
        /// Index of the variant in the numerator.
        variant: usize,
        /// Index of the variant in the denominator.
        against: usize,
    },
    /// The best of several variants, named by its value in one dimension.
    Best {
        /// Metric that decides.
        metric: Metric,
        /// Indices of the variants to choose from.
        variants: Vec<usize>,
        /// Dimension whose value names the best variant.
        dimension: String,
    },
}

impl Variant {
    /// Values of the variant in the dimensions of its scenario, such as `profile=wal-full sharing=pool(4)`; `only`
    /// without dimensions.
    #[must_use]
    pub fn label(&self) -> String {
        if self.dimensions.is_empty() {
            return "only".to_owned();
        }
        self.dimensions.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }

    /// Whether the variant is the second run of a baseline (`--aa`).
    #[must_use]
    pub(crate) fn is_twin(&self) -> bool {
        self.dimensions.contains_key(AA)
    }

    /// Number of workers of all roles on one database.
    #[must_use]
    pub fn workers(&self) -> u32 {
        self.trial.roles.iter().map(|r| r.workers).sum()
    }
}

impl Plan {
    /// Total number of trials.
    #[must_use]
    pub fn trials(&self) -> usize {
        self.variants.iter().map(|variant| self.rounds_of(variant) as usize).sum()
    }

    /// Number of trials of a variant; 0 if it is skipped.
    #[must_use]
    pub fn rounds_of(&self, variant: &Variant) -> u32 {
        self.scenarios.get(variant.scenario).filter(|_| variant.skipped.is_none()).map_or(0, |s| s.rounds)
    }

    /// Minimum number of rounds for which a scenario's comparisons, and claims about its variants, have an interval at
    /// the level shared by all ratios; 0 if the scenario has neither.
    #[must_use]
    pub fn least_rounds(&self, scenario: usize) -> u32 {
        let mine = |index: usize| self.variants.get(index).is_some_and(|variant| variant.scenario == scenario);
        let run = |variant: &&Variant| variant.scenario == scenario && variant.skipped.is_none() && !variant.is_twin();
        let ratios = self.variants.iter().filter(run).count().saturating_sub(1);
        let claimed = self.claims.iter().any(|claim| mine(claim.variant) || claim.against.is_some_and(mine));
        if ratios == 0 && !claimed {
            return 0;
        }
        let judged = self.scenarios.get(scenario).map_or_else(Vec::new, |s| judged(&s.metrics));
        minimum_rounds(shared_confidence(ratios, &judged)) as u32
    }

    /// Name of a variant in the form `scenario/label`.
    #[must_use]
    pub fn variant_name(&self, index: usize) -> String {
        match self.variants.get(index) {
            Some(variant) => {
                let scenario = self.scenarios.get(variant.scenario).map_or("?", |s| s.name.as_str());
                format!("{scenario}/{}", variant.label())
            }
            None => format!("variant {index}"),
        }
    }

    /// Sets the seed of the plan and of all its trials: another order of trials, and other values of the same
    /// distributions.
    pub fn reseed(&mut self, seed: u64) {
        self.seed = seed;
        for variant in &mut self.variants {
            variant.trial.seed = seed;
        }
    }

    /// Raises the number of rounds of every scenario to at least `rounds`.
    pub fn raise_rounds(&mut self, rounds: u32) {
        self.given.rounds = Some(rounds);
        for scenario in &mut self.scenarios {
            scenario.rounds = scenario.rounds.max(rounds);
        }
    }
}
