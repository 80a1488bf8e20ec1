//! Messages from a runner: one JSON object per line; the field `type` names the kind of message.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dialect::Dialect;
use crate::histogram::Histogram;
use crate::invocation::Interface;
use crate::trial::{Executor, Setting};
use crate::value::Value;

/// One line of a runner's standard output under `run`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "type")]
pub enum Message {
    /// All connections are open and their settings applied; the runner waits for a line `{"type":"go"}`.
    Ready(Ready),
    /// Progress since the previous tick.
    Tick(Tick),
    /// The outcome of a complete trial; the last line.
    Result(Box<TrialResult>),
    /// The reason why the trial ended early; the last line.
    Failed(Failed),
}

impl Message {
    /// The message's `type`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Ready(_) => "ready",
            Self::Tick(_) => "tick",
            Self::Result(_) => "result",
            Self::Failed(_) => "failed",
        }
    }
}

/// The settings in effect before the trial starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ready {
    /// One entry for each open connection.
    pub connections: Vec<ConnectionSettings>,
}

/// The settings in effect on one connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ConnectionSettings {
    /// Index of the connection's database in the trial.
    pub database: u32,
    /// Purpose of the connection: a role's name, `pool`, `shared`, `writer` or `reader`.
    pub label: String,
    /// Value of every setting in `read_back`. SQLite's values keep their own form (`synchronous` is a number,
    /// `journal_mode` a word), and null means that `PRAGMA name` returned no row. A server's value is a number if it
    /// parses as one, otherwise text.
    pub settings: BTreeMap<String, Value>,
}

/// Counts since the last tick.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Tick {
    /// Milliseconds since `go`.
    pub t_ms: u64,
    /// One entry for each role and transaction with activity since the last tick.
    pub counts: Vec<TickCount>,
    /// Longest lateness of a timer of the host probe since the last tick, in nanoseconds; a timer that is overdue
    /// counts with its lateness so far. Includes warm-up. Absent without a probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_ns: Option<u64>,
}

/// Counts of one role and transaction since the last tick.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TickCount {
    /// Name of the role.
    pub role: String,
    /// Name of the transaction.
    pub transaction: String,
    /// Transactions committed with a result.
    pub committed: u64,
    /// Transactions that ended without a row that they require.
    pub empty: u64,
    /// Transactions that failed, with no further retry.
    pub failed: u64,
    /// Errors returned by the database, including those cured by a retry.
    pub errors: u64,
    /// Those `errors` whose primary code is `SQLITE_BUSY`; on a server, those in [`crate::codes::contention`].
    #[serde(default)]
    pub busy: u64,
}

/// The outcome of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TrialResult {
    /// Nanoseconds from `go` to the end of the last worker, or to the end of the drain if a transaction is unfinished.
    pub elapsed_ns: u64,
    /// Nanoseconds of `elapsed_ns` after the warm-up.
    pub measured_ns: u64,
    /// One entry for each role and transaction.
    pub operations: Vec<TransactionResult>,
    /// One entry for each worker.
    pub workers: Vec<WorkerResult>,
    /// Latencies of the whole trial by name, in nanoseconds. `probe`: lateness of a periodic timer (event loop,
    /// scheduler); `pool_wait`: wait of a trivial job in the runtime's blocking pool; `scheduler`: wait of goroutines for
    /// a processor; all with a probe only. Any other name, in words with hyphens, is the driver's own, such as a part of
    /// its library's work; its values sum over all tasks and threads, warm-up included.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub timers: BTreeMap<String, Histogram>,
    /// Numbers of the whole trial by name, with the unit as the name's suffix: `_ns`, `_bytes`, `_share`, otherwise a
    /// count. `utilization`, without a suffix, is the share of time during which the event loop was busy, 0 to 1; absent
    /// without a probe or event loop.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gauges: BTreeMap<String, f64>,
    /// The settings in effect after all workers have ended: one entry for each entry of [`Ready::connections`], in any
    /// order within one database and label. An entry has no settings if SQLite refused the query. The list is empty if
    /// a transaction is [`TransactionResult::unfinished`], because its connection cannot be queried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connections: Vec<ConnectionSettings>,
}

