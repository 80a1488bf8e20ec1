//! What a runner answers: one JSON object per line, `type` saying which.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dialect::Dialect;
use crate::histogram::Histogram;
use crate::trial::{Executor, Setting};
use crate::value::Value;

/// A line of a runner's standard output under `run`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "type")]
pub enum Line {
    /// All connections are open and set; the runner waits for a line `{"type":"go"}`.
    Ready(Ready),
    /// Progress.
    Tick(Tick),
    /// The trial is over; the last line.
    Result(Box<TrialResult>),
    /// The trial cannot go on; the last line.
    Failed(Failed),
}

/// The settings in effect.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ready {
    /// One entry for every connection that is open.
    pub connections: Vec<ConnectionSettings>,
}

/// The settings in effect on one connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ConnectionSettings {
    /// Index of the database.
    pub database: u32,
    /// What it is for: a role's name, `pool`, `shared`, `writer` or `reader`.
    pub label: String,
    /// Value of every setting in `read_back`, in SQLite's own form (`synchronous` is a number, `journal_mode` a word);
    /// null where `PRAGMA name` returned no row. Of a server as it prints them: a number where it is one, else text.
    pub settings: BTreeMap<String, Value>,
}

/// Counts since the last tick.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Tick {
    /// Milliseconds since `go`.
    pub t_ms: u64,
    /// One entry for each role and transaction that did anything.
    pub counts: Vec<TickCount>,
    /// The longest that a timer of the host probe ran late since the last tick, in nanoseconds; of one that is overdue,
    /// so far. In the warm-up, too. Absent without a probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_ns: Option<u64>,
}

/// Counts of one role and transaction since the last tick.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TickCount {
    /// Role.
    pub role: String,
    /// Transaction.
    pub transaction: String,
    /// Committed with a result.
    pub committed: u64,
    /// Ended without the row they needed.
    pub empty: u64,
    /// Given up after the last retry.
    pub failed: u64,
    /// Errors seen, cured ones included.
    pub errors: u64,
    /// Of those, errors whose primary code is `SQLITE_BUSY`; of a server, those of [`crate::codes::contention`].
    #[serde(default)]
    pub busy: u64,
}

/// The outcome of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TrialResult {
    /// Nanoseconds from `go` to the end of the last worker, or of the drain that it outlasted.
    pub elapsed_ns: u64,
    /// Nanoseconds from the end of the warm-up until then.
    pub measured_ns: u64,
    /// One entry for each role and transaction.
    pub operations: Vec<Operation>,
    /// One entry for each worker.
    pub workers: Vec<WorkerResult>,
    /// What the host program suffered meanwhile.
    pub probe: Option<Probe>,
    /// Where the time went inside of a library, where the driver takes it apart; warm-up included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breakdown: Vec<Part>,
    /// The settings in effect when all workers had ended: an entry for each of [`Ready::connections`], those of one database and
    /// label in any order. Without settings where SQLite did not let itself be asked; none at all where a transaction is
    /// [`Operation::unfinished`], whose connection cannot be asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connections: Vec<ConnectionSettings>,
}

/// A part of what a library does, over all its tasks and threads: parts may pass side by side, and add up to more than
/// the trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Unique in the result, in words with hyphens: `ack`, `back-off`.
    pub name: String,
    /// How often.
    pub calls: u64,
    /// Nanoseconds in all of them.
    pub nanos: u64,
}

/// What became of one transaction in one role.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// Role.
    pub role: String,
    /// Transaction.
    pub transaction: String,
    /// Committed with a result, warm-up included.
    pub committed: u64,
    /// Ended without the row they needed, warm-up included.
    pub empty: u64,
    /// Given up after the last retry, warm-up included.
    pub failed: u64,
    /// Committed within the window, whenever they began: what throughput counts. The window is from the end of the warm-up to
    /// the end of the role: its time, the end of the role that it lasts as long as, or of its last worker.
    pub ended: u64,
    /// Begun after the warm-up and committed, if only after the window: the count of `service`.
    pub measured: u64,
    /// Rows written or fetched by those that are `measured`.
    pub rows: u64,
    /// Rows whose content was checked ([`crate::Work::Sha256Verify`]), warm-up included.
    pub verified: u64,
    /// Rows of those that were wrong.
    pub mismatches: u64,
    /// By extended result code name (`SQLITE_BUSY_SNAPSHOT`), of a server by its name in [`crate::codes`].
    pub errors: BTreeMap<String, ErrorCount>,
    /// Arrivals that the end of the trial came before; always 0 in a closed loop.
    pub unserved: u64,
    /// Still under way when the drain had passed, in no particular order. They are in no other count.
    pub unfinished: Vec<Unfinished>,
    /// Nanoseconds from the worker's wish to start until the answer of the commit, retries, waiting for a connection
    /// and pauses in the transaction included; the drawing of parameters excluded. Of those that are `measured`.
    pub service: Histogram,
    /// Nanoseconds of it that passed before the worker held a connection or lock of its access. Absent where workers
    /// do not share.
    pub wait: Option<Histogram>,
    /// Nanoseconds from the scheduled start until the answer of the commit. Fixed arrival rate only.
    pub response: Option<Histogram>,
    /// Nanoseconds from the scheduled to the actual start. Fixed arrival rate only.
    pub lag: Option<Histogram>,
    /// Nanoseconds until the call that runs the first fetching statement returned. Statements that fetch all rows only.
    pub query: Option<Histogram>,
    /// Nanoseconds until its first row was in the client's hands. Statements that fetch all rows only.
    pub first_row: Option<Histogram>,
}

