//! What a driver implements: a session, whose calls block or are awaited.

use std::collections::BTreeMap;

use litelab_protocol::draw::Value;
use litelab_protocol::{Begin, Connection, Database, Prepare, Statement, Transaction};

use crate::clock::Clock;
use crate::fault::Fault;
use crate::params::{Slot, Values};
use crate::row::Row;

/// Names and values of PRAGMAs, as they were read on one connection.
pub type Settings = BTreeMap<String, Value>;

/// A [`Session`] that the harness opens and keeps. One thread at a time uses it, not always the same one.
pub trait Open: Session + Send + 'static {
    /// Opens, and runs the settings in order.
    ///
    /// # Errors
    /// Where that fails, or there is an option that the driver does not have ([`refuse_options`]).
    fn open(database: &Database, connection: &Connection) -> Result<Self, Fault>;
}

/// One open connection with its prepared statements, whose calls block.
///
/// The loop of a worker is compiled for each driver: a method marked `#[inline]` becomes part of it.
pub trait Session: Sized {
    /// Runs each statement to its end.
    ///
    /// # Errors
    /// Where one of them fails.
    fn script(&mut self, statements: &[String]) -> Result<(), Fault>;

    /// Runs one read transaction, then reads each PRAGMA by name; null for one that returns no row.
    ///
    /// # Errors
    /// Where a statement fails.
    fn settings(&mut self, names: &[String]) -> Result<Settings, Fault>;

    /// Compiles the statements of these transactions, which are indices of the trial's list.
    ///
    /// # Errors
    /// Where a transaction cannot be executed as it stands: its parameters, columns or yields are not there.
    fn prepare(&mut self, transactions: &[Transaction], used: &[usize], mode: Prepare) -> Result<(), Fault>;

    /// Sends the begin; nothing for autocommit.
    ///
    /// # Errors
    /// [`Fault::Sqlite`] is counted, anything else ends the trial; so with the next three.
    fn begin(&mut self, begin: Begin) -> Result<(), Fault>;

    /// Sends `COMMIT`.
    ///
    /// # Errors
    /// As for `begin`.
    fn commit(&mut self) -> Result<(), Fault>;

    /// Sends `ROLLBACK` where a transaction is open.
    ///
    /// # Errors
    /// Any ends the trial.
    fn rollback(&mut self) -> Result<(), Fault>;

    /// Binds, runs and fetches once. Returns the rows fetched, or changed where the statement has no columns.
    ///
    /// # Errors
    /// As for `begin`.
    fn execute(&mut self, call: &Call<'_>, effect: &mut Effect<'_>) -> Result<u64, Fault>;
}

/// As [`Session`], for a library whose calls are awaited.
pub trait AsyncSession: Send {
    /// Runs each statement to its end.
    ///
    /// # Errors
    /// Where one of them fails.
    fn script(&mut self, statements: &[String]) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Runs one read transaction, then reads each PRAGMA by name; null for one that returns no row.
    ///
    /// # Errors
    /// Where a statement fails.
    fn settings(&mut self, names: &[String]) -> impl Future<Output = Result<Settings, Fault>> + Send;

    /// Compiles the statements of these transactions, which are indices of the trial's list.
    ///
    /// # Errors
    /// Where a transaction cannot be executed as it stands: its parameters, columns or yields are not there.
    fn prepare(
        &mut self,
        transactions: &[Transaction],
        used: &[usize],
        mode: Prepare,
    ) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Sends the begin; nothing for autocommit.
    ///
    /// # Errors
    /// [`Fault::Sqlite`] is counted, anything else ends the trial; so with the next three.
    fn begin(&mut self, begin: Begin) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Sends `COMMIT`.
    ///
    /// # Errors
    /// As for `begin`.
    fn commit(&mut self) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Sends `ROLLBACK` where a transaction is open.
    ///
    /// # Errors
    /// Any ends the trial.
    fn rollback(&mut self) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Binds, runs and fetches once. Returns the rows fetched, or changed where the statement has no columns.
    ///
    /// # Errors
    /// As for `begin`.
    fn execute(&mut self, call: &Call<'_>, effect: &mut Effect<'_>) -> impl Future<Output = Result<u64, Fault>> + Send;
}

/// Which statement to execute, and with what.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// Index of the transaction in the trial.
    pub transaction: usize,
    /// Index of the statement in the transaction.
    pub statement: usize,
    /// The statement itself.
    pub spec: &'a Statement,
    /// Its parameters in order.
    pub slots: &'a [Slot],
    /// Where their texts are.
    pub values: &'a Values,
    /// Places of [`Effect::yielded`] that the columns of the first row go to, in order.
    pub yields: &'a [usize],
    /// Whether to take the times of [`Effect::query`] and [`Effect::first_row`]; only where all rows are fetched.
    pub timed: bool,
    /// The clock of those two.
    pub clock: Clock,
}

/// What the executions of an attempt leave behind; times in nanoseconds from `go`.
pub struct Effect<'a> {
    /// The worker's yielded values.
    pub yielded: &'a mut [Value],
    /// Rows checked.
    pub verified: u64,
    /// Rows of those that were wrong.
    pub mismatches: u64,
    /// When the call that executes returned.
    pub query: Option<u64>,
    /// When the columns of the first row were read.
    pub first_row: Option<u64>,
}

impl<'a> Effect<'a> {
    /// Before the first execution.
    #[inline]
    pub fn new(yielded: &'a mut [Value]) -> Self {
        Self { yielded, verified: 0, mismatches: 0, query: None, first_row: None }
    }

    /// Takes the time at which the call that executes has returned.
    #[inline(always)]
    pub fn note_query(&mut self, call: &Call<'_>) {
        if call.timed {
            self.query = Some(call.clock.now());
        }
    }

    /// Takes the time at which the columns of the first row have been read.
    #[inline(always)]
    pub fn note_first_row(&mut self, call: &Call<'_>) {
        if call.timed {
            self.first_row = Some(call.clock.now());
        }
    }

    /// Keeps what the statement yields: the columns of its first row.
    ///
    /// # Errors
    /// Those of `row`, and a BLOB, which no parameter can be.
    #[inline(always)]
    pub fn remember(&mut self, call: &Call<'_>, row: &impl Row) -> Result<(), Fault> {
        for (i, place) in call.yields.iter().enumerate() {
            self.yielded[*place] = row.column(i)?.to_value()?;
        }
        Ok(())
    }
}

/// Refuses an option that is none of the driver's: one that is given was meant to have an effect.
///
/// # Errors
/// Names the option.
pub fn refuse_options(connection: &Connection, known: &[&str]) -> Result<(), Fault> {
    match connection.options.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(Fault::Other(format!("option `{name}`: this driver has none of that name"))),
    }
}
