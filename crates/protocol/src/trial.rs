//! A resolved trial in the form that a runner receives: without defaults, inheritance or expressions.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::transaction::Transaction;

/// The complete definition of one trial for a runner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// Version of the protocol of the core that wrote the trial, [`crate::VERSION`].
    pub protocol: u32,
    /// Identifier of the trial in messages; the runner does not interpret it.
    pub id: String,
    /// Name of the driver, as in the runner's `describe`.
    pub driver: String,
    /// The thread or process in which database calls run.
    pub executor: Executor,
    /// Sharing of connections between workers.
    pub sharing: Sharing,
    /// Databases of the trial, at least one. Every database has all roles with all their workers.
    pub databases: Vec<Database>,
    /// Settings and options of each connection.
    pub connection: Connection,
    /// Whether a statement is compiled once per connection or again at each execution.
    pub prepare: Prepare,
    /// Retry policy after an error.
    pub retry: Retry,
    /// Seed of all generated values; below 2^53.
    pub seed: u64,
    /// The transactions, which roles refer to by index.
    pub transactions: Vec<Transaction>,
    /// The workers with their transactions, load and duration.
    pub roles: Vec<Role>,
    /// Milliseconds from `go` during which transactions run and are counted, but not measured.
    pub warmup_ms: u64,
    /// Longest wait in milliseconds, after the end of a `time` or `role` role, for transactions still in progress.
    /// Those that remain are reported as [`crate::Unfinished`].
    pub drain_ms: u64,
    /// Interval of `tick` lines in milliseconds.
    pub tick_ms: u64,
    /// Interval of the host probe in milliseconds; 0 turns it off.
    pub probe_ms: u64,
    /// Number of threads of the async runtime or blocking pool. Default: the runtime's own.
    pub runtime_threads: Option<u32>,
}

/// The thread or process in which database calls run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Executor {
    /// One operating-system thread per worker.
    Threads,
    /// One process per worker. The core starts the processes, so that each runner process has one worker.
    Processes,
    /// Calls run on the thread of the event loop or async runtime itself.
    Inline,
    /// Calls run in the runtime's pool for blocking calls (spawn_blocking, libuv, to_thread).
    Offload,
    /// Calls run on a dedicated thread for each connection; a connection that workers share has one thread.
    Dedicated,
}

/// Sharing of the connections to one database between workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Sharing {
    /// Each worker has its own connection.
    OwnConnection,
    /// All workers share one connection, which runs one transaction at a time.
    OneConnection,
    /// A pool of `connections` connections; a worker holds one for the length of a transaction.
    Pool {
        /// Size of the pool, at least 1.
        connections: u32,
    },
    /// Each worker has its own connection, and a writing transaction holds one lock of the process.
    AppLock,
    /// One connection for writing transactions, `readers` connections for read-only ones.
    WriterReaders {
        /// Number of reading connections, at least 1.
        readers: u32,
    },
    /// Connections as in [`Sharing::WriterReaders`]; the writer commits all pending transactions in one transaction.
    GroupCommit {
        /// Number of reading connections, at least 1.
        readers: u32,
    },
}

/// A database that the workers of a trial use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Database {
    /// A prepared file that only this trial uses.
    File {
        /// Path under which the runner opens the file.
        path: String,
    },
    /// An in-memory database, created by running `setup` on the first connection.
    Memory {
        /// Whether all connections share one database (`cache=shared`). If false, the database is private to its only
        /// connection.
        shared: bool,
        /// Name of the database, unique in the process.
        name: String,
        /// Statements that create the schema and the data.
        setup: Vec<String>,
        /// Statements to run on the first connection after all workers have ended (`VACUUM INTO`, so that the core can
        /// check the content).
        teardown: Vec<String>,
    },
    /// A prepared schema of a database server that only this trial uses. The trial touches nothing else of the server.
    Server {
        /// Address of the server: `postgres://user:password@host:port/database`, `mysql://user:password@host:port`. The
        /// address of a cluster lists several `host:port`, separated by commas: worker `k` starts at host `k` modulo
        /// their number, and tries the next host if a connection is refused or lost.
        url: String,
        /// Schema of every connection: the `search_path` of PostgreSQL, the database of MySQL.
        schema: String,
    },
}

/// Settings and options of each connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Connection {
    /// Settings to apply in this order on every connection, before any other statement.
    pub settings: Vec<Setting>,
    /// Settings to read back on every connection after its first read transaction, and to report in `ready`. A
    /// compile-time default such as `SQLITE_DEFAULT_WAL_SYNCHRONOUS` is visible only then. A server's settings are read
    /// by `SHOW name` or `SELECT @@name`.
    pub read_back: Vec<String>,
    /// Options of the driver, in its own terms (DSN keys, constructor arguments).
    pub options: BTreeMap<String, serde_json::Value>,
}

/// A setting of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Name of the setting in lower case.
    pub name: String,
    /// The statement that applies the setting: `PRAGMA name = value`, on a server `SET SESSION name = value`.
    pub sql: String,
}

/// Frequency of a statement's compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Prepare {
    /// One compilation per connection.
    Once,
    /// One compilation per execution.
    Each,
}

/// Retry policy: after an error named in `on`, the transaction is rolled back and run again from its start with the
/// same values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// Number of tries including the first; 1 means no retry.
    pub attempts: u32,
    /// Pause before the second try in microseconds.
    pub backoff_us: u64,
    /// Factor from one pause to the next.
    pub multiplier: f64,
    /// Longest pause in microseconds.
    pub max_backoff_us: u64,
    /// Names of the errors to retry. A SQLite primary code covers its extended codes; a server's names are those of
    /// [`crate::codes`] in its dialect.
    pub on: Vec<String>,
}

