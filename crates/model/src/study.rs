//! Studies: scenarios, and the claims to examine. Files in `studies/`.

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
    /// Name, as in its file's name.
    pub name: String,
    /// The question it answers.
    pub title: String,
    /// One or two sentences.
    #[serde(default)]
    pub about: String,
    /// Where the claims come from.
    #[serde(default)]
    pub source: String,
    /// Blocks: trials of each arm. Where arms are compared, or a claim is judged, it is at least as many as the intervals
    /// need: 6 for one ratio or value at 95 %, more where several ratios share it.
    #[serde(default = "default_blocks")]
    pub blocks: u32,
    /// Relative difference below which two arms count as equivalent; default: 0.05.
    #[serde(default = "default_tolerance")]
    pub tolerance: f64,
    /// What `--quick` changes.
    pub quick: Option<Quick>,
    /// Variables for all scenarios, over those of the workload.
    #[serde(default)]
    pub vars: Vars,
    /// Workload of every scenario that does not state its own.
    pub workload: Option<String>,
    /// Driver of every scenario that does not state its own.
    pub driver: Option<String>,
    /// Executor of every scenario that does not state its own.
    pub executor: Option<Executor>,
    /// Access of every scenario that does not state its own.
    pub access: Option<String>,
    /// Profile of every scenario that does not state its own.
    pub profile: Option<String>,
    /// Whether statements are prepared once, in every scenario that does not state it.
    pub prepare: Option<bool>,
    /// Where the database lies, in every scenario that does not state it.
    pub location: Option<Location>,
    /// Schema variant of every scenario that does not state its own.
    pub schema: Option<String>,
    /// The server of every scenario that does not state its own.
    pub server: Option<Server>,
    /// Number of databases of every scenario that does not state its own.
    pub databases: Option<Quantity>,
    /// How writing transactions begin, in every scenario that does not state it.
    pub begin: Option<litelab_protocol::Begin>,
    /// Threads of the async runtime or blocking pool of every scenario that does not state its own.
    pub runtime_threads: Option<Quantity>,
    /// Warm-up of every scenario that does not state its own.
    pub warmup: Option<Quantity>,
    /// Rows present before the trial of every scenario that does not state its own.
    pub data_rows: Option<Quantity>,
    /// Share of failed transactions that fails a trial, of every scenario that does not state its own.
    pub failed_at_most: Option<Quantity>,
    /// Dimensions of every scenario that states neither the dimension nor the key it varies.
    #[serde(default)]
    pub vary: IndexMap<String, OneOrMany<Scalar>>,
    /// Metrics of every scenario that does not state its own.
    #[serde(default)]
    pub metrics: Vec<String>,
    /// What is run.
    #[serde(rename = "scenario")]
    pub scenarios: Vec<Scenario>,
    /// Published sentences to examine.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
    /// Plain sentences printed at the end.
    #[serde(default, rename = "finding")]
    pub findings: Vec<Finding>,
    /// Where arms overtake others as a number grows.
    #[serde(default, rename = "crossover")]
    pub crossovers: Vec<Crossover>,
}

fn default_blocks() -> u32 {
    6
}

fn default_tolerance() -> f64 {
    0.05
}

/// What `--quick` changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Quick {
    /// Blocks.
    pub blocks: Option<u32>,
    /// Variables.
    #[serde(default)]
    pub vars: Vars,
}

