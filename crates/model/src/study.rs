//! Studies: scenarios, and the claims to test. Files in `studies/`.

use indexmap::IndexMap;
use litelab_protocol::{Arrivals, Executor};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::claim::{Claim, Finding};
use crate::condition::{Kill, Limit, Search};
use crate::crossover::Crossover;
use crate::one_or_many::OneOrMany;
use crate::quantity::{Quantity, Scalar, Vars};
use crate::server::Server;
use crate::workload::Invariant;

/// A study file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Name of the study, equal to the name of its file.
    pub name: String,
    /// The question that the study answers.
    pub title: String,
    /// Description of the study in one or two sentences.
    #[serde(default)]
    pub about: String,
    /// Source of the claims.
    #[serde(default)]
    pub source: String,
    /// Number of rounds, that is, of trials per variant; default: 6. If variants are compared or a claim is tested, the
    /// intervals set a minimum: 6 for one ratio or value at 95 %, more if several ratios share the level.
    #[serde(default = "default_rounds")]
    pub rounds: u32,
    /// Relative difference below which two variants count as equivalent; default: 0.05.
    #[serde(default = "default_tolerance")]
    pub tolerance: f64,
    /// Changes for `--quick`.
    pub quick: Option<Quick>,
    /// Variables of all scenarios, which override those of the workload.
    #[serde(default)]
    pub vars: Vars,
    /// Default for `workload` in all scenarios.
    pub workload: Option<String>,
    /// Default for `driver` in all scenarios.
    pub driver: Option<String>,
    /// Default for `executor` in all scenarios.
    pub executor: Option<Executor>,
    /// Default for `sharing` in all scenarios.
    pub sharing: Option<String>,
    /// Default for `profile` in all scenarios.
    pub profile: Option<String>,
    /// Default for `prepare` in all scenarios.
    pub prepare: Option<bool>,
    /// Default for `location` in all scenarios.
    pub location: Option<Location>,
    /// Default for `schema` in all scenarios.
    pub schema: Option<String>,
    /// Default for `server` in all scenarios.
    pub server: Option<Server>,
    /// Default for `databases` in all scenarios.
    pub databases: Option<Quantity>,
    /// Default for `begin` in all scenarios.
    pub begin: Option<litelab_protocol::Begin>,
    /// Default for `runtime_threads` in all scenarios.
    pub runtime_threads: Option<Quantity>,
    /// Default for `warmup` in all scenarios.
    pub warmup: Option<Quantity>,
    /// Default for `data_rows` in all scenarios.
    pub data_rows: Option<Quantity>,
    /// Default for `failed_at_most` in all scenarios.
    pub failed_at_most: Option<Quantity>,
    /// Dimensions of every scenario that defines neither the dimension nor the key that it varies.
    #[serde(default)]
    pub vary: IndexMap<String, OneOrMany<Scalar>>,
    /// Default for `metrics` in all scenarios.
    #[serde(default)]
    pub metrics: Vec<String>,
    /// Scenarios to run.
    #[serde(rename = "scenario")]
    pub scenarios: Vec<Scenario>,
    /// Published statements to test.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
    /// Sentences about the outcome, printed at the end.
    #[serde(default, rename = "finding")]
    pub findings: Vec<Finding>,
    /// Crossovers to locate: where one alternative overtakes another as a number grows.
    #[serde(default, rename = "crossover")]
    pub crossovers: Vec<Crossover>,
}

fn default_rounds() -> u32 {
    6
}

fn default_tolerance() -> f64 {
    0.05
}

/// Changes for `--quick` in all scenarios.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Quick {
    /// Number of rounds.
    pub rounds: Option<u32>,
    /// Variables, which override those of the workload, the study and the scenario.
    #[serde(default)]
    pub vars: Vars,
}

