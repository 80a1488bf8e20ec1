//! Transactions: SQL, and where each parameter's value comes from.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// SQL statements run between one begin and one commit; the unit whose latency is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Transaction {
    /// Unique in the trial.
    pub name: String,
    /// What is sent before the first statement; [`Begin::None`] leaves each statement to autocommit.
    pub begin: Begin,
    /// Whether any statement writes (as SQLite's `sqlite3_stmt_readonly` sees it). `write-lock` and `split` go by it.
    pub writes: bool,
    /// Pause after `begin`, locks kept, in microseconds.
    pub hold_us: u64,
    /// Whether `query` and `first_row` of its first fetching statement are timed: two more readings of the clock, which
    /// a short read would notice.
    pub timed_rows: bool,
    /// Named sources of values; statements refer to them by index.
    pub params: Vec<Param>,
    /// In order.
    pub statements: Vec<Statement>,
}

/// How a transaction is opened. A server knows one kind, which all but [`Begin::None`] ask for: PostgreSQL's `BEGIN`,
/// MySQL's `START TRANSACTION`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Begin {
    /// Not at all: autocommit.
    None,
    /// `BEGIN DEFERRED`, SQLite's own default.
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
    /// SQL with parameters `?1`, `?2`, … (PostgreSQL `$1`, `$2`, …; MySQL `?`): `bind.len() * tuples` of them. On
    /// PostgreSQL one that begins with `COPY` and ends in `FROM STDIN` has none: the values are its rows.
    pub sql: String,
    /// Indices into [`Transaction::params`] in the order of the SQL parameters of one tuple.
    pub bind: Vec<u32>,
    /// Tuples of one `VALUES` list, or rows of one `COPY`; 1 for everything else.
    pub tuples: u32,
    /// How often the statement is executed in one transaction, with fresh values each time.
    pub repeat: u32,
    /// How many of its rows are fetched.
    pub fetch: Fetch,
    /// What the client does with each row.
    pub work: Work,
    /// Names given to the columns of its first row: later statements of the transaction, and the role's next
    /// transactions, bind them.
    pub yields: Vec<String>,
    /// Without a row the transaction ends here: it is committed and counted as `empty`.
    pub required: bool,
    /// Pause after the statement, locks kept, in microseconds.
    pub hold_us: u64,
}

/// How many rows of a statement are fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Fetch {
    /// It is stepped to its end; rows, if any, are counted and dropped.
    #[default]
    None,
    /// The first; the rest is not stepped.
    First,
    /// All, one after the other, as the driver yields them.
    All,
    /// All are collected in memory first, and worked on after that (`fetchall`).
    Buffer,
}

/// What the client does with a fetched row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Work {
    /// Nothing: columns are not read.
    #[default]
    None,
    /// Every column is read as a value of the language.
    Read,
    /// Every column is read; `value` is decoded from hex, hashed with SHA-256 and compared with `hash` (hex). A
    /// difference is counted as a mismatch.
    Sha256Verify {
        /// Column that holds hex digits.
        value: String,
        /// Column that holds the hex hash.
        hash: String,
    },
}

/// A named source of values. Its stream is `transaction.param`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Param {
    /// Unique in its transaction.
    pub name: String,
    /// Where the value of a row comes from.
    pub source: Source,
}

/// Where a value comes from; see [`crate::draw`] for the exact function of each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Source {
    /// Always the same: null, an integer, a real number or text.
    Value {
        /// That value.
        value: serde_json::Value,
    },
    /// One of several, equally likely.
    Choice {
        /// At least one.
        values: Vec<serde_json::Value>,
    },
    /// An integer, both ends included, equally likely.
    Uniform {
        /// Lowest.
        low: i64,
        /// Highest.
        high: i64,
    },
    /// An integer from a table of intervals (how a Zipf distribution arrives here, so that no runner needs a
    /// logarithm that another language rounds differently).
    Table(Table),
    /// `start + step * row`.
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
    /// Random characters out of `a`–`z`, `A`–`Z`, `0`–`9`, `_` and space.
    Text {
        /// Number of characters.
        chars: u32,
    },
    /// SHA-256 of another parameter's bytes as lower-case hex digits: of the bytes themselves where that one is
    /// [`Source::Hex`], of its UTF-8 text otherwise.
    Sha256Of {
        /// Index of that parameter, lower than this one's own.
        param: u32,
    },
    /// The wall clock.
    Now {
        /// Its form.
        unit: NowUnit,
    },
    /// The worker's index among all workers of its database.
    Worker,
    /// Text with `{row}` and `{worker}` replaced by their decimal digits.
    Format {
        /// The text.
        template: String,
    },
    /// A column that a former statement, or the role's former transaction, yielded; null before there was one.
    Yielded {
        /// Its name.
        name: String,
    },
}

/// Cumulative table: with `u` = the upper 53 bits of the row's word, the first `i` with `u < cut[i]` is taken, and
/// the value is `low[i] + floor(v * width[i])`, `v` being the row's second word as a fraction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Ascending, the last one 2^53.
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
    /// Seconds since 1970, an integer.
    S,
    /// Milliseconds since 1970, an integer.
    Ms,
    /// Microseconds since 1970, an integer.
    Us,
    /// `2026-01-31T12:34:56.789Z`.
    Iso,
}

impl Begin {
    /// The SQL text, or nothing for autocommit.
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