/// A workload, its roles, and what varies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Unique in the study.
    pub name: String,
    /// The question it answers.
    #[serde(default)]
    pub question: String,
    /// A workload's name, or a path relative to the study.
    pub workload: Option<String>,
    /// A driver's name; default: `rusqlite`.
    pub driver: Option<String>,
    /// Where calls run. Default: `threads`.
    pub executor: Option<Executor>,
    /// How workers share connections: `per-worker` (default), `shared`, `pool(n)`, `write-lock`, `split(n)`,
    /// `group-commit(n)`.
    pub access: Option<String>,
    /// A profile's name or path; default: `wal-normal`, of a server `as-it-comes`.
    pub profile: Option<String>,
    /// Whether statements are prepared once or at each execution. Default: once.
    pub prepare: Option<bool>,
    /// `file` (default), `memory` or `memory-shared`.
    pub location: Option<Location>,
    /// A schema variant of the workload.
    pub schema: Option<String>,
    /// The server that drivers of servers reach; default: `postgres` for those of PostgreSQL, `mariadb` for
    /// those of MySQL.
    pub server: Option<Server>,
    /// Number of databases, each with all roles; default: 1.
    pub databases: Option<Quantity>,
    /// How writing transactions begin, over what the workload says.
    pub begin: Option<litelab_protocol::Begin>,
    /// Threads of the async runtime or blocking pool.
    pub runtime_threads: Option<Quantity>,
    /// Time that transactions run before they are measured (`"200ms"`); roles that end by time last so much longer. Unless
    /// stated, for closed loops that last for a time a tenth of it, 100 ms to 2 s; none where a role ends by `count`, or
    /// there is a `search` or a `kill`.
    pub warmup: Option<Quantity>,
    /// Rows present before the trial, over what the workload says.
    pub data_rows: Option<Quantity>,
    /// Share of a role's executions of a transaction, 0 to 1, that may fail after the last retry; a trial with more fails.
    /// Default: 0.01.
    pub failed_at_most: Option<Quantity>,
    /// Blocks, if fewer or more than the study's.
    pub blocks: Option<u32>,
    /// Options of the driver, in its own names; `$name` stands for a variable.
    #[serde(default)]
    pub options: IndexMap<String, Scalar>,
    /// Time that the scenario's own pauses take for each transaction at the least, those that pass side by side shared out
    /// (`"$delay / $workers ms"`): its ceiling, whatever the database. It is printed beside the result.
    pub pauses: Option<Quantity>,
    /// Variables, over those of the study.
    #[serde(default)]
    pub vars: Vars,
    /// Who runs which transactions.
    #[serde(rename = "role")]
    pub roles: IndexMap<String, RoleSpec>,
    /// Dimension → values; the arms are all combinations. A dimension is a key of this table (`profile`, `access`, …),
    /// `workers` (of the only role) or `ROLE.workers`, `ROLE.rate`, `pragma.NAME`, `setting.NAME`, `option.NAME`, or a
    /// variable.
    #[serde(default)]
    pub vary: IndexMap<String, OneOrMany<Scalar>>,
    /// Choices that belong together (a driver, its profile, its server), each a table of dimensions; the arms are each of
    /// them with all combinations of `vary`.
    #[serde(default, rename = "setup")]
    pub setups: Vec<IndexMap<String, Scalar>>,
    /// Further arms, each a table of dimensions.
    #[serde(default, rename = "arm")]
    pub arms: Vec<IndexMap<String, Scalar>>,
    /// Combinations left out, each a table of dimensions that must all agree.
    #[serde(default)]
    pub without: Vec<IndexMap<String, Scalar>>,
    /// The arm others are compared with: a table of dimensions. Default: the first.
    pub baseline: Option<IndexMap<String, Scalar>>,
    /// Metrics shown, the first being the one arms are judged by.
    #[serde(default)]
    pub metrics: Vec<String>,
    /// Dimension of whole numbers over which the Universal Scalability Law is fitted to the throughput.
    pub usl: Option<String>,
    /// Shows what each choice does on the average over all others, and which two do more together than alone; its arms
    /// must be all combinations.
    #[serde(default)]
    pub effects: bool,
    /// Shows trials over their time, in so many windows of equal length.
    pub timeline: Option<u32>,
    /// Bounds that every trial is looked at by; one that is broken is shown, and fails nothing.
    #[serde(default, rename = "alert")]
    pub alerts: Vec<Limit>,
    /// Seeks the highest rate of arrivals at which all conditions are kept; its outcome is metric `sustainable`.
    pub search: Option<Search>,
    /// Kills processes of a role, or a node of the server, while they work.
    pub kill: Option<Kill>,
    /// What must hold of the database after every trial, in place of what the workload says.
    #[serde(default, rename = "invariant")]
    pub invariants: Vec<Invariant>,
    /// Tables whose content is hashed after every trial, in place of what the workload says.
    pub content: Option<Vec<String>>,
    /// What `--quick` changes here, over what it changes in the study.
    pub quick: Option<QuickScenario>,
}

/// What `--quick` changes in a scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QuickScenario {
    /// Blocks.
    pub blocks: Option<u32>,
    /// Variables.
    #[serde(default)]
    pub vars: Vars,
    /// Dimensions whose values are replaced.
    #[serde(default)]
    pub vary: IndexMap<String, OneOrMany<Scalar>>,
    /// Combinations left out at this scale, over those of the scenario's own `without`.
    #[serde(default)]
    pub without: Vec<IndexMap<String, Scalar>>,
}

/// Where the database lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Location {
    /// A file in the run's directory.
    #[default]
    File,
    /// In memory, private to one connection.
    Memory,
    /// In memory, one for all connections (`cache=shared`).
    MemoryShared,
}

/// Who runs which transactions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RoleSpec {
    /// Workers per database; default: 1.
    pub workers: Option<Quantity>,
    /// A transaction's name or several, run one after the other.
    pub run: Option<OneOrMany<String>>,
    /// Transactions by weight (`{ read = 90, write = 10 }`), in place of `run`.
    pub mix: Option<IndexMap<String, Quantity>>,
    /// Ends after so many transactions of the role.
    pub count: Option<Quantity>,
    /// Ends after so long (`"2s"`), the warm-up not counted.
    #[serde(rename = "for")]
    pub duration: Option<Quantity>,
    /// Ends when another role has ended.
    pub until: Option<String>,
    /// Pause after each transaction.
    pub think: Option<Quantity>,
    /// Transactions per second for the role as a whole, whatever they take: an open load.
    pub rate: Option<Quantity>,
    /// Spacing of an open load; default: `poisson`.
    pub arrivals: Option<Arrivals>,
}