/// A transaction that its trial did not wait for any longer: lower bounds of what it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Unfinished {
    /// Nanoseconds since it began.
    pub service_ns: u64,
    /// Nanoseconds since its scheduled start. Fixed arrival rate only.
    pub response_ns: Option<u64>,
}

/// How often an error was seen, and how often a retry cured it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ErrorCount {
    /// Times the code was returned.
    pub seen: u64,
    /// Of those, in transactions that a later try committed.
    pub cured: u64,
    /// The database's own message of the first that was seen, in one line; absent where the driver has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl ErrorCount {
    /// Adds counts; the message that is there first is kept.
    pub fn add(&mut self, other: Self) {
        self.seen = self.seen.saturating_add(other.seen);
        self.cured = self.cured.saturating_add(other.cured);
        if self.message.is_none() {
            self.message = other.message;
        }
    }
}

/// One worker's share.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WorkerResult {
    /// Role.
    pub role: String,
    /// Index among all workers of its database.
    pub worker: u32,
    /// Index of the database.
    pub database: u32,
    /// Committed, warm-up included.
    pub committed: u64,
    /// Committed within the window of its role.
    pub ended: u64,
    /// Nanoseconds of the window spent in transactions, whatever became of them.
    pub inside_ns: u64,
    /// Nanoseconds of the window spent between them: drawing parameters, think time, waiting for an arrival.
    pub outside_ns: u64,
    /// Longest time in nanoseconds in which it committed nothing: from `go` or a commit to the next one, or to the worker's
    /// end.
    pub stall_ns: u64,
}

/// What the host program suffered while SQLite worked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Nanoseconds by which a timer ran late (event loop, scheduler).
    pub lateness: Histogram,
    /// Nanoseconds a trivial job waited in the runtime's blocking pool.
    pub pool_wait: Option<Histogram>,
    /// Share of time that the event loop was busy, 0 to 1.
    pub utilization: Option<f64>,
    /// Nanoseconds that runnable tasks of the runtime waited for a processor, where the runtime counts them itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<Histogram>,
}

/// Why a trial could not go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Failed {
    /// One line.
    pub reason: String,
    /// SQLite's extended result code name where it was SQLite that said no; of a server the name in [`crate::codes`],
    /// also where the connection failed.
    pub code: Option<String>,
}

/// The answer to `describe`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// [`crate::VERSION`] the runner speaks.
    pub protocol: u32,
    /// The runner's name.
    pub runner: String,
    /// `rust`, `go`, `python`, `node`, `c`.
    pub language: String,
    /// Version of the language's runtime or compiler.
    pub runtime: String,
    /// Drivers it can use now.
    pub drivers: Vec<DriverDescription>,
}

/// One driver of a runner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DriverDescription {
    /// Unique in the runner. `noop` does all a trial asks for but calls no database.
    pub name: String,
    /// Version of the library.
    pub version: String,
    /// The SQLite inside; absent where there is none.
    pub sqlite: Option<SqliteBuild>,
    /// [`crate::Access::kind`]s it supports.
    pub accesses: Vec<String>,
    /// Executors it supports.
    pub executors: Vec<Executor>,
    /// The higher interface it offers in place of SQL (`queue`): its transactions are made of
    /// [`crate::Invocation`]s. Absent for a driver that takes SQL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// The database it reaches; default: SQLite.
    #[serde(default, skip_serializing_if = "Dialect::is_sqlite")]
    pub dialect: Dialect,
}

/// A build of SQLite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SqliteBuild {
    /// `sqlite_version()`.
    pub version: String,
    /// `sqlite_source_id()`.
    pub source_id: String,
    /// `PRAGMA compile_options`.
    pub compile_options: Vec<String>,
}

/// The request of `inspect`: open a database as an application would, and say what took effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Inspect {
    /// [`crate::VERSION`].
    pub protocol: u32,
    /// Driver to open it with.
    pub driver: String,
    /// Path of the database: a copy, for opening it may change it.
    pub database: String,
    /// Connections to open at once.
    pub connections: u32,
    /// The driver's own options.
    pub options: BTreeMap<String, serde_json::Value>,
    /// Run in order on each.
    pub settings: Vec<Setting>,
    /// Names to report.
    pub read_back: Vec<String>,
}

/// The answer to `inspect`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Inspection {
    /// One entry for each connection.
    pub connections: Vec<ConnectionSettings>,
}
