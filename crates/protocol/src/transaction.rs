//! Transactions: SQL, and where each parameter's value comes from.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// SQL statements between one begin and one commit: the unit whose latency is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Transaction {
    /// Name of the transaction, unique in the trial.
    pub name: String,
    /// The statement that opens the transaction; [`Begin::None`] leaves each statement to autocommit.
    pub begin: Begin,
    /// Whether any statement writes, as `sqlite3_stmt_readonly` reports it. The kinds of sharing `app-lock`, `writer-readers` and
    /// `group-commit` depend on it.
    pub writes: bool,
    /// Pause after `begin` in microseconds; locks are kept.
    pub hold_us: u64,
    /// Whether `query` and `first_row` of the first fetching statement are measured. This takes two more clock
    /// readings, which is measurable in a short read.
    pub timed_rows: bool,
    /// Named sources of values, which statements refer to by index.
    pub params: Vec<Param>,
    /// Statements in order of execution.
    pub statements: Vec<Statement>,
}

/// Statement that opens a transaction. A server has one kind of transaction, which every value but [`Begin::None`]
/// opens: `BEGIN` on PostgreSQL, `START TRANSACTION` on MySQL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Begin {
    /// No begin: each statement commits by itself (autocommit).
    None,
    /// `BEGIN DEFERRED`, SQLite's default.
    #[default]
    Deferred,
    /// `BEGIN IMMEDIATE`.
    Immediate,
    /// `BEGIN EXCLUSIVE`.
    Exclusive,
}

/// One SQL statement of a transaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// SQL text with `bind.len() * tuples` parameters `?1`, `?2`, … (PostgreSQL `$1`, `$2`, …; MySQL `?`). A PostgreSQL
    /// statement that begins with `COPY` and ends with `FROM STDIN` has no parameters: the values are its rows.
    pub sql: String,
    /// Indices into [`Transaction::params`] for the SQL parameters of one tuple, in order.
    pub bind: Vec<u32>,
    /// Number of tuples of one `VALUES` list, or of rows of one `COPY`; 1 for every other statement.
    pub tuples: u32,
    /// Number of executions of the statement in one transaction, each with new values.
    pub repeat: u32,
    /// Rows of the result to fetch.
    pub fetch: Fetch,
    /// Work of the client on each fetched row.
    pub work: Work,
    /// Names for the columns of the first row. Later statements of the transaction and the role's next transactions can
    /// bind these values, unless the transaction is rolled back.
    pub yields: Vec<String>,
    /// Whether a result without a row ends the transaction, which is then committed and counted as `empty`.
    pub required: bool,
    /// Pause after the statement in microseconds; locks are kept.
    pub hold_us: u64,
}

/// Rows of a statement's result to fetch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Fetch {
    /// No row: the statement is stepped to its end, and rows are counted and dropped.
    #[default]
    None,
    /// The first row only; the statement is not stepped further.
    First,
    /// All rows, one at a time, as the driver yields them.
    All,
    /// All rows, collected in memory before any work on them (`fetchall`).
    Buffer,
}

/// Work of the client on a fetched row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Work {
    /// No work: columns are not read.
    #[default]
    None,
    /// Every column is read as a value of the runner's language.
    Read,
    /// Every column is read; `value` is decoded from hex, hashed with SHA-256 and compared with `hash` (hex). A
    /// difference counts as a mismatch.
    Verify {
        /// Name of the column with the hex digits of the content.
        value: String,
        /// Name of the column with the hex digits of the hash.
        hash: String,
    },
}

/// A named source of values. Its random stream is `transaction.param`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Param {
    /// Name of the parameter, unique in its transaction.
    pub name: String,
    /// Source of the value of each row.
    pub source: Source,
}

/// Source of a value; [`crate::draw`] defines the exact function of each kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Source {
    /// A constant: null, an integer, a real number or text.
    Value {
        /// The constant.
        value: serde_json::Value,
    },
    /// One of several values with equal probability.
    Choice {
        /// The values, at least one.
        values: Vec<serde_json::Value>,
    },
    /// An integer from `low` to `high`, both included, with equal probability.
    Uniform {
        /// Lowest value.
        low: i64,
        /// Highest value.
        high: i64,
    },
    /// An integer from a table of intervals. A Zipf distribution is sent in this form, so that no runner computes a
    /// logarithm, which languages round differently.
    Table(Table),
    /// The integer `start + step * row`.
    Sequence {
        /// Value of row 0.
        start: i64,
        /// Difference from one row to the next.
        step: i64,
    },
    /// Random bytes as lower-case hex digits.
    Hex {
        /// Number of bytes, half the number of digits.
        bytes: u32,
    },
    /// Random characters from `a`–`z`, `A`–`Z`, `0`–`9`, `_` and space.
    Text {
        /// Number of characters.
        chars: u32,
    },
    /// SHA-256 of another parameter's value as lower-case hex digits: the hash of the raw bytes of a [`Source::Hex`],
    /// of the UTF-8 text of any other source.
    Sha256Of {
        /// Index of the other parameter, lower than the index of this one.
        param: u32,
    },
    /// The current wall-clock time.
    Now {
        /// Form of the time.
        unit: NowUnit,
    },
    /// Index of the worker among all workers of its database.
    Worker,
    /// Text with `{row}` and `{worker}` replaced by their decimal digits.
    Format {
        /// The text with its placeholders.
        template: String,
    },
    /// A column that an earlier statement, or an earlier transaction of the role, yielded; null before the first one.
    Yielded {
        /// Name of the column in `yields`.
        name: String,
    },
}

/// Cumulative table of intervals.
///
/// With `u` = the upper 53 bits of the row's word, the first `i` with `u < cut[i]` is selected. The value is
/// `low[i] + floor(v * width[i])`, where `v` is the row's second word as a fraction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Upper bound of `u` for each interval, ascending; the last one is 2^53.
    pub cut: Vec<u64>,
    /// First integer of each interval.
    pub low: Vec<i64>,
    /// Number of integers in each interval.
    pub width: Vec<u64>,
}

/// Form of the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NowUnit {
    /// Seconds since 1970 as an integer.
    S,
    /// Milliseconds since 1970 as an integer.
    Ms,
    /// Microseconds since 1970 as an integer.
    Us,
    /// UTC as text: `2026-01-31T12:34:56.789Z`.
    Iso,
}

impl Transaction {
    /// Sum of its pauses in microseconds, if all its statements are executed.
    #[must_use]
    pub fn paused_us(&self) -> u64 {
        self.hold_us + self.statements.iter().map(|s| s.hold_us).sum::<u64>()
    }
}

impl Statement {
    /// A statement that is executed once and that fetches and yields nothing.
    #[must_use]
    pub fn new(sql: impl Into<String>, bind: &[u32]) -> Self {
        Self {
            sql: sql.into(),
            bind: bind.to_vec(),
            tuples: 1,
            repeat: 1,
            fetch: Fetch::None,
            work: Work::None,
            yields: Vec::new(),
            required: false,
            hold_us: 0,
        }
    }
}

impl Begin {
    /// The SQL text; `None` for autocommit.
    #[must_use]
    pub fn sql(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Deferred => Some("BEGIN DEFERRED"),
            Self::Immediate => Some("BEGIN IMMEDIATE"),
            Self::Exclusive => Some("BEGIN EXCLUSIVE"),
        }
    }

    /// The name used in files and on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Deferred => "deferred",
            Self::Immediate => "immediate",
            Self::Exclusive => "exclusive",
        }
    }
}
