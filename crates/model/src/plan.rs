//! A study resolved: arms that hold no default, no inheritance and no expression. What a run stores, and all that is
//! needed to do it again.

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
    /// The study's name.
    pub study: String,
    /// The question it answers.
    pub title: String,
    /// Where its claims come from.
    pub source: String,
    /// Whether it was resolved with `--quick`.
    pub quick: bool,
    /// Seed of the order of trials and of all generated values.
    pub seed: u64,
    /// Relative difference below which two arms count as equivalent.
    pub tolerance: f64,
    /// In the order of the file.
    pub scenarios: Vec<ScenarioPlan>,
    /// In the order of scenarios; an arm's index is its identity.
    pub arms: Vec<Arm>,
    /// With their arms found.
    pub claims: Vec<ClaimPlan>,
    /// Names of claims about arms that `--quick` leaves out.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// With their arms found.
    pub findings: Vec<FindingPlan>,
    /// With their arms found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crossovers: Vec<CrossoverPlan>,
    /// Drivers that the command line put the study on: an arm that one of them does not support is skipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drivers: Vec<String>,
}

/// A scenario of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScenarioPlan {
    /// Its name.
    pub name: String,
    /// The question it answers.
    pub question: String,
    /// Trials of each of its arms.
    pub blocks: u32,
    /// Dimensions in which its arms differ.
    pub dimensions: Vec<String>,
    /// Index of the arm the others are compared with.
    pub baseline: usize,
    /// Metrics shown; the first is the one arms are judged by.
    pub metrics: Vec<Metric>,
    /// Bounds that every trial is looked at by.
    #[serde(default)]
    pub alerts: Vec<LimitPlan>,
    /// Dimension over which the Universal Scalability Law is fitted.
    #[serde(default)]
    pub usl: Option<String>,
    /// Whether effects of single dimensions are shown.
    #[serde(default)]
    pub effects: bool,
    /// Windows in which trials are shown over their time; 0 for none.
    #[serde(default)]
    pub timeline: u32,
}

/// One full choice of everything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// Index of its scenario.
    pub scenario: usize,
    /// Its values in the dimensions of its scenario.
    pub dimensions: IndexMap<String, Scalar>,
    /// `driver` or `runner:driver`, as the study names it.
    pub driver: String,
    /// What its driver's database understands.
    #[serde(default)]
    pub dialect: Dialect,
    /// The server it runs on; none for SQLite.
    #[serde(default)]
    pub server: Option<Server>,
    /// The profile's name.
    pub profile: String,
    /// The profile's settings, in order. Those of a whole server are set before the trial, or compared where the server is the
    /// user's.
    pub settings: Vec<Setting>,
    /// Where the database lies.
    pub location: Location,
    /// Number of databases.
    pub databases: u32,
    /// Statements that make an empty database.
    pub schema: String,
    /// Rows present before the trial.
    pub data: Option<DataPlan>,
    /// The trial, without databases; `writes` of its transactions is set once SQLite has compiled them.
    pub trial: Trial,
    /// What must hold after it.
    pub invariants: Vec<InvariantPlan>,
    /// Tables whose content is hashed.
    pub content: Vec<String>,
    /// How long it takes at least, warm-up included, if its roles end by time.
    pub duration_ms: Option<u64>,
    /// The rate that is sought, if one is: the trial is run again and again.
    #[serde(default)]
    pub search: Option<SearchPlan>,
    /// What is killed while it works.
    #[serde(default)]
    pub kill: Option<KillPlan>,
    /// Transactions per second that the scenario's own pauses leave room for, whatever the database.
    #[serde(default)]
    pub ceiling: Option<f64>,
    /// Share of a role's executions of a transaction, 0 to 1, that may fail; a trial with more fails.
    #[serde(default = "failed_at_most")]
    pub failed_at_most: f64,
    /// Its variables, for those who read the run.
    pub vars: Vars,
    /// Why it is not run here: its runner is not built, or lacks its driver.
    pub skipped: Option<String>,
}

