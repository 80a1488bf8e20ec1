//! Workloads: a schema, data, named transactions and invariants. Files in `workloads/`.

use std::fmt;

use indexmap::IndexMap;
use litelab_protocol::{Begin, Fetch};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::by_dialect::{ByDialect, Keys};
use crate::one_or_many::OneOrMany;
use crate::parameter::Generator;
use crate::quantity::{Quantity, Vars};

/// A workload file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Name of the workload, equal to the name of its file.
    pub name: String,
    /// Description of the workload in one or two sentences.
    #[serde(default)]
    pub about: String,
    /// Variables, numbers or text, which a study can vary. `$name` in a number or in SQL is replaced by the value.
    #[serde(default)]
    pub vars: Vars,
    /// Schema of the database: tables and indexes.
    #[serde(default)]
    pub schema: SchemaSpec,
    /// Rows present before the trial starts.
    pub data: Option<DataSpec>,
    /// Transactions by name.
    #[serde(default, rename = "transaction")]
    pub transactions: IndexMap<String, TransactionSpec>,
    /// Conditions on the database after every trial.
    #[serde(default, rename = "invariant")]
    pub invariants: Vec<Invariant>,
    /// Tables whose content is hashed after every trial, for comparison between runners.
    #[serde(default)]
    pub content: Vec<String>,
}

/// Schema of the database: tables and indexes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SchemaSpec {
    /// SQL statements that create the schema, or a table of them by dialect.
    #[serde(default)]
    pub sql: ByDialect<String>,
    /// Alternative schemas by name; the dimension `schema` selects one.
    #[serde(default)]
    pub alternative: IndexMap<String, ByDialect<String>>,
}

/// Rows present before the trial starts. The core creates them once per run; every trial gets its own copy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DataSpec {
    /// Name of the transaction of this workload that inserts the rows.
    pub transaction: Option<String>,
    /// Number of rows. The transaction runs once for each of the rows 0, 1, 2, …
    pub rows: Option<Quantity>,
    /// Path of a database to start from, which is only read: `schema`, the rows and `then` are applied to a copy.
    pub from: Option<String>,
    /// SQL to run once after the rows are inserted (`ANALYZE`).
    pub then: Option<ByDialect<String>>,
}

/// A named transaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TransactionSpec {
    /// Begin mode: `none` (autocommit), `deferred`, `immediate`, `exclusive`. Default: `none` for one statement
    /// executed once, otherwise `immediate`.
    pub begin: Option<Begin>,
    /// One statement or a list of statements, or a table of them by dialect.
    pub sql: ByDialect<OneOrMany<SqlOrTable>>,
    /// Number of tuples in the `VALUES` list of the only statement.
    pub rows: Option<Quantity>,
    /// Number of executions of the only statement, each with new values.
    pub repeat: Option<Quantity>,
    /// Rows to fetch from the result of the only statement.
    pub fetch: Option<Fetch>,
    /// Columns to verify in each fetched row of the only statement.
    pub verify: Option<Verify>,
    /// Names for the result columns of the only statement, for later transactions.
    pub yields: Option<Vec<String>>,
    /// Pause after the begin; locks are kept.
    pub hold: Option<Quantity>,
    /// Parameters by name.
    #[serde(default, rename = "param")]
    pub params: IndexMap<String, Generator>,
}

/// One statement of a transaction. A file gives it as SQL text or as a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "StatementTable"))]
#[serde(deny_unknown_fields)]
pub struct StatementSpec {
    /// SQL text with parameters `:name`, or a table of it by dialect.
    pub sql: ByDialect<String>,
    /// Number of tuples in the `VALUES` list.
    pub rows: Option<Quantity>,
    /// Number of executions, each with new values.
    pub repeat: Option<Quantity>,
    /// Rows to fetch from the result; default: `first` if the statement yields, `all` if it selects, else `none`.
    pub fetch: Option<Fetch>,
    /// Columns to verify in each fetched row; default: every column is read.
    pub verify: Option<Verify>,
    /// Names for the result columns, for later statements and transactions.
    #[serde(default)]
    pub yields: Vec<String>,
    /// Whether a result without a row ends the transaction as `empty`; default: true if the statement yields.
    pub required: Option<bool>,
    /// Pause after the statement; locks are kept.
    pub hold: Option<Quantity>,
}

/// A [`StatementSpec`] that a file can give as SQL text alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct SqlOrTable(pub StatementSpec);

impl Keys for OneOrMany<SqlOrTable> {
    const KEYS: &'static [&'static str] = &["sql", "rows", "repeat", "fetch", "verify", "yields", "required", "hold"];
}

impl<'de> Deserialize<'de> for SqlOrTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = SqlOrTable;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text or a table")
            }
            fn visit_str<E: de::Error>(self, sql: &str) -> Result<SqlOrTable, E> {
                Ok(SqlOrTable(StatementSpec { sql: sql.to_owned().into(), ..StatementSpec::default() }))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<SqlOrTable, A::Error> {
                StatementSpec::deserialize(de::value::MapAccessDeserializer::new(map)).map(SqlOrTable)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for SqlOrTable {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Statement".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let table = generator.subschema_for::<StatementSpec>();
        schemars::json_schema!({ "anyOf": [{ "type": "string", "description": "SQL" }, table] })
    }
}

/// Two columns: a row is wrong if `hash` is not the SHA-256 of `value`, both in hex. A wrong row fails the trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Verify {
    /// Name of the column with the content.
    pub value: String,
    /// Name of the column with the hash.
    pub hash: String,
}

/// A condition on the database after every trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Invariant {
    /// Description of the condition.
    #[serde(default)]
    pub about: String,
    /// A query whose result is one number, or a table of queries by dialect.
    pub sql: ByDialect<String>,
    /// Expected result: an expression over variables (`$rows`), `$data_rows`, and counts of the trial:
    /// `committed.NAME`, `empty.NAME`, `failed.NAME`, `rows.NAME`, `verified.NAME` of transaction `NAME`.
    pub equals: Option<Quantity>,
    /// Lower bound of the result, included.
    pub at_least: Option<Quantity>,
    /// Upper bound of the result, included.
    pub at_most: Option<Quantity>,
    /// Transactions that must be part of the trial for the condition to be checked. Default: always checked.
    #[serde(default)]
    pub when: Vec<String>,
    /// Drivers under which the condition is checked; default: all.
    #[serde(default)]
    pub drivers: Vec<String>,
}
