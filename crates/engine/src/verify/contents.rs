//! Checks of a trial's databases after the runner has ended: invariants and content.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use litelab_database::{Guard, describe, quoted};
use litelab_model::{Variant, expression};
use litelab_protocol::content::ContentHash;
use litelab_protocol::{TransactionResult, TrialResult};
use rusqlite::Connection;
use rusqlite::types::ValueRef;

/// Time limit of each invariant query and of the hash of each table.
const LIMIT: Duration = Duration::from_secs(600);

/// Size in bytes above which a database is not checked for corruption: the check would take longer than the trial.
const INTEGRITY_BYTES: u64 = 256 << 20;

/// Whether a value satisfies a range of expected values.
type Keeps = fn(f64, &RangeInclusive<f64>) -> bool;

/// Access to a trial's databases by litelab's own connections, after the runner has ended.
pub trait Contents {
    /// Number of databases.
    fn databases(&self) -> usize;

    /// The single value of a query as a number; NaN if it is not a number.
    ///
    /// # Errors
    /// The error message of the database.
    fn number(&mut self, database: usize, sql: &str) -> Result<f64, String>;

    /// SHA-256 over the rows of a table, independent of the kind of database; see [`content_hash`].
    ///
    /// # Errors
    /// The error message of the database.
    fn content(&mut self, database: usize, table: &str) -> Result<String, String>;
}

/// Databases that are SQLite files.
pub struct Files {
    databases: Vec<Guard>,
    /// Time limit per operation: see [`LIMIT`].
    limit: Duration,
}

impl Files {
    /// Opens the files, and checks those that the trial wrote for corruption.
    ///
    /// # Errors
    /// The first file that cannot be opened or is corrupt.
    pub fn open(variant: &Variant, paths: &[PathBuf]) -> Result<Self, String> {
        let databases = paths.iter().map(|path| open(variant, path)).collect::<Result<_, _>>()?;
        Ok(Self { databases, limit: LIMIT })
    }

    /// The connection of a database, with a new time limit for the next operation.
    fn guard(&self, database: usize) -> &Guard {
        let guard = &self.databases[database];
        guard.within(self.limit);
        guard
    }
}

impl Contents for Files {
    fn databases(&self) -> usize {
        self.databases.len()
    }

    fn number(&mut self, database: usize, sql: &str) -> Result<f64, String> {
        let guard = self.guard(database);
        number(guard, sql).map_err(|e| guard.explain(sql, &e).to_string())
    }

    fn content(&mut self, database: usize, table: &str) -> Result<String, String> {
        let guard = self.guard(database);
        content_hash(guard, table).map_err(|e| guard.explain("", &e).to_string())
    }
}

/// Checks a trial's databases after the runner has ended: invariants and content.
///
/// With several databases the values of an invariant are added. Its expression is assumed to be affine in the counts,
/// so that the expected sum is the counts' part plus the constant part once per database.
///
/// # Errors
/// The first violation.
pub fn databases(
    variant: &Variant,
    contents: &mut dyn Contents,
    result: &TrialResult,
) -> Result<BTreeMap<String, String>, String> {
    let databases = contents.databases();
    for invariant in &variant.invariants {
        let fail = |e: String| format!("invariant `{}`: {e}", invariant.about);
        let found = found(contents, &invariant.sql).map_err(fail)?;
        let keeps: [(&Option<String>, &str, Keeps); 3] = [
            (&invariant.equals, "", |found, expected| expected.contains(&found)),
            (&invariant.at_least, "at least ", |found, expected| found >= *expected.start()),
            (&invariant.at_most, "at most ", |found, expected| found <= *expected.end()),
        ];
        for (text, how, keeps) in keeps {
            let Some(text) = text else { continue };
            let expected = expected(text, databases, result).map_err(fail)?;
            let Some(possible) = possible(text, expected, result).map_err(fail)? else { continue };
            if !keeps(found, &possible) {
                let unfinished = if possible.start() == possible.end() {
                    String::new()
                } else {
                    format!(", {} to {} with those whose end nobody saw", possible.start(), possible.end())
                };
                return Err(fail(format!("found {found}, expected {how}{expected} = {text}{unfinished}")));
            }
        }
    }
    let mut content = BTreeMap::new();
    for i in 0..databases {
        for table in &variant.content {
            let hash = contents.content(i, table).map_err(|e| format!("content of `{table}`: {e}"))?;
            let name = if databases == 1 { table.clone() } else { format!("{table}#{i}") };
            content.insert(name, hash);
        }
    }
    Ok(content)
}

/// Sum of a query's values over all databases.
pub(super) fn found(contents: &mut dyn Contents, sql: &str) -> Result<f64, String> {
    (0..contents.databases()).map(|database| contents.number(database, sql)).sum()
}

/// Expected sum of an expression over the counts for `databases` databases.
pub(super) fn expected(text: &str, databases: usize, result: &TrialResult) -> Result<f64, String> {
    let counted = expression::evaluate(text, &|name| count(result, name))?;
    // A ratio of counts has no constant part: each database has the same value.
    let constant = if databases > 1 { expression::evaluate(text, &|_| Ok(0.0)).unwrap_or(counted) } else { 0.0 };
    Ok(counted + constant * databases.saturating_sub(1) as f64)
}