/// Default of [`Arm::failed_at_most`]: a retry or a lock that is not waited for costs a transaction now and then; beyond that
/// throughput and latency are of what was left over.
pub(crate) fn failed_at_most() -> f64 {
    0.01
}

/// Rows present before the trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataPlan {
    /// Path of a database to start from.
    pub from: Option<String>,
    /// Inserts one row at a time.
    pub transaction: Option<Transaction>,
    /// Rows 0 to this.
    pub rows: u64,
    /// SQL run once afterwards.
    pub then: Option<String>,
}

/// What must hold after a trial; its expressions still hold names of counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InvariantPlan {
    /// In words, or the query.
    pub about: String,
    /// The query.
    pub sql: String,
    /// The number it must give: an expression over counts.
    pub equals: Option<String>,
    /// It must be at least this.
    #[serde(default)]
    pub at_least: Option<String>,
    /// It must be at most this.
    #[serde(default)]
    pub at_most: Option<String>,
}

/// A claim with its arms found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimPlan {
    /// Unique in the study.
    pub name: String,
    /// The published sentence.
    pub text: String,
    /// The source's own figures.
    pub published: String,
    /// What to know when reading the verdict.
    pub note: String,
    /// What is compared.
    pub metric: Metric,
    /// Index of the arm.
    pub arm: usize,
    /// Index of the arm it is compared with.
    pub against: Option<usize>,
    /// The claim holds from here.
    pub at_least: Option<f64>,
    /// The claim holds up to here.
    pub at_most: Option<f64>,
}

/// A sentence about the outcome, with its arms found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindingPlan {
    /// The sentence with `{name}`s.
    pub text: String,
    /// By name.
    pub values: IndexMap<String, FindingValuePlan>,
}

/// A value of a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum FindingValuePlan {
    /// An arm's own value.
    Value {
        /// What.
        metric: Metric,
        /// Of which arm.
        arm: usize,
    },
    /// A ratio of two arms.
    Ratio {
        /// Of what.
        metric: Metric,
        /// Numerator.
        arm: usize,
        /// Denominator.
        against: usize,
    },
    /// The best of several arms, named by one dimension.
    Best {
        /// In what.
        metric: Metric,
        /// Among which.
        arms: Vec<usize>,
        /// Named by this.
        dimension: String,
    },
}

impl Arm {
    /// Its values in the dimensions of its scenario, `profile=wal-full access=pool(4)`; `only` for an only arm.
    #[must_use]
    pub fn label(&self) -> String {
        if self.dimensions.is_empty() {
            return "only".to_owned();
        }
        self.dimensions.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }

    /// Workers of all roles of one database.
    #[must_use]
    pub fn workers(&self) -> u32 {
        self.trial.roles.iter().map(|r| r.workers).sum()
    }
}

impl Plan {
    /// Trials in all.
    #[must_use]
    pub fn trials(&self) -> usize {
        self.arms.iter().map(|arm| self.blocks_of(arm) as usize).sum()
    }

    /// Trials of an arm: none where it is skipped.
    #[must_use]
    pub fn blocks_of(&self, arm: &Arm) -> u32 {
        self.scenarios.get(arm.scenario).filter(|_| arm.skipped.is_none()).map_or(0, |s| s.blocks)
    }

    /// Blocks without which a scenario's comparisons, or claims about its arms, have no interval: at the level that all of
    /// its ratios share. 0 where it has neither.
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

    /// `scenario/label` of an arm.
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

    /// Another seed: another order of trials and other values of the same distributions.
    pub fn reseed(&mut self, seed: u64) {
        self.seed = seed;
        for arm in &mut self.arms {
            arm.trial.seed = seed;
        }
    }

    /// More trials of every arm. A scenario that has more already keeps them.
    pub fn raise_blocks(&mut self, blocks: u32) {
        for scenario in &mut self.scenarios {
            scenario.blocks = scenario.blocks.max(blocks);
        }
    }
}