/// Counts and latencies of one transaction in one role.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TransactionResult {
    /// Name of the role.
    pub role: String,
    /// Name of the transaction.
    pub transaction: String,
    /// Transactions committed with a result, warm-up included.
    pub committed: u64,
    /// Transactions that ended without a row that they require, warm-up included.
    pub empty: u64,
    /// Transactions that failed, with no further retry, warm-up included.
    pub failed: u64,
    /// Transactions committed within the window, whenever they began: the numerator of throughput. The window lasts
    /// from the end of the warm-up to the end of the role: its `ms`, the end of the role that it follows, or the end of
    /// its last worker.
    pub ended: u64,
    /// Transactions that began within the window and committed, even after its end: the count of `service`.
    pub measured: u64,
    /// Rows written or fetched by the `measured` transactions.
    pub rows: u64,
    /// Further counts by name, warm-up included; an absent name is 0. `verified`: rows whose content was verified
    /// ([`crate::Work::Verify`]); `mismatches`: those with wrong content.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, u64>,
    /// Errors by name: SQLite's extended result code name (`SQLITE_BUSY_SNAPSHOT`), or a server's name in
    /// [`crate::codes`].
    pub errors: BTreeMap<String, ErrorCount>,
    /// Arrivals due before the end of the trial that no worker started; always 0 in a closed loop.
    pub unserved: u64,
    /// Transactions still in progress at the end of the drain, in no particular order. No other count includes them but
    /// that of errors.
    pub unfinished: Vec<Unfinished>,
    /// Nanoseconds from before the worker requests a connection until the commit returns, including retries, the wait
    /// for a connection and pauses in the transaction, excluding the generation of parameters. Covers the `measured`
    /// transactions.
    pub service: Histogram,
    /// Further latencies of the `measured` transactions by name, in nanoseconds. `wait`: part of the service time before
    /// the worker held the connection or lock of its sharing; only if workers share connections or a lock. `response`:
    /// from the scheduled start until the commit returns, and `lag`: from the scheduled to the actual start; open load
    /// only. `query`: from the start of the service time until the call that executes the first fetching statement
    /// returned, and `first_row`: until the columns of its first row were read; only with `timed_rows`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub timers: BTreeMap<String, Histogram>,
}

impl TransactionResult {
    /// A count by its name in `counters`.
    #[must_use]
    pub fn counter(&self, name: &str) -> u64 {
        self.counters.get(name).copied().unwrap_or(0)
    }
}

/// A transaction still in progress at the end of the drain. Its times are lower bounds of its latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Unfinished {
    /// Nanoseconds since the transaction began.
    pub service_ns: u64,
    /// Nanoseconds since its scheduled start. Open load only.
    pub response_ns: Option<u64>,
}

/// Counts of one error: occurrences, and occurrences cured by a retry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ErrorCount {
    /// Number of times that the database returned the error.
    pub seen: u64,
    /// Number of those in transactions that a later try committed.
    pub cured: u64,
    /// The database's own message of the first occurrence, in one line; absent if the driver provides none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl ErrorCount {
    /// Adds the counts of another record. An existing message is kept.
    pub fn add(&mut self, other: Self) {
        self.seen = self.seen.saturating_add(other.seen);
        self.cured = self.cured.saturating_add(other.cured);
        if self.message.is_none() {
            self.message = other.message;
        }
    }
}

/// Counts and times of one worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WorkerResult {
    /// Name of the worker's role.
    pub role: String,
    /// Index among all workers of the worker's database.
    pub worker: u32,
    /// Index of the worker's database in the trial.
    pub database: u32,
    /// Transactions committed, warm-up included.
    pub committed: u64,
    /// Transactions committed within the window of the worker's role.
    pub ended: u64,
    /// Nanoseconds of the window spent inside transactions, whatever their outcome.
    pub inside_ns: u64,
    /// Nanoseconds of the window spent between transactions: generation of parameters, think time, wait for an arrival.
    pub outside_ns: u64,
    /// Longest time without a commit in nanoseconds: from `go` or a commit to the next commit, or to the worker's end.
    /// Includes warm-up.
    pub stall_ns: u64,
}