/// Range of values that an expression may have besides the expected one: each transaction still in progress after the
/// drain may have committed since or found no row. `None` if the expression counts rows of such transactions, whose
/// number is unknown.
fn possible(text: &str, expected: f64, result: &TrialResult) -> Result<Option<RangeInclusive<f64>>, String> {
    let counted = |name: &str| count(result, name);
    let base = expression::evaluate(text, &counted)?;
    // Per transaction: the largest decrease and increase by its unfinished executions, each of which ends in one way.
    let mut ways: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for name in expression::names(text) {
        let (what, transaction) = name.split_once('.').unwrap_or((&name, ""));
        let unfinished = unfinished(result, transaction);
        match what {
            _ if unfinished == 0.0 => {}
            "committed" | "empty" | "failed" => {
                let with = |other: &str| Ok(counted(other)? + if other == name { unfinished } else { 0.0 });
                let more = expression::evaluate(text, &with)? - base;
                let (least, most) = ways.entry(transaction.to_owned()).or_default();
                (*least, *most) = (least.min(more), most.max(more));
            }
            _ => return Ok(None),
        }
    }
    let (low, high) = ways.values().fold((expected, expected), |(low, high), (less, more)| (low + less, high + more));
    Ok(Some(low..=high))
}

/// Number of executions of a transaction whose end was not observed.
fn unfinished(result: &TrialResult, transaction: &str) -> f64 {
    let of = result.operations.iter().filter(|o| o.transaction == transaction);
    of.map(|o| o.unfinished.len() as f64).sum()
}

/// The single value of a query as a number; NaN if it is not a number.
fn number(connection: &Connection, sql: &str) -> rusqlite::Result<f64> {
    connection.query_row(sql, [], |row| {
        Ok(match row.get_ref(0)? {
            ValueRef::Integer(i) => i as f64,
            ValueRef::Real(r) => r,
            _ => f64::NAN,
        })
    })
}

fn open(variant: &Variant, path: &Path) -> Result<Guard, String> {
    let opened = Connection::open(path).and_then(Guard::new);
    let guard = opened.map_err(|e| format!("the trial's database cannot be opened: {}", describe(&e)))?;
    let size = std::fs::metadata(path).map_or(0, |m| m.len());
    let writes = variant.trial.transactions.iter().any(|t| t.writes);
    if writes && size <= INTEGRITY_BYTES {
        let answer: String = guard
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(|e| format!("quick_check of the trial's database: {}", describe(&e)))?;
        if answer != "ok" {
            return Err(format!("the trial's database is corrupt after it: {answer}"));
        }
    }
    Ok(guard)
}

/// The value of a count named in an invariant: `committed.enqueue`.
fn count(result: &TrialResult, name: &str) -> Result<f64, String> {
    let (what, transaction) = name.split_once('.').unwrap_or((name, ""));
    let of: fn(&TransactionResult) -> u64 = match what {
        "committed" => |o| o.committed,
        "empty" => |o| o.empty,
        "failed" => |o| o.failed,
        "rows" => |o| o.rows,
        "verified" => |o| o.counter("verified"),
        _ => return Err(format!("unknown count `{name}`")),
    };
    Ok(result.operations.iter().filter(|o| o.transaction == transaction).map(of).sum::<u64>() as f64)
}

/// Hash of all rows, ordered by all columns.
///
/// # Errors
/// The error of SQLite.
pub fn content_hash(connection: &Connection, table: &str) -> rusqlite::Result<String> {
    let table = quoted(table);
    let columns = connection.prepare(&format!("SELECT * FROM {table}"))?.column_count();
    // By the bytes of texts, as on servers, whatever the collation of a column.
    let order: Vec<String> = (1..=columns).map(|c| format!("{c} COLLATE BINARY")).collect();
    let mut statement = connection.prepare(&format!("SELECT * FROM {table} ORDER BY {}", order.join(",")))?;
    let mut rows = statement.query([])?;
    let mut hash = ContentHash::new();
    while let Some(row) = rows.next()? {
        for column in 0..columns {
            match row.get_ref(column)? {
                ValueRef::Null => hash.null(),
                ValueRef::Integer(i) => hash.integer(i),
                ValueRef::Real(r) => hash.real(r),
                ValueRef::Text(t) => hash.text(t),
                ValueRef::Blob(b) => hash.blob(b),
            }
        }
    }
    Ok(hash.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_that_does_not_end_is_interrupted() {
        let guard = Connection::open_in_memory().and_then(Guard::new).expect("memory");
        let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
        guard.execute_batch(&format!("CREATE VIEW v AS {endless}")).expect("made");
        let mut files = Files { databases: vec![guard], limit: Duration::from_millis(50) };
        for error in [files.number(0, endless).expect_err("endless"), files.content(0, "v").expect_err("endless")] {
            assert!(error.contains("it was not over after 50ms"), "{error}");
        }
        assert_eq!(files.number(0, "SELECT 7"), Ok(7.0));
    }
}
