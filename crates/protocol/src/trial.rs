//! One resolved trial, as handed to a runner: no default, no inheritance, no expression.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::transaction::Transaction;

/// Everything a runner needs to run one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// [`crate::VERSION`] of the core that wrote this.
    pub protocol: u32,
    /// Names the trial in messages; no meaning to the runner.
    pub id: String,
    /// One of the names the runner's `describe` gave.
    pub driver: String,
    /// Where calls run relative to the host program.
    pub executor: Executor,
    /// How workers share connections.
    pub access: Access,
    /// At least one. Every database has all roles with all their workers.
    pub databases: Vec<Database>,
    /// How each connection is opened and set.
    pub connection: Connection,
    /// Whether a statement is compiled once per connection or again at each execution.
    pub prepare: Prepare,
    /// What a worker does after an error that a retry may cure.
    pub retry: Retry,
    /// Seed of every generated value; below 2^53.
    pub seed: u64,
    /// The transactions that roles refer to by index.
    pub transactions: Vec<Transaction>,
    /// Who runs which transactions.
    pub roles: Vec<Role>,
    /// Milliseconds from `go` during which transactions run and count, but are not measured.
    pub warmup_ms: u64,
    /// Milliseconds after the end of a role, other than one of a number of transactions, for which those under way are waited
    /// for; what is under way then is reported as [`crate::Unfinished`].
    pub drain_ms: u64,
    /// Interval of `tick` lines in milliseconds.
    pub tick_ms: u64,
    /// Interval of the host probe in milliseconds; 0 turns it off.
    pub probe_ms: u64,
    /// Threads of the async runtime or blocking pool, where the executor has one.
    pub runtime_threads: Option<u32>,
}

/// Where a call runs relative to the host program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Executor {
    /// One operating-system thread per worker.
    Threads,
    /// One process per worker: the core starts them, so a runner sees one worker and need not know.
    Processes,
    /// On the async thread itself.
    Inline,
    /// In the runtime's blocking pool (spawn_blocking, libuv, to_thread).
    Offload,
    /// In a thread that owns the connection: one for each, and so one for each database where it is shared.
    Dedicated,
}

/// How workers share connections to one database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Access {
    /// Each worker has its own.
    PerWorker,
    /// One connection, one transaction at a time.
    Shared,
    /// `connections` connections; a worker takes one for the length of a transaction.
    Pool {
        /// Size of the pool, at least 1.
        connections: u32,
    },
    /// A connection per worker, and one lock in the process that a transaction which writes must hold.
    WriteLock,
    /// One connection for transactions that write, `readers` for those that only read.
    Split {
        /// Number of reading connections, at least 1.
        readers: u32,
    },
    /// [`Access::Split`], and the writer commits what is pending at once.
    GroupCommit {
        /// Number of reading connections, at least 1.
        readers: u32,
    },
}

/// A database of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Database {
    /// A prepared file, this trial's own.
    File {
        /// Path as the runner should open it.
        path: String,
    },
    /// A database in memory, made by running `setup` on the first connection.
    Memory {
        /// True: one database for all connections (`cache=shared`); false: private to its one connection.
        shared: bool,
        /// A name no other database of the process has.
        name: String,
        /// Statements that make schema and data.
        setup: Vec<String>,
        /// Statements run on the first connection when all workers are done (`VACUUM INTO`, so that the core can
        /// check the content).
        teardown: Vec<String>,
    },
    /// A schema of a database server, prepared, this trial's own; nothing else of the server is touched.
    Server {
        /// `postgres://user:password@host:port/database`, `mysql://user:password@host:port`. Of a cluster, several
        /// `host:port` with commas between: worker `k` starts at host `k` modulo their number, and goes on to the next
        /// one where a connection is refused or lost.
        url: String,
        /// What every connection works in: a schema of PostgreSQL (its `search_path`), a database of MySQL.
        schema: String,
    },
}

/// How each connection is opened.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Connection {
    /// Run in this order on every connection, before anything else.
    pub settings: Vec<Setting>,
    /// Settings whose value is read back on every connection, after its first read transaction, and reported in
    /// `ready` (a compile-time default such as `SQLITE_DEFAULT_WAL_SYNCHRONOUS` shows only then). Of a server, what
    /// `SHOW name` or `SELECT @@name` says.
    pub read_back: Vec<String>,
    /// The driver's own options, as an application would give them (DSN keys, constructor arguments).
    pub options: BTreeMap<String, serde_json::Value>,
}

/// A setting of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Name, lower case.
    pub name: String,
    /// The statement that sets it: `PRAGMA name = value`, of a server `SET SESSION name = value`.
    pub sql: String,
}

/// When a statement is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Prepare {
    /// Once per connection.
    Once,
    /// Again at each execution.
    Each,
}

