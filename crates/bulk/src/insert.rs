//! One INSERT of many rows, bound without copying. The only unsafe code of this crate.
//!
//! rusqlite binds text with `SQLITE_TRANSIENT`: SQLite allocates and copies every value. The rows lie in a buffer
//! that outlives the step, so `SQLITE_STATIC` is enough (<https://sqlite.org/c3ref/bind_blob.html>). That took a
//! quarter off the CPU time of a whole generation when both were tried, which is what this file is for.
//!
//! A statement of 2,000 rows keeps its cursors where the last row ended; 2,000 statements of one row descend both
//! b-trees anew each time, at twice the CPU time.

use crate::row::Row;
use rusqlite::{Connection, ffi};
use std::ffi::c_int;
use std::marker::PhantomData;
use std::ptr;

/// A prepared `INSERT INTO bench VALUES (…), …` of a fixed number of rows.
pub(crate) struct Insert<'conn> {
    statement: *mut ffi::sqlite3_stmt,
    db: *mut ffi::sqlite3,
    rows: usize,
    /// The connection outlives the statement, and the raw pointers keep both on this thread.
    conn: PhantomData<&'conn Connection>,
}

impl<'conn> Insert<'conn> {
    /// Prepares an INSERT of `rows` rows.
    pub(crate) fn prepare(conn: &'conn Connection, rows: usize) -> rusqlite::Result<Self> {
        let mut sql = String::from("INSERT INTO bench(ID, rand, hash) VALUES (?,?,?)");
        sql.extend(std::iter::repeat_n(",(?,?,?)", rows.saturating_sub(1)));
        let length = c_int::try_from(sql.len()).map_err(|_| misuse())?;
        let mut statement = ptr::null_mut();
        // SAFETY: `db` is open as long as `conn` is borrowed; it is neither closed nor reconfigured here. `sql` is
        // valid for `length` bytes, and SQLite copies it.
        let (db, code) = unsafe {
            let db = conn.handle();
            let flags = ffi::SQLITE_PREPARE_PERSISTENT as std::ffi::c_uint;
            let code =
                ffi::sqlite3_prepare_v3(db, sql.as_ptr().cast(), length, flags, &raw mut statement, ptr::null_mut());
            (db, code)
        };
        let insert = Self { statement, db, rows, conn: PhantomData };
        insert.check(code)?;
        Ok(insert)
    }

    /// How many rows a call of [`Insert::run`] takes.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Inserts `rows` with the IDs `first_id`, `first_id + 1`, …
    pub(crate) fn run(&mut self, first_id: i64, rows: &[Row]) -> rusqlite::Result<()> {
        if rows.len() != self.rows {
            return Err(misuse());
        }
        let mut parameter = 0;
        let mut bound = ffi::SQLITE_OK;
        for (id, row) in (first_id..).zip(rows) {
            // SAFETY: the statement was prepared and is finalized only on drop. The text lies in `rows`, which is
            // borrowed until after the step below; SQLite reads a static text only while stepping, and later binds
            // or the finalizer drop the pointer without following it.
            unsafe {
                bound |= ffi::sqlite3_bind_int64(self.statement, parameter + 1, id);
                bound |= self.bind_text(parameter + 2, &row.rand);
                bound |= self.bind_text(parameter + 3, &row.hash);
            }
            parameter += 3;
        }
        if bound != ffi::SQLITE_OK {
            return self.check(bound);
        }
        // SAFETY: as above. The reset ends the statement, so that the next `run` binds anew and nothing reads
        // `rows` after this call; it gives the step's code again, with the message that belongs to it.
        let code = unsafe {
            ffi::sqlite3_step(self.statement);
            ffi::sqlite3_reset(self.statement)
        };
        self.check(code)
    }

    /// # Safety
    ///
    /// `text` must stay valid and unchanged until the statement was stepped and reset.
    #[inline]
    unsafe fn bind_text(&self, parameter: c_int, text: &[u8]) -> c_int {
        // SAFETY: `text` is valid for its length, which is 16 or 64 and so fits; its lifetime is the caller's duty.
        unsafe {
            let length = text.len() as c_int;
            ffi::sqlite3_bind_text(self.statement, parameter, text.as_ptr().cast(), length, ffi::SQLITE_STATIC())
        }
    }

    fn check(&self, code: c_int) -> rusqlite::Result<()> {
        if code == ffi::SQLITE_OK {
            return Ok(());
        }
        // SAFETY: the connection is open; the message is copied before any other call could replace it.
        let message = unsafe { std::ffi::CStr::from_ptr(ffi::sqlite3_errmsg(self.db)).to_string_lossy().into_owned() };
        Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), Some(message)))
    }
}

impl Drop for Insert<'_> {
    fn drop(&mut self) {
        // SAFETY: finalized once, here; a null pointer (a failed prepare) is a no-op. The code is that of the last
        // step, which `run` has reported.
        unsafe { ffi::sqlite3_finalize(self.statement) };
    }
}

fn misuse() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_MISUSE), None)
}
