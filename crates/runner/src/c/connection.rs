//! The connection and its statements as owned values.

use std::ffi::{CStr, CString, c_int};
use std::ptr::{self, NonNull};

use litelab_harness::{Bound, Call, Execution, Fault, Job, Row};
use litelab_protocol::{Begin, Fetch, Prepare};
use rusqlite::ffi;

use super::driver::*;
use super::row::Cells;

/// Owned connection; closed when dropped.
pub struct Connection(*mut RawConnection);

/// Owned statement; finalized when dropped, which must be before its connection is dropped.
pub struct Statement(NonNull<ffi::sqlite3_stmt>);

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: created by `open`, and null is allowed; the statements are dropped first.
        unsafe { litelab_c_close(self.0) }
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: created by `prepare`. Its result is that of the last step, which has returned it already.
        unsafe { ffi::sqlite3_finalize(self.0.as_ptr()) };
    }
}

pub fn text(sql: impl Into<Vec<u8>>) -> Result<CString, Fault> {
    CString::new(sql).map_err(Fault::other)
}

impl Connection {
    pub fn open(name: &CStr) -> Result<Self, Fault> {
        let mut connection = Self(ptr::null_mut());
        // SAFETY: a C string, and a place for the connection, which is null or can be closed.
        let code = unsafe { litelab_c_open(name.as_ptr(), &raw mut connection.0) };
        connection.ok(code).map(|()| connection)
    }

    /// The fault of a result code, with SQLite's present message.
    #[cold]
    #[inline(never)]
    fn fault(&self, code: c_int) -> Fault {
        // SAFETY: null is allowed, and SQLite always has a message; it is copied at once.
        let message = unsafe { CStr::from_ptr(litelab_c_message(self.0)) };
        Fault::Sqlite { code, message: message.to_string_lossy().into_owned() }
    }

    #[inline]
    fn ok(&self, code: c_int) -> Result<(), Fault> {
        if code == ffi::SQLITE_OK { Ok(()) } else { Err(self.fault(code)) }
    }

    /// Whether a step has reached a row.
    #[inline]
    fn is_row(&self, code: c_int) -> Result<bool, Fault> {
        match code {
            ffi::SQLITE_ROW => Ok(true),
            ffi::SQLITE_DONE => Ok(false),
            code => Err(self.fault(code)),
        }
    }

    pub fn prepare(&self, sql: &CStr, mode: Prepare) -> Result<Statement, Fault> {
        let (mut statement, often) = (ptr::null_mut(), c_int::from(mode == Prepare::Once));
        // SAFETY: the connection is open; a C string, and a place for the statement.
        self.ok(unsafe { litelab_c_prepare(self.0, sql.as_ptr(), often, &raw mut statement) })?;
        NonNull::new(statement).map(Statement).ok_or_else(|| Fault::Other("there is no statement in it".into()))
    }

    pub fn prepare_brackets(&self) -> Result<(), Fault> {
        // SAFETY: the connection is open.
        self.ok(unsafe { litelab_c_prepare_brackets(self.0) })
    }

    #[inline]
    pub fn begin(&self, begin: Begin) -> Result<(), Fault> {
        let kind = match begin {
            Begin::None => return Ok(()),
            Begin::Deferred => 0,
            Begin::Immediate => 1,
            Begin::Exclusive => 2,
        };
        // SAFETY: the connection is open, and 0 to 2 are the valid kinds.
        self.ok(unsafe { litelab_c_begin(self.0, kind) })
    }

    #[inline]
    pub fn commit(&self) -> Result<(), Fault> {
        // SAFETY: the connection is open.
        self.ok(unsafe { litelab_c_commit(self.0) })
    }

    pub fn rollback(&self) -> Result<(), Fault> {
        // SAFETY: the connection is open.
        self.ok(unsafe { litelab_c_rollback(self.0) })
    }

    /// Runs all statements of a text to their ends, and discards the rows.
    pub fn exec(&self, sql: &str) -> Result<(), Fault> {
        let sql = text(sql)?;
        // SAFETY: the connection is open; a C string.
        self.ok(unsafe { litelab_c_exec(self.0, sql.as_ptr()) })
    }

    /// The value of a PRAGMA; null for one that returns no row.
    pub fn pragma(&self, name: &str) -> Result<litelab_protocol::Value, Fault> {
        let mut statement = self.prepare(&text(format!("PRAGMA {name}"))?, Prepare::Each)?;
        match statement.step(self)? {
            true => Ok(statement.read(self, &mut [Value::from(Bound::Null)])?.column(0)?.to_value()?),
            false => Ok(litelab_protocol::Value::Null),
        }
    }
}

impl Statement {
    pub fn parameters(&self) -> usize {
        // SAFETY: the statement is not finalized.
        unsafe { ffi::sqlite3_bind_parameter_count(self.0.as_ptr()) as usize }
    }