/// Reason why a trial ended early.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Failed {
    /// The reason in one line.
    pub reason: String,
    /// SQLite's extended result code name if SQLite returned an error; a server's or connection failure's name in
    /// [`crate::codes`]. Absent for any other failure.
    pub code: Option<String>,
}

/// The answer to `describe`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Version of the protocol that the runner implements, [`crate::VERSION`].
    pub protocol: u32,
    /// Name of the runner.
    pub runner: String,
    /// Language of the runner: `rust`, `go`, `python`, `node`, `c`.
    pub language: String,
    /// Version of the language's runtime or compiler.
    pub runtime: String,
    /// Drivers that are installed and usable.
    pub drivers: Vec<DriverDescription>,
}

/// One driver of a runner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DriverDescription {
    /// Name of the driver, unique in the runner. `noop` performs all work of a trial except the calls to a database.
    pub name: String,
    /// Version of the driver's library.
    pub version: String,
    /// The SQLite build that the driver uses; absent for a driver without SQLite.
    pub sqlite: Option<SqliteBuild>,
    /// Supported kinds of sharing by their [`crate::Sharing::kind`].
    pub sharings: Vec<String>,
    /// Supported executors.
    pub executors: Vec<Executor>,
    /// The interface of a library in place of SQL: statements of its transactions are [`crate::Invocation`]s. Absent for
    /// a driver that executes SQL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<Interface>,
    /// SQL dialect of the driver's database; default: SQLite.
    #[serde(default, skip_serializing_if = "Dialect::is_sqlite")]
    pub dialect: Dialect,
}

/// Version and compile options of a SQLite library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SqliteBuild {
    /// Result of `sqlite_version()`.
    pub version: String,
    /// Result of `sqlite_source_id()`.
    pub source_id: String,
    /// Rows of `PRAGMA compile_options`.
    pub compile_options: Vec<String>,
}

/// The request of `inspect`: open a database with the given settings and report the values in effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Inspect {
    /// Version of the protocol, [`crate::VERSION`].
    pub protocol: u32,
    /// Name of the driver that opens the database.
    pub driver: String,
    /// Path of the database. It is a copy, because opening a database can change it.
    pub database: String,
    /// Number of connections to hold open at the same time.
    pub connections: u32,
    /// Options of the driver, in its own terms (DSN keys, constructor arguments).
    pub options: BTreeMap<String, serde_json::Value>,
    /// Settings to apply in this order on each connection.
    pub settings: Vec<Setting>,
    /// Names of the settings to report.
    pub read_back: Vec<String>,
    /// Data source name in the driver's own syntax, complete, with the path of the database. The runner opens it through
    /// the driver's documented API with `options` as the arguments of the constructor, and adds no prefix, flag or
    /// setting. Default: the runner composes the name from `database` and `options`, as for a trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dsn: Option<String>,
}

/// The answer to `inspect`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Inspection {
    /// One entry for each connection.
    pub connections: Vec<ConnectionSettings>,
    /// Result of the trial of an upgrade. Absent without [`Inspect::dsn`], with fewer than two connections, for a
    /// database that is read-only or in memory, and where a driver does not try it behind a shared cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upgrade: Option<Upgrade>,
    /// Settings of the connection that a pool opened in place of one that was closed. Absent without [`Inspect::dsn`],
    /// with fewer than two connections, and for a driver without a pool that opens another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<ConnectionSettings>,
}

/// Outcome of a transaction, begun in the driver's ordinary way, that first reads and then writes while another
/// connection writes: <https://sqlite.org/lang_transaction.html#read_transactions_versus_write_transactions>.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Upgrade {
    /// The other connection cannot begin to write meanwhile: the transaction took the write lock when it began.
    Immediate,
    /// The later write fails at once with `SQLITE_BUSY` or `SQLITE_BUSY_SNAPSHOT`, behind a shared cache with
    /// `SQLITE_LOCKED`, whatever the busy timeout.
    Fails,
    /// The later write succeeds: the read was not part of the transaction.
    Succeeds,
}
