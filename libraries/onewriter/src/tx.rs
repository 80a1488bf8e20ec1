//! What a closure writes through.

use std::ops::Deref;

use rusqlite::{Connection, Result, Savepoint};

/// The transaction of a write closure: a [`Connection`] that cannot begin, commit or roll back.
///
/// The transaction may be shared with other closures. What this closure changes is committed if it returns `Ok`, and
/// rolled back if it returns an error or panics.
#[derive(Debug)]
pub struct Tx<'a> {
    connection: &'a mut Connection,
}

impl<'a> Tx<'a> {
    pub(crate) const fn new(connection: &'a mut Connection) -> Self {
        Self { connection }
    }

    /// Begins a savepoint, which is rolled back when it is dropped, if it has not been committed
    /// ([`Savepoint::commit`]).
    ///
    /// # Errors
    /// If SQLite rejects it.
    pub fn savepoint(&mut self) -> Result<Savepoint<'_>> {
        self.connection.savepoint()
    }
}

impl Deref for Tx<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}