/// A group of workers with its transactions, load and duration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// Name of the role, unique in the trial.
    pub name: String,
    /// Number of workers per database in this process.
    pub workers: u32,
    /// Index of this process's first worker of the role among the workers of all roles and processes on one database.
    pub first_worker: u32,
    /// Index of this process's first worker of the role among the role's workers in all processes.
    pub first_in_role: u32,
    /// Number of workers of this role in all processes.
    pub workers_in_role: u32,
    /// Choice of a worker's next step.
    pub order: Order,
    /// Transactions of the role, run in order or drawn by weight.
    pub steps: Vec<Step>,
    /// Start times of the transactions: closed or open loop.
    pub load: Load,
    /// Condition that ends the role.
    pub until: Until,
}

/// Choice of a worker's next transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Steps in order, repeated. After a transaction that ends `empty` the worker starts again from the first step.
    Cycle,
    /// A random step each time, drawn by weight.
    Weighted,
}

/// A transaction in the steps of a role.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Index into [`Trial::transactions`].
    pub transaction: u32,
    /// Weight under [`Order::Weighted`].
    pub weight: u32,
    /// Operations per repetition of the step. The n-th time (from 0) that worker `k` of the role runs the step, it is
    /// operation `n * stride + offset + k`.
    pub stride: u32,
    /// Number of the step's first operation; see `stride`.
    pub offset: u32,
}

/// Start time of a worker's next transaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Load {
    /// Closed loop: after the end of the previous transaction and a pause.
    Closed {
        /// Pause after each transaction in microseconds.
        think_us: u64,
    },
    /// Open loop: on a schedule that the role's workers share. A late start is made late, never skipped.
    Open {
        /// Transactions per second of this role in this process.
        rate: f64,
        /// Distribution of the gaps between arrivals.
        arrivals: Arrivals,
    },
}

/// Distribution of the gaps between scheduled arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Equal gaps of `1 / rate`.
    Constant,
    /// Exponentially distributed gaps with mean `1 / rate`.
    Poisson,
}

/// Condition that ends a role.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Until {
    /// The role ends after this number of transactions per database, counted over all processes. Worker `k` of `W` runs
    /// the transactions `k`, `k+W`, `k+2W`, …
    Count {
        /// Number of transactions.
        transactions: u64,
    },
    /// The role ends this time after `go`, warm-up included. A transaction still in progress is followed to its end,
    /// for at most [`Trial::drain_ms`].
    Time {
        /// Time from `go` in milliseconds, warm-up included.
        ms: u64,
    },
    /// The role ends after every worker of another role in this process has ended.
    Role {
        /// Name of the other role.
        name: String,
    },
}

impl Executor {
    /// All executors in the order of the documentation.
    pub const ALL: [Self; 5] = [Self::Threads, Self::Processes, Self::Inline, Self::Offload, Self::Dedicated];

    /// The name used in files and on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Processes => "processes",
            Self::Inline => "inline",
            Self::Offload => "offload",
            Self::Dedicated => "dedicated",
        }
    }
}

impl fmt::Display for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Executor {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|e| e.name() == text)
            .ok_or_else(|| format!("executor `{text}` is none of threads, processes, inline, offload, dedicated"))
    }
}

impl Sharing {
    /// The name without its number, as a runner's `describe` lists it.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::OwnConnection => "own-connection",
            Self::OneConnection => "one-connection",
            Self::Pool { .. } => "pool",
            Self::AppLock => "app-lock",
            Self::WriterReaders { .. } => "writer-readers",
            Self::GroupCommit { .. } => "group-commit",
        }
    }
}

impl fmt::Display for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pool { connections: n } => write!(f, "pool({n})"),
            Self::WriterReaders { readers: n } => write!(f, "writer-readers({n})"),
            Self::GroupCommit { readers: n } => write!(f, "group-commit({n})"),
            other => f.write_str(other.kind()),
        }
    }
}

/// Limit of the connections of a pool or of separate readers: each has its own page cache and file handles.
const MAX_CONNECTIONS: u32 = 1024;

impl FromStr for Sharing {
    type Err = String;
    /// Accepts `own-connection`, `one-connection`, `app-lock`, `pool(4)`, `writer-readers` (one reading connection) or
    /// `writer-readers(4)`, and `group-commit` in the forms of `writer-readers`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, number) = match text.split_once('(') {
            None => (text.trim(), None),
            Some((kind, rest)) => {
                let inner = rest.strip_suffix(')').ok_or_else(|| format!("sharing `{text}`: `)` is missing"))?;
                let n: u32 = inner.trim().parse().map_err(|_| format!("sharing `{text}`: `{inner}` is no number"))?;
                if !(1..=MAX_CONNECTIONS).contains(&n) {
                    return Err(format!("sharing `{text}`: allowed is 1 to {MAX_CONNECTIONS} connections"));
                }
                (kind.trim(), Some(n))
            }
        };
        match (kind, number) {
            ("own-connection", None) => Ok(Self::OwnConnection),
            ("one-connection", None) => Ok(Self::OneConnection),
            ("app-lock", None) => Ok(Self::AppLock),
            ("pool", Some(connections)) => Ok(Self::Pool { connections }),
            ("pool", None) => Err("sharing `pool` needs its size, as in `pool(4)`".into()),
            ("writer-readers", n) => Ok(Self::WriterReaders { readers: n.unwrap_or(1) }),
            ("group-commit", n) => Ok(Self::GroupCommit { readers: n.unwrap_or(1) }),
            ("own-connection" | "one-connection" | "app-lock", Some(_)) => {
                Err(format!("sharing `{kind}` takes no number: write `{kind}`"))
            }
            _ => Err(format!(
                "sharing `{text}` is none of own-connection, one-connection, pool(n), app-lock, writer-readers(n), group-commit(n)"
            )),
        }
    }
}
