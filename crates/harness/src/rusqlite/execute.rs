//! Executes a statement: binds parameters and fetches rows.

use std::ffi::CStr;

use crate::{Bound, Call, Drawn, Execution, Fault, Job};
use litelab_protocol::Fetch;
use rusqlite::types::{Null, Value};
use rusqlite::{Connection, Rows, Statement, ffi};

use super::fault::fault;
use super::row::{Borrowed, Owned};

/// Binds, steps and fetches. Returns the number of rows, 0 for a statement without columns.
#[inline(always)]
pub fn run(
    connection: &Connection,
    statement: &mut Statement<'_>,
    columns: usize,
    job: &Job,
    call: &Call<'_>,
    execution: &mut Execution,
) -> Result<u64, Fault> {
    for (i, slot) in call.slots.iter().enumerate() {
        match *slot {
            // Separate from the other types, so that an integer needs no jump by a table, which is slow after a system
            // call.
            Drawn::Integer(value) => statement.raw_bind_parameter(i + 1, value),
            _ => bind(statement, i + 1, call.values.bound(slot, &execution.yielded)),
        }
        .map_err(fault)?;
    }
    if columns == 0 {
        statement.raw_execute().map_err(fault)?;
        return Ok(0);
    }
    match call.spec.fetch {
        Fetch::All => all(statement.raw_query(), columns, job, call, execution),
        Fetch::None => none(statement.raw_query(), call, execution),
        Fetch::First => first(connection, statement.raw_query(), columns, job, call, execution),
        Fetch::Buffer => buffer(statement.raw_query(), columns, job, call, execution),
    }
}

#[inline(never)]
fn bind(statement: &mut Statement<'_>, at: usize, value: Bound<'_>) -> rusqlite::Result<()> {
    match value {
        Bound::Null => statement.raw_bind_parameter(at, Null),
        Bound::Integer(value) => statement.raw_bind_parameter(at, value),
        Bound::Real(value) => statement.raw_bind_parameter(at, value),
        Bound::Text(value) => statement.raw_bind_parameter(at, value),
    }
}

/// Works on each row as it is fetched. Only this one of the four ways is inlined into the worker's loop: all four would
/// make the loop larger than the processor's first-level instruction cache.
#[inline(always)]
fn all(
    mut rows: Rows<'_>,
    columns: usize,
    job: &Job,
    call: &Call<'_>,
    execution: &mut Execution,
) -> Result<u64, Fault> {
    execution.note_query(call);
    let mut count = 0;
    while let Some(row) = rows.next().map_err(fault)? {
        job.run(columns, &Borrowed(row), execution)?;
        if count == 0 {
            execution.note_first_row(call);
            execution.remember(call, &Borrowed(row))?;
        }
        count += 1;
    }
    Ok(count)
}

/// Steps through all rows without reading them.
#[inline(never)]
fn none(mut rows: Rows<'_>, call: &Call<'_>, execution: &mut Execution) -> Result<u64, Fault> {
    let mut count = 0;
    while let Some(row) = rows.next().map_err(fault)? {
        if count == 0 {
            execution.remember(call, &Borrowed(row))?;
        }
        count += 1;
    }
    Ok(count)
}

/// Works on the first row and resets the statement.
#[inline(never)]
fn first(
    connection: &Connection,
    mut rows: Rows<'_>,
    columns: usize,
    job: &Job,
    call: &Call<'_>,
    execution: &mut Execution,
) -> Result<u64, Fault> {
    let mut count = 0;
    if let Some(row) = rows.next().map_err(fault)? {
        job.run(columns, &Borrowed(row), execution)?;
        execution.remember(call, &Borrowed(row))?;
        count = 1;
    }
    drop(rows);
    reset_error(connection)?;
    Ok(count)
}

/// Fetches all rows first, then works on each.
#[inline(never)]
fn buffer(rows: Rows<'_>, columns: usize, job: &Job, call: &Call<'_>, execution: &mut Execution) -> Result<u64, Fault> {
    let all = collect(rows, columns)?;
    execution.note_query(call);
    for (count, row) in all.iter().enumerate() {
        job.run(columns, &Owned(row), execution)?;
        if count == 0 {
            execution.note_first_row(call);
            execution.remember(call, &Owned(row))?;
        }
    }
    Ok(all.len() as u64)
}

/// All rows as owned values, as `fetchall` returns them.
fn collect(mut rows: Rows<'_>, columns: usize) -> Result<Vec<Vec<Value>>, Fault> {
    let mut all = Vec::new();
    while let Some(row) = rows.next().map_err(fault)? {
        all.push((0..columns).map(|i| row.get(i)).collect::<Result<Vec<Value>, _>>().map_err(fault)?);
    }
    Ok(all)
}

/// Under autocommit a statement that is reset after its first row commits during the reset, and that commit can fail
/// (`SQLITE_BUSY` under a rollback journal). rusqlite drops the result of the reset; the connection keeps it.
fn reset_error(connection: &Connection) -> Result<(), Fault> {
    // SAFETY: the handle is open as long as the connection is borrowed.
    let code = unsafe { ffi::sqlite3_extended_errcode(connection.handle()) };
    match code & 0xFF {
        ffi::SQLITE_OK | ffi::SQLITE_ROW | ffi::SQLITE_DONE => Ok(()),
        _ => {
            // SAFETY: as above, and the text is copied before another call changes it.
            let message = unsafe { CStr::from_ptr(ffi::sqlite3_errmsg(connection.handle())) };
            Err(Fault::Sqlite { code, message: message.to_string_lossy().into_owned() })
        }
    }
}