    pub fn column_names(&self, connection: &Connection) -> Result<Vec<String>, Fault> {
        let statement = self.0.as_ptr();
        // SAFETY: the statement is not finalized. A name is a C string, or null without memory, and is copied at once.
        let name = |at| unsafe {
            let name = ffi::sqlite3_column_name(statement, at);
            (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
        };
        // SAFETY: as above.
        let names: Option<_> = (0..unsafe { ffi::sqlite3_column_count(statement) }).map(name).collect();
        names.ok_or_else(|| connection.fault(ffi::SQLITE_NOMEM))
    }

    #[cfg(test)]
    pub fn handle(&self) -> *mut ffi::sqlite3 {
        // SAFETY: the statement is not finalized.
        unsafe { ffi::sqlite3_db_handle(self.0.as_ptr()) }
    }

    /// Executes a statement that returns no rows. Returns the number of rows that it changed.
    #[inline]
    pub fn run(&mut self, connection: &Connection, bound: &[Value]) -> Result<u64, Fault> {
        let (statement, mut changed) = (self.0.as_ptr(), 0);
        // SAFETY: as for `execute`.
        let code =
            unsafe { litelab_c_run(connection.0, statement, bound.as_ptr(), bound.len() as c_int, &raw mut changed) };
        connection.ok(code).map(|()| changed as u64)
    }

    #[inline]
    fn execute(&mut self, connection: &Connection, bound: &[Value]) -> Result<bool, Fault> {
        // SAFETY: `count` values with pointers to texts that outlive the execution. Their number is that of the
        // parameters, of which SQLite allows at most 32,766.
        connection.is_row(unsafe { litelab_c_execute(self.0.as_ptr(), bound.as_ptr(), bound.len() as c_int) })
    }

    #[inline]
    fn step(&mut self, connection: &Connection) -> Result<bool, Fault> {
        // SAFETY: the statement is not finalized.
        connection.is_row(unsafe { litelab_c_step(self.0.as_ptr()) })
    }

    /// Reads the current row; the next step invalidates its bytes.
    #[inline]
    fn read<'a>(&'a self, connection: &Connection, row: &'a mut [Value]) -> Result<Cells<'a>, Fault> {
        // SAFETY: `columns` values to write to; SQLite returns NULL for a column that does not exist.
        connection.ok(unsafe { litelab_c_read(self.0.as_ptr(), row.as_mut_ptr(), row.len() as c_int) })?;
        Ok(Cells(row))
    }

    /// Executes a statement that returns rows, fetches them and resets the statement. Returns the number of fetched
    /// rows. `row` has an element for each column.
    #[inline]
    pub fn fetch(
        &mut self,
        connection: &Connection,
        job: &Job,
        bound: &[Value],
        row: &mut [Value],
        call: &Call<'_>,
        execution: &mut Execution,
    ) -> Result<u64, Fault> {
        let fetched = self.rows(connection, job, bound, row, call, execution);
        // SAFETY: the statement is not finalized.
        let reset = unsafe { litelab_c_reset(self.0.as_ptr()) };
        let fetched = fetched?;
        connection.ok(reset).map(|()| fetched)
    }

    #[inline]
    fn rows(
        &mut self,
        connection: &Connection,
        job: &Job,
        bound: &[Value],
        row: &mut [Value],
        call: &Call<'_>,
        execution: &mut Execution,
    ) -> Result<u64, Fault> {
        // In this API the call that executes a statement is the first step.
        let mut is_row = self.execute(connection, bound)?;
        if call.spec.fetch == Fetch::Buffer {
            let all = if is_row { self.fetch_all(connection, row.len())? } else { Rows::new(row.len()) };
            execution.note_query(call);
            for (at, row) in all.iter().enumerate() {
                job.run(all.columns as usize, &row, execution)?;
                if at == 0 {
                    execution.note_first_row(call);
                    execution.remember(call, &row)?;
                }
            }
            return Ok(all.count as u64);
        }
        let (fetch, mut count) = (call.spec.fetch, 0);
        if fetch == Fetch::All {
            execution.note_query(call);
        }
        let works = fetch != Fetch::None && !matches!(job, Job::None);
        while is_row {
            let columns = match count {
                _ if works => row.len(),
                0 => call.yields.len(),
                _ => 0,
            };
            let cells = self.read(connection, &mut row[..columns])?;
            if works {
                job.run(columns, &cells, execution)?;
            }
            if count == 0 {
                if fetch == Fetch::All {
                    execution.note_first_row(call);
                }
                execution.remember(call, &cells)?;
            }
            count += 1;
            if fetch == Fetch::First {
                break;
            }
            is_row = self.step(connection)?;
        }
        Ok(count)
    }

    fn fetch_all(&mut self, connection: &Connection, columns: usize) -> Result<Rows, Fault> {
        let mut rows = Rows::new(columns);
        // SAFETY: the statement is at a row; `rows` is empty.
        connection.is_row(unsafe { litelab_c_fetch_all(self.0.as_ptr(), &raw mut rows) })?;
        Ok(rows)
    }
}
