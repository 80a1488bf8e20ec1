//! Loads the rows of a workload's `[data]`: another thread draws values ahead, this one inserts them.
//!
//! A statement of many rows keeps its cursors where the last row ended, whereas statements of one row descend all
//! b-trees for every row. On the table of `sqlite3perf` they take some 30 % longer in total. A second drawing thread
//! brings no gain.

mod multi_row;
mod values;

use std::ops::{ControlFlow, Range};
use std::thread;
use std::time::Duration;

use litelab_database::{Guard, SqlError, describe};
use litelab_model::text::capped;
use litelab_protocol::draw::{Drawer, Value};
use litelab_protocol::{Statement, Transaction};
use rusqlite::ErrorCode;

use multi_row::of_rows;
use values::{Chunk, Source, Values};

/// Rows to insert.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Transaction that is executed once for each row.
    pub transaction: &'a Transaction,
    /// Number of rows; they are numbered from 0.
    pub count: u64,
    /// Number of rows between BEGIN and COMMIT, at least 1.
    pub batch: u64,
    /// Seed of the values.
    pub seed: u64,
}

/// Reason for which rows were not inserted. Those of earlier batches are committed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum LoadError {
    #[error("data: transaction `{transaction}` cannot insert row {row}: {reason}{values}")]
    Row {
        transaction: String,
        /// Number of the row, from 0.
        row: u64,
        reason: String,
        /// Bound values, in parentheses.
        values: String,
    },
    #[error("data: transaction `{transaction}`: {error}")]
    Sql { transaction: String, error: SqlError },
    /// The caller cancelled the work.
    #[error("cancelled")]
    Cancelled,
}

/// Inserts rows. `limit` is the deadline of a batch. `seen` receives the number of rows committed so far, a few times
/// in each batch, and may end the work. A statement that is one plain `INSERT … VALUES (…)` is combined into statements
/// of many rows: the rows, their order and their rowids are the same.
///
/// # Errors
/// See [`LoadError`].
pub fn load(
    guard: &Guard,
    rows: &Rows<'_>,
    limit: Duration,
    seen: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<(), LoadError> {
    if rows.count == 0 {
        return Ok(());
    }
    let drawer = Drawer::new(rows.seed, &rows.transaction.name, &rows.transaction.params, 0);
    let source = Source { statements: &rows.transaction.statements, drawer: &drawer };
    let (chunk, batch) = (source.rows_of_a_chunk(), rows.batch.min(rows.count));
    // A batch is divided evenly.
    let at_once = batch / batch.div_ceil(chunk);
    thread::scope(|scope| {
        // The values are moved in: if this thread ends early, the channel closes and the producer ends as well.
        let values = source.produced(scope, rows.count, chunk);
        insert(guard, rows, source, at_once, values, limit, seen)
    })
}

fn insert(
    guard: &Guard,
    rows: &Rows<'_>,
    source: Source<'_>,
    at_once: u64,
    mut values: Values<'_>,
    limit: Duration,
    seen: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<(), LoadError> {
    let transaction = rows.transaction;
    let failed = |sql: &str, error: &rusqlite::Error| LoadError::Sql {
        transaction: transaction.name.clone(),
        error: guard.explain(sql, error),
    };
    let run = |sql: &str| guard.execute_batch(sql).map_err(|error| failed(sql, &error));
    let prepare =
        |sql: &str| guard.prepare(sql).map_err(|error| LoadError::Sql { transaction: transaction.name.clone(), error });
    let mut single = transaction.statements.iter().map(|s| prepare(&s.sql)).collect::<Result<Vec<_>, _>>()?;
    let many = match transaction.statements.as_slice() {
        [only] if at_once > 1 => of_rows(only, at_once as usize),
        _ => None,
    };
    let mut many = many.map(|sql| prepare(&sql).map(|statement| (statement, sql))).transpose()?;
    let mut one_by_one = |rows: Range<u64>, values: &mut Values<'_>| -> Result<(), LoadError> {
        for row in rows {
            for (statement, spec) in single.iter_mut().zip(&transaction.statements) {
                let mut executions = 0..spec.repeat;
                executions.try_for_each(|_| values.execute(statement)).map_err(|error| {
                    match is_of_the_data(&error) {
                        true => refused(transaction, spec, source.drawer, row, &error),
                        false => failed(&spec.sql, &error),
                    }
                })?;
            }
        }
        Ok(())
    };
    let mut report = |committed| match seen(committed) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(LoadError::Cancelled),
    };
    let mut committed = 0;
    while committed < rows.count {
        guard.within(limit);
        run("BEGIN")?;
        let end = (committed + rows.batch).min(rows.count);
        for first in (committed..end).step_by(at_once as usize) {
            let some = first..(first + at_once).min(end);
            match &mut many {
                Some((statement, sql)) if some.end - some.start == at_once => {
                    values.execute(statement).or_else(|error| {
                        // SQLite does not report which row failed: the batch is repeated row by row, if it can be
                        // rolled back.
                        if is_of_the_data(&error) && has_journal(guard) {
                            if !guard.is_autocommit() {
                                run("ROLLBACK")?;
                            }
                            run("BEGIN")?;
                            for first in (committed..some.end).step_by(at_once as usize) {
                                let again = first..(first + at_once).min(some.end);
                                one_by_one(again.clone(), &mut Values::of(source.draw(again, Chunk::default())))?;
                            }
                        }
                        Err(failed(sql, &error))
                    })?;
                }
                _ => one_by_one(some, &mut values)?,
            }
            report(committed)?;
        }
        run("COMMIT")?;
        committed = end;
        report(committed)?;
    }
    Ok(())
}

/// Whether the values are the cause of an error, and not the disk or the machine.
fn is_of_the_data(error: &rusqlite::Error) -> bool {
    use ErrorCode::{ConstraintViolation, TooBig, TypeMismatch, Unknown};
    matches!(error.sqlite_error_code(), Some(ConstraintViolation | TooBig | TypeMismatch | Unknown))
}

/// Whether a transaction can be rolled back.
fn has_journal(guard: &Guard) -> bool {
    guard.query_row("PRAGMA journal_mode", [], |row| row.get::<_, String>(0)).is_ok_and(|mode| mode != "off")
}

/// A row with the values of the first execution of the statement that refuses it: ` (:id = 7, :name = user7)`.
fn refused(
    transaction: &Transaction,
    spec: &Statement,
    drawer: &Drawer,
    row: u64,
    error: &rusqlite::Error,
) -> LoadError {
    let first = row * u64::from(spec.repeat) * u64::from(spec.tuples);
    let one = |param: &u32| {
        let value = match drawer.draw(*param as usize, first) {
            Value::Null => "NULL".to_owned(),
            Value::Integer(i) => i.to_string(),
            Value::Real(r) => r.to_string(),
            Value::Text(t) => capped(&t).into_owned(),
        };
        format!(":{} = {value}", transaction.params.get(*param as usize).map_or("?", |p| &p.name))
    };
    let values = match spec.bind.as_slice() {
        [] => String::new(),
        bind => format!(" ({})", bind.iter().map(one).collect::<Vec<_>>().join(", ")),
    };
    LoadError::Row { transaction: transaction.name.clone(), row, reason: describe(error), values }
}