/// What a worker does after an error named in `on`: the transaction is rolled back and tried again from its start
/// with the same values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// Tries in all; 1 means no retry.
    pub attempts: u32,
    /// Pause before the second try in microseconds.
    pub backoff_us: u64,
    /// Factor from one pause to the next.
    pub multiplier: f64,
    /// Longest pause in microseconds.
    pub max_backoff_us: u64,
    /// SQLite result code names; a primary code stands for its extended codes, too. Of a server, names of
    /// [`crate::codes`] in its dialect.
    pub on: Vec<String>,
}

/// Who runs which transactions, for how long and how fast.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// Unique in the trial.
    pub name: String,
    /// Workers per database in this process.
    pub workers: u32,
    /// Index of the first of them among all workers of all roles (and processes) of one database.
    pub first_worker: u32,
    /// Index of the first of them among this role's workers (over all processes).
    pub first_in_role: u32,
    /// This role's workers over all processes.
    pub workers_in_role: u32,
    /// How the next step is chosen.
    pub order: Order,
    /// What a worker does, in order or by weight.
    pub steps: Vec<Step>,
    /// Closed loop or arrivals.
    pub load: Load,
    /// When the role ends.
    pub until: Until,
}

/// How a worker chooses its next transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// One after the other; a step that ends `empty` starts again from the first.
    Cycle,
    /// Each time by weight.
    Weighted,
}

/// A transaction as one role runs it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Index into [`Trial::transactions`].
    pub transaction: u32,
    /// Weight under [`Order::Weighted`].
    pub weight: u32,
    /// The n-th time that worker `k` of the role runs this transaction it is operation `n * stride + offset + k`.
    pub stride: u32,
    /// See `stride`.
    pub offset: u32,
}

/// When a worker starts its next transaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Load {
    /// As soon as the last one ended, plus a pause.
    Closed {
        /// Pause after each transaction in microseconds.
        think_us: u64,
    },
    /// On a schedule that the role's workers share. A start that comes late is made late, never skipped.
    Open {
        /// Transactions per second of this role in this process.
        rate: f64,
        /// Spacing of the schedule.
        arrivals: Arrivals,
    },
}

/// Spacing of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Equal gaps.
    Constant,
    /// Exponential gaps.
    Poisson,
}

/// When a role ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Until {
    /// After this many transactions of the role per database over all processes; worker `k` of `W` does number
    /// `k`, `k+W`, `k+2W`, …
    Count {
        /// Transactions.
        transactions: u64,
    },
    /// This long after `go`, warm-up included. A transaction under way is followed to its end, for [`Trial::drain_ms`] at the
    /// most.
    Time {
        /// Milliseconds.
        ms: u64,
    },
    /// When every worker of another role has ended.
    Role {
        /// That role's name.
        name: String,
    },
}

impl Executor {
    /// All of them, in the order documentation lists them.
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

impl Access {
    /// The name without its number, as in a runner's `describe`.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::PerWorker => "per-worker",
            Self::Shared => "shared",
            Self::Pool { .. } => "pool",
            Self::WriteLock => "write-lock",
            Self::Split { .. } => "split",
            Self::GroupCommit { .. } => "group-commit",
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pool { connections: n } => write!(f, "pool({n})"),
            Self::Split { readers: n } => write!(f, "split({n})"),
            Self::GroupCommit { readers: n } => write!(f, "group-commit({n})"),
            other => f.write_str(other.kind()),
        }
    }
}

/// The most connections of a pool or of split readers: each has a page cache and file handles of its own.
const MAX_CONNECTIONS: u32 = 1024;

impl FromStr for Access {
    type Err = String;
    /// `per-worker`, `shared`, `write-lock`, `pool(4)`, `split` (one reading connection) or `split(4)`,
    /// `group-commit` likewise.
    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, number) = match text.split_once('(') {
            None => (text.trim(), None),
            Some((kind, rest)) => {
                let inner = rest.strip_suffix(')').ok_or_else(|| format!("access `{text}`: `)` is missing"))?;
                let n: u32 = inner.trim().parse().map_err(|_| format!("access `{text}`: `{inner}` is no number"))?;
                if !(1..=MAX_CONNECTIONS).contains(&n) {
                    return Err(format!("access `{text}`: allowed is 1 to {MAX_CONNECTIONS} connections"));
                }
                (kind.trim(), Some(n))
            }
        };
        match (kind, number) {
            ("per-worker", None) => Ok(Self::PerWorker),
            ("shared", None) => Ok(Self::Shared),
            ("write-lock", None) => Ok(Self::WriteLock),
            ("pool", Some(connections)) => Ok(Self::Pool { connections }),
            ("pool", None) => Err("access `pool` needs its size, as in `pool(4)`".into()),
            ("split", n) => Ok(Self::Split { readers: n.unwrap_or(1) }),
            ("group-commit", n) => Ok(Self::GroupCommit { readers: n.unwrap_or(1) }),
            ("per-worker" | "shared" | "write-lock", Some(_)) => {
                Err(format!("access `{kind}` takes no number: write `{kind}`"))
            }
            _ => Err(format!(
                "access `{text}` is none of per-worker, shared, pool(n), write-lock, split(n), group-commit(n)"
            )),
        }
    }
}