/// A workload, its roles, and the dimensions that vary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name of the scenario, unique in the study.
    pub name: String,
    /// The question that the scenario answers.
    #[serde(default)]
    pub question: String,
    /// Name of a workload, or its path relative to the study.
    pub workload: Option<String>,
    /// Name of a driver; default: `rusqlite`.
    pub driver: Option<String>,
    /// The thread or process in which database calls run; default: `threads`.
    pub executor: Option<Executor>,
    /// Number of processes among which executor `processes` divides the workers of each role; each process has threads
    /// for its part, which share its connections alone. Default: a process for each worker.
    pub processes: Option<Quantity>,
    /// Sharing of connections between workers: `own-connection`, `one-connection`, `pool(n)`, `app-lock`, `writer-readers(n)`,
    /// `group-commit(n)`; default: `own-connection`.
    pub sharing: Option<String>,
    /// Name or path of a profile; default: `wal-normal`, on a server `as-it-comes`.
    pub profile: Option<String>,
    /// Whether statements are prepared once per connection (true) or at each execution (false); default: true.
    pub prepare: Option<bool>,
    /// Location of the database: `file`, `memory` or `memory-shared`; default: `file`.
    pub location: Option<Location>,
    /// Name of an alternative schema of the workload; default: `default`, the workload's main schema.
    pub schema: Option<String>,
    /// Server for drivers of database servers; default: `postgres` for PostgreSQL drivers, `mariadb` for MySQL drivers.
    pub server: Option<Server>,
    /// Number of databases, each with all roles and their workers; default: 1.
    pub databases: Option<Quantity>,
    /// Begin mode of writing transactions, which overrides that of the workload.
    pub begin: Option<litelab_protocol::Begin>,
    /// Number of threads of the async runtime or blocking pool; default: the runtime's own.
    pub runtime_threads: Option<Quantity>,
    /// Time that transactions run before the measurement starts (`"200ms"`); roles that end by time last longer by it.
    /// Default: for closed loops that end by time a tenth of their time, 100 ms to 2 s; none if a role ends by `count`,
    /// or with a `search` or a `kill`.
    pub warmup: Option<Quantity>,
    /// Number of rows present before the trial, which overrides that of the workload.
    pub data_rows: Option<Quantity>,
    /// Largest share of executions of a transaction in a role, 0 to 1, that fail after the last retry. A trial with
    /// more fails. Default: 0.01.
    pub failed_at_most: Option<Quantity>,
    /// Number of rounds; default: that of the study.
    pub rounds: Option<u32>,
    /// Options of the driver, by its own names. `$name` is replaced by a variable.
    #[serde(default)]
    pub options: IndexMap<String, Scalar>,
    /// Minimum time per transaction spent in the scenario's own pauses, with parallel pauses divided
    /// (`"$delay / $workers ms"`). It limits the throughput on any database. The limit is printed with the result.
    pub pauses: Option<Quantity>,
    /// Variables, which override those of the study.
    #[serde(default)]
    pub vars: Vars,
    /// Groups of workers by name, each with its transactions and load.
    #[serde(rename = "role")]
    pub roles: IndexMap<String, RoleSpec>,
    /// Dimensions with their values; the variants are all combinations. A dimension is a key of this table (`profile`,
    /// `sharing`, …), `workers` (of the only role) or `ROLE.workers`, `ROLE.rate`, `pragma.NAME`, `setting.NAME`,
    /// `option.NAME`, or a variable.
    #[serde(default)]
    pub vary: IndexMap<String, OneOrMany<Scalar>>,
    /// Choices that belong together (a driver, its profile, its server), each a table of dimensions. The variants combine
    /// each of them with all combinations of `vary`.
    #[serde(default, rename = "setup")]
    pub setups: Vec<IndexMap<String, Scalar>>,
    /// Additional variants, each a table of dimensions.
    #[serde(default, rename = "variant")]
    pub variants: Vec<IndexMap<String, Scalar>>,
    /// Combinations to omit, each a table of dimensions that must all match.
    #[serde(default)]
    pub without: Vec<IndexMap<String, Scalar>>,
    /// The variant that the others are compared with, a table of dimensions; default: the first variant.
    pub baseline: Option<IndexMap<String, Scalar>>,
    /// Metrics to show. Variants are judged by the first one.
    #[serde(default)]
    pub metrics: Vec<String>,
    /// Dimension of integers over which the Universal Scalability Law is fitted to the throughput; default: no fit.
    pub usl: Option<String>,
    /// Whether to show the mean effect of each choice over all other choices, and the interactions of two choices. The
    /// variants must be all combinations.
    #[serde(default)]
    pub effects: bool,
    /// Number of time windows of equal length in which trials are shown; default: none.
    pub timeline: Option<u32>,
    /// Bounds to check in every trial. A broken bound is shown but fails nothing.
    #[serde(default, rename = "alert")]
    pub alerts: Vec<Limit>,
    /// Search for the highest arrival rate at which all conditions hold; the result is the metric `sustainable`.
    pub search: Option<Search>,
    /// Kill of runner processes of a role, or of a node of the server, during the trial.
    pub kill: Option<Kill>,
    /// Conditions on the database after every trial, in place of those of the workload.
    #[serde(default, rename = "invariant")]
    pub invariants: Vec<Invariant>,
    /// Tables whose content is hashed after every trial, in place of those of the workload.
    pub content: Option<Vec<String>>,
    /// Changes for `--quick`, which override those of the study.
    pub quick: Option<QuickScenario>,
}

/// Changes for `--quick` in one scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QuickScenario {
    /// Number of rounds.
    pub rounds: Option<u32>,
    /// Variables, which override all others except those of the command line.
    #[serde(default)]
    pub vars: Vars,
    /// Dimensions whose values are replaced.
    #[serde(default)]
    pub vary: IndexMap<String, OneOrMany<Scalar>>,
    /// Combinations to omit, in addition to the scenario's own `without`.
    #[serde(default)]
    pub without: Vec<IndexMap<String, Scalar>>,
}

/// Location of the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Location {
    /// A file in the run's directory.
    #[default]
    File,
    /// In memory, private to its only connection.
    Memory,
    /// In memory, shared by all connections (`cache=shared`).
    MemoryShared,
}

/// A group of workers with its transactions and load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RoleSpec {
    /// Number of workers per database; default: 1.
    pub workers: Option<Quantity>,
    /// Name of a transaction, or several names to run in order.
    pub run: Option<OneOrMany<String>>,
    /// Transactions with their weights (`{ read = 90, write = 10 }`), in place of `run`.
    pub mix: Option<IndexMap<String, Quantity>>,
    /// Number of transactions after which the role ends.
    pub count: Option<Quantity>,
    /// Time after which the role ends (`"2s"`), not counting the warm-up.
    #[serde(rename = "for")]
    pub duration: Option<Quantity>,
    /// Name of the role with whose end this role ends.
    pub until: Option<String>,
    /// Pause after each transaction; default: none.
    pub think: Option<Quantity>,
    /// Scheduled transactions per second of the whole role (open load). Default: closed load.
    pub rate: Option<Quantity>,
    /// Distribution of the arrivals of an open load; default: `poisson`.
    pub arrivals: Option<Arrivals>,
}
