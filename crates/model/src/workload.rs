//! Workloads: a schema, data, named transactions, invariants. Files in `workloads/`.

use indexmap::IndexMap;
use litelab_protocol::{Begin, Fetch, Work};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::by_dialect::{ByDialect, Keys};
use crate::one_or_many::{FromTable, OneOrMany, text_or_table};
use crate::parameter::Generator;
use crate::quantity::{Quantity, Vars};

/// A workload file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Name, as in its file's name.
    pub name: String,
    /// One or two sentences.
    #[serde(default)]
    pub about: String,
    /// Numbers and words that a study may vary; `$name` stands for them in numbers and SQL.
    #[serde(default)]
    pub vars: Vars,
    /// Tables and indexes.
    #[serde(default)]
    pub schema: SchemaSpec,
    /// Rows present before the trial starts.
    pub data: Option<DataSpec>,
    /// Named transactions.
    #[serde(default, rename = "transaction")]
    pub transactions: IndexMap<String, TransactionSpec>,
    /// What must hold of the database after every trial.
    #[serde(default, rename = "invariant")]
    pub invariants: Vec<Invariant>,
    /// Tables whose content is hashed after every trial, to be compared between languages.
    #[serde(default)]
    pub content: Vec<String>,
}

/// Tables and indexes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SchemaSpec {
    /// SQL statements, or a table of them by dialect.
    #[serde(default)]
    pub sql: ByDialect<String>,
    /// Other schemas by name; dimension `schema` chooses one.
    #[serde(default)]
    pub variant: IndexMap<String, ByDialect<String>>,
}

/// Rows present before the trial starts. The core makes them once per run; every trial gets its own copy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DataSpec {
    /// A transaction of this workload whose statements insert the rows.
    pub transaction: Option<String>,
    /// How many rows: the transaction is run for rows 0, 1, 2, … one at a time.
    pub rows: Option<Quantity>,
    /// Start from a copy of this database in place of `schema`; it is only ever read.
    pub from: Option<String>,
    /// SQL run once after the rows are there (`ANALYZE`).
    pub then: Option<ByDialect<String>>,
}

/// A named transaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TransactionSpec {
    /// How it begins: `none` (autocommit), `deferred`, `immediate`, `exclusive`. Unless told otherwise, `none` for one
    /// statement executed once, `immediate` for anything longer.
    pub begin: Option<Begin>,
    /// One statement or several, or a table of them by dialect.
    pub sql: ByDialect<OneOrMany<StatementSpec>>,
    /// Tuples of the `VALUES` list of its only statement.
    pub rows: Option<Quantity>,
    /// How often its only statement is executed.
    pub repeat: Option<Quantity>,
    /// How many rows of its only statement are fetched.
    pub fetch: Option<Fetch>,
    /// What is done with each row of its only statement.
    pub work: Option<WorkSpec>,
    /// Names of the columns its only statement yields.
    pub yields: Option<Vec<String>>,
    /// Pause after the begin, locks kept.
    pub hold: Option<Quantity>,
    /// Named parameters.
    #[serde(default, rename = "param")]
    pub params: IndexMap<String, Generator>,
}

/// One statement of a transaction: its SQL, or a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StatementSpec {
    /// SQL with parameters `:name`, or a table of it by dialect.
    pub sql: ByDialect<String>,
    /// Tuples of its `VALUES` list.
    pub rows: Option<Quantity>,
    /// How often it is executed, with new values each time.
    pub repeat: Option<Quantity>,
    /// How many rows are fetched; default: `first` where it yields, `all` where it selects, else `none`.
    pub fetch: Option<Fetch>,
    /// What is done with each fetched row; default: every column is read.
    pub work: Option<WorkSpec>,
    /// Names of its columns, for later statements and transactions.
    pub yields: Vec<String>,
    /// Without a row the transaction ends as `empty`; default: true where it yields.
    pub required: Option<bool>,
    /// Pause after it, locks kept.
    pub hold: Option<Quantity>,
}

/// The long form of a statement.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
struct StatementTable {
    sql: ByDialect<String>,
    rows: Option<Quantity>,
    repeat: Option<Quantity>,
    fetch: Option<Fetch>,
    work: Option<WorkSpec>,
    #[serde(default)]
    yields: Vec<String>,
    required: Option<bool>,
    hold: Option<Quantity>,
}

impl Keys for OneOrMany<StatementSpec> {
    const KEYS: &'static [&'static str] = &["sql", "rows", "repeat", "fetch", "work", "yields", "required", "hold"];
}

impl<'de> FromTable<'de> for StatementSpec {
    fn from_table<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let t = StatementTable::deserialize(deserializer)?;
        let StatementTable { sql, rows, repeat, fetch, work, yields, required, hold } = t;
        Ok(Self { sql, rows, repeat, fetch, work, yields, required, hold })
    }
}

impl<'de> Deserialize<'de> for StatementSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text_or_table(deserializer, |sql| Ok(Self { sql: sql.to_owned().into(), ..Self::default() }))
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for StatementSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Statement".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let table = generator.subschema_for::<StatementTable>();
        schemars::json_schema!({ "anyOf": [{ "type": "string", "description": "SQL" }, table] })
    }
}

/// Client-side work per row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WorkSpec {
    /// Columns are not read.
    None,
    /// Every column is read.
    Read,
    /// Column `rand` is decoded from hex, hashed and compared with column `hash`.
    Sha256Verify,
}

impl WorkSpec {
    /// What a runner is told.
    #[must_use]
    pub fn resolve(self) -> Work {
        match self {
            Self::None => Work::None,
            Self::Read => Work::Read,
            Self::Sha256Verify => Work::Sha256Verify { value: "rand".into(), hash: "hash".into() },
        }
    }
}

/// What must hold of the database after every trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Invariant {
    /// In words.
    #[serde(default)]
    pub about: String,
    /// A query with one number as its result, or a table of them by dialect.
    pub sql: ByDialect<String>,
    /// The number it must give: an expression over variables (`$rows`), `$data_rows`, and counts of the trial:
    /// `committed.NAME`, `empty.NAME`, `failed.NAME`, `verified.NAME`, `mismatches.NAME` of transaction `NAME`.
    pub equals: Option<Quantity>,
    /// It must be at least this.
    pub at_least: Option<Quantity>,
    /// It must be at most this.
    pub at_most: Option<Quantity>,
    /// Only checked where these transactions ran.
    #[serde(default)]
    pub when: Vec<String>,
    /// Only checked under these drivers.
    #[serde(default)]
    pub drivers: Vec<String>,
}
