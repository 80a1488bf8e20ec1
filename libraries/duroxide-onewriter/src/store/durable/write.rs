//! Writes row changes to the tables.
//!
//! Runs in the writer thread, which all callers wait for: statements are prepared once, and each row is found by its
//! key.

use rusqlite::{Connection, ToSql};

use crate::change::{Change, Row};
use crate::error::StoreError;

/// Writes all rows of a change.
///
/// # Errors
/// If SQLite rejects a row. The caller rolls back the others.
pub fn apply(connection: &Connection, change: &Change) -> Result<(), StoreError> {
    change.rows().iter().try_for_each(|row| write(connection, row))
}

const DROP_MESSAGE: &str = "DELETE FROM message WHERE id = ?1";

fn write(connection: &Connection, row: &Row) -> Result<(), StoreError> {
    let run = |sql: &str, values: &[&dyn ToSql]| -> Result<(), StoreError> {
        connection.prepare_cached(sql)?.execute(values)?;
        Ok(())
    };
    match row {
        Row::Message { id, visible, item } => {
            run("INSERT INTO message(id, visible, attempts, item) VALUES (?1, ?2, 0, ?3)", &[id, visible, item])
        }
        Row::MessageRetry { id, visible, attempts } => {
            run("UPDATE message SET visible = ?2, attempts = ?3 WHERE id = ?1", &[id, visible, attempts])
        }
        Row::MessageDone { id } => match connection.prepare_cached(DROP_MESSAGE)?.execute([id])? {
            0 => Err(StoreError { what: format!("message {id} is not there"), retryable: true }),
            _ => Ok(()),
        },
        Row::MessageGone { id } => run(DROP_MESSAGE, &[id]),
        Row::Work { id, visible, item } => {
            run("INSERT INTO work(id, visible, attempts, item) VALUES (?1, ?2, 0, ?3)", &[id, visible, item])
        }
        Row::WorkRetry { id, visible, attempts } => {
            run("UPDATE work SET visible = ?2, attempts = ?3 WHERE id = ?1", &[id, visible, attempts])
        }
        Row::WorkDone { id } => run("DELETE FROM work WHERE id = ?1", &[id]),
        Row::Instance { id, name, orchestration, version, parent, current, created } => run(
            "INSERT INTO instance(id, name, orchestration, version, parent, current, created)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT(id) DO UPDATE SET orchestration = ?3, version = ?4, parent = ?5, current = ?6",
            &[id, &&**name, orchestration, version, parent, &number(*current), created],
        ),
        Row::CustomStatus { instance, status, version } => run(
            "UPDATE instance SET custom_status = ?2, custom_version = ?3 WHERE id = ?1",
            &[instance, status, &number(*version)],
        ),
        Row::Execution { instance, execution, status, output, pinned, started, completed } => run(
            "INSERT INTO execution(instance, execution, status, output, pinned, started, completed)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            &[instance, &number(*execution), status, output, pinned, started, completed],
        ),
        Row::Pinned { instance, execution, version } => run(
            "UPDATE execution SET pinned = ?3 WHERE instance = ?1 AND execution = ?2",
            &[instance, &number(*execution), version],
        ),
        Row::Status { instance, execution, status, output, completed } => run(
            "UPDATE execution SET status = ?3, output = ?4, completed = ?5 WHERE instance = ?1 AND execution = ?2",
            &[instance, &number(*execution), status, output, completed],
        ),
        Row::Event { instance, execution, event, data } => run(
            "INSERT INTO history(instance, execution, event, data) VALUES (?1, ?2, ?3, ?4)",
            &[instance, &number(*execution), &number(*event), data],
        ),
        Row::Value { instance, key, value, updated } => run(
            "INSERT OR REPLACE INTO pending_value(instance, key, value, updated) VALUES (?1, ?2, ?3, ?4)",
            &[instance, key, value, updated],
        ),
        Row::ValuesCleared { instance, updated } => run(
            "INSERT OR REPLACE INTO pending_value(instance, key, value, updated)
             SELECT instance, key, NULL, ?2 FROM settled_value WHERE instance = ?1
             UNION SELECT instance, key, NULL, ?2 FROM pending_value WHERE instance = ?1",
            &[instance, updated],
        ),
        Row::ValuesMerged { instance } => {
            run(
                "INSERT OR REPLACE INTO settled_value(instance, key, value, updated)
                 SELECT instance, key, value, updated FROM pending_value WHERE instance = ?1 AND value IS NOT NULL",
                &[instance],
            )?;
            run(
                "DELETE FROM settled_value WHERE instance = ?1
                 AND key IN (SELECT key FROM pending_value WHERE instance = ?1 AND value IS NULL)",
                &[instance],
            )?;
            run("DELETE FROM pending_value WHERE instance = ?1", &[instance])
        }
        Row::InstanceGone { id } => {
            for table in ["history", "execution", "settled_value", "pending_value"] {
                run(&format!("DELETE FROM {table} WHERE instance = ?1"), &[id])?;
            }
            run("DELETE FROM instance WHERE id = ?1", &[id])
        }
        Row::ExecutionGone { instance, execution } => {
            for table in ["history", "execution"] {
                let sql = format!("DELETE FROM {table} WHERE instance = ?1 AND execution = ?2");
                run(&sql, &[instance, &number(*execution)])?;
            }
            Ok(())
        }
    }
}

/// Converts to SQLite's signed integers. Numbers count up from 1; one above 2⁶³ would still be read back unchanged
/// ([`super::read`]).
fn number(number: u64) -> i64 {
    number.cast_signed()
}
