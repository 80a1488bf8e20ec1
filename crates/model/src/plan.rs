//! Plans: resolved studies, whose arms have no defaults, inheritance or expressions. A run stores its plan, which is
//! sufficient to repeat the run.

use indexmap::IndexMap;
use litelab_protocol::{Dialect, Transaction, Trial};
use litelab_stats::minimum_blocks;
use serde::{Deserialize, Serialize};

use crate::condition::{KillPlan, LimitPlan, SearchPlan};
use crate::crossover::CrossoverPlan;
use crate::judging::{judged, shared_confidence};
use crate::metric::Metric;
use crate::quantity::{Scalar, Vars};
use crate::resolve::AA;
use crate::server::Server;
use crate::setting::Setting;
use crate::study::Location;

/// A resolved study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Relative difference below which two arms count as equivalent.
    pub tolerance: f64,
    /// Scenarios in the order of the file.
    pub scenarios: Vec<ScenarioPlan>,
    /// Arms in the order of their scenarios. An arm is identified by its index in this list.
    pub arms: Vec<Arm>,
    /// Claims, resolved to arms.
    pub claims: Vec<ClaimPlan>,
    /// Names of the claims whose arms `--quick` omits.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// Findings, resolved to arms.
    pub findings: Vec<FindingPlan>,
    /// Crossovers, resolved to arms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crossovers: Vec<CrossoverPlan>,
    /// Drivers given on the command line in place of the study's own. An arm that its driver does not support is
    /// skipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drivers: Vec<String>,
}

/// A scenario of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScenarioPlan {
    /// Name of the scenario.
    pub name: String,
    /// The question that the scenario answers.
    pub question: String,
    /// Number of blocks: trials of each arm.
    pub blocks: u32,
    /// Names of the dimensions in which the arms differ.
    pub dimensions: Vec<String>,
    /// Index of the arm that the other arms are compared with.
    pub baseline: usize,
    /// Metrics to show. Arms are judged by the first one.
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
    /// Number of time windows in which trials are shown; 0 for none.
    #[serde(default)]
    pub timeline: u32,
}

/// One combination of all choices, run as one trial per block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// Index of the arm's scenario.
    pub scenario: usize,
    /// Values of the arm in the dimensions of its scenario.
    pub dimensions: IndexMap<String, Scalar>,
    /// Name of the driver as in the study: `driver` or `runner:driver`.
    pub driver: String,
    /// SQL dialect of the driver's database.
    #[serde(default)]
    pub dialect: Dialect,
    /// Server of the arm; `None` for SQLite.
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
    /// The trial, without databases. `writes` of its transactions is set after SQLite has compiled them.
    pub trial: Trial,
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
    /// Variables of the arm, for readers of the run.
    pub vars: Vars,
    /// Reason for which the arm is skipped here: its runner is not built, or lacks the driver.
    pub skipped: Option<String>,
}

/// Default of [`Arm::failed_at_most`]. An exhausted retry or a lock timeout fails a transaction occasionally; with more
/// failures, throughput and latency describe only the remaining transactions.
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

/// A claim, resolved to arms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimPlan {
    /// Name of the claim, unique in the study.
    pub name: String,
    /// The published statement.
    pub text: String,
    /// Figures published by the source.
    pub published: String,
    /// Information for the interpretation of the verdict.
    pub note: String,
    /// Metric to compare.
    pub metric: Metric,
    /// Index of the arm that the claim is about.
    pub arm: usize,
    /// Index of the arm to compare with; `None` if the claim is about the value of `arm`.
    pub against: Option<usize>,
    /// Lower bound of the ratio or value, included.
    pub at_least: Option<f64>,
    /// Upper bound of the ratio or value, included.
    pub at_most: Option<f64>,
}

/// A sentence about the outcome, resolved to arms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindingPlan {
    /// The sentence with its placeholders `{name}`.
    pub text: String,
    /// Values of the placeholders by name.
    pub values: IndexMap<String, FindingValuePlan>,
}

/// A value of a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum FindingValuePlan {
    /// The value of one arm.
    Value {
        /// Metric of the value.
        metric: Metric,
        /// Index of the arm.
        arm: usize,
    },
    /// The ratio of two arms.
    Ratio {
        /// Metric of both values.
        metric: Metric,
        /// Index of the arm in the numerator.
        arm: usize,
        /// Index of the arm in the denominator.
        against: usize,
    },
    /// The best of several arms, named by its value in one dimension.
    Best {
        /// Metric that decides.
        metric: Metric,
        /// Indices of the arms to choose from.
        arms: Vec<usize>,
        /// Dimension whose value names the best arm.
        dimension: String,
    },
}

impl Arm {
    /// Values of the arm in the dimensions of its scenario, such as `profile=wal-full access=pool(4)`; `only` without
    /// dimensions.
    #[must_use]
    pub fn label(&self) -> String {
        if self.dimensions.is_empty() {
            return "only".to_owned();
        }
        self.dimensions.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
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
        self.arms.iter().map(|arm| self.blocks_of(arm) as usize).sum()
    }

    /// Number of trials of an arm; 0 if it is skipped.
    #[must_use]
    pub fn blocks_of(&self, arm: &Arm) -> u32 {
        self.scenarios.get(arm.scenario).filter(|_| arm.skipped.is_none()).map_or(0, |s| s.blocks)
    }

    /// Minimum number of blocks for which a scenario's comparisons, and claims about its arms, have an interval at the
    /// level shared by all ratios; 0 if the scenario has neither.
    #[must_use]
    pub fn least_blocks(&self, scenario: usize) -> u32 {
        let mine = |index: usize| self.arms.get(index).is_some_and(|arm| arm.scenario == scenario);
        let run = |arm: &&Arm| arm.scenario == scenario && arm.skipped.is_none() && !arm.dimensions.contains_key(AA);
        let ratios = self.arms.iter().filter(run).count().saturating_sub(1);
        let claimed = self.claims.iter().any(|claim| mine(claim.arm) || claim.against.is_some_and(mine));
        if ratios == 0 && !claimed {
            return 0;
        }
        let judged = self.scenarios.get(scenario).map_or_else(Vec::new, |s| judged(&s.metrics));
        minimum_blocks(shared_confidence(ratios, &judged)) as u32
    }

    /// Name of an arm in the form `scenario/label`.
    #[must_use]
    pub fn arm_name(&self, index: usize) -> String {
        match self.arms.get(index) {
            Some(arm) => {
                let scenario = self.scenarios.get(arm.scenario).map_or("?", |s| s.name.as_str());
                format!("{scenario}/{}", arm.label())
            }
            None => format!("arm {index}"),
        }
    }

    /// Sets the seed of the plan and of all its trials: another order of trials, and other values of the same
    /// distributions.
    pub fn reseed(&mut self, seed: u64) {
        self.seed = seed;
        for arm in &mut self.arms {
            arm.trial.seed = seed;
        }
    }

    /// Raises the number of blocks of every scenario to at least `blocks`.
    pub fn raise_blocks(&mut self, blocks: u32) {
        for scenario in &mut self.scenarios {
            scenario.blocks = scenario.blocks.max(blocks);
        }
    }
}
