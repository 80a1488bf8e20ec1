//! The statements of this crate, prepared once: no closure finds them in the statement cache of its connection, where
//! they would pass without asking the authorizer.

use std::hash::{BuildHasher, RandomState};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use rusqlite::{Connection, ffi};

/// The statements of the writer.
pub struct Statements {
    /// Name of the savepoint, with a random number that no closure guesses.
    pub name: Arc<str>,
    pub begin: Prepared,
    pub commit: Prepared,
    pub rollback: Prepared,
    pub savepoint: Prepared,
    pub release: Prepared,
    pub rollback_to: Prepared,
}

impl Statements {
    pub fn prepare(connection: &Connection) -> rusqlite::Result<Self> {
        let name = format!("onewriter_{:016x}", RandomState::new().hash_one(0));
        let prepare = |sql: &str| Prepared::new(connection, sql);
        Ok(Self {
            begin: prepare("BEGIN IMMEDIATE")?,
            commit: prepare("COMMIT")?,
            rollback: prepare("ROLLBACK")?,
            savepoint: prepare(&format!("SAVEPOINT {name}"))?,
            release: prepare(&format!("RELEASE {name}"))?,
            rollback_to: prepare(&format!("ROLLBACK TO {name}"))?,
            name: name.into(),
        })
    }
}

/// A prepared statement without parameters and rows. `connection::finalize_statements` finalizes it.
pub struct Prepared(NonNull<ffi::sqlite3_stmt>);

// SAFETY: a statement may be used by another thread than the one that prepared it, if only one thread at a time uses
// its connection (https://sqlite.org/threadsafe.html), and the two are moved together.
#[expect(unsafe_code, reason = "`Statement` of rusqlite borrows its connection, so the two cannot be kept together")]
unsafe impl Send for Prepared {}

impl Prepared {
    pub fn new(connection: &Connection, sql: &str) -> rusqlite::Result<Self> {
        let length = i32::try_from(sql.len()).unwrap_or(i32::MAX);
        let mut statement = ptr::null_mut();
        // SAFETY: the handle is open as long as the connection is borrowed, and the text outlives the call.
        #[expect(unsafe_code, reason = "see `Send`")]
        let code = unsafe {
            let flags = ffi::SQLITE_PREPARE_PERSISTENT;
            let handle = connection.handle();
            ffi::sqlite3_prepare_v3(handle, sql.as_ptr().cast(), length, flags, &raw mut statement, ptr::null_mut())
        };
        NonNull::new(statement).map(Self).ok_or_else(|| failure(connection, code))
    }

    /// Runs the statement to its end on the connection that it was prepared for.
    pub fn run(&self, connection: &Connection) -> rusqlite::Result<()> {
        // SAFETY: the statement is finalized only when its connection is closed.
        #[expect(unsafe_code, reason = "see `Send`")]
        let code = unsafe {
            ffi::sqlite3_step(self.0.as_ptr());
            ffi::sqlite3_reset(self.0.as_ptr())
        };
        if code == ffi::SQLITE_OK { Ok(()) } else { Err(failure(connection, code)) }
    }
}

fn failure(connection: &Connection, code: i32) -> rusqlite::Error {
    // SAFETY: the handle is open as long as the connection is borrowed; the text is copied before another call.
    #[expect(unsafe_code, reason = "see `Send`")]
    let message = unsafe { std::ffi::CStr::from_ptr(ffi::sqlite3_errmsg(connection.handle())) };
    rusqlite::Error::SqliteFailure(ffi::Error::new(code), Some(message.to_string_lossy().into_owned()))
}
