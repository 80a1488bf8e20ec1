//! The traits that a driver implements: sessions whose calls block or are awaited.

use std::collections::BTreeMap;

use litelab_protocol::draw::{Drawn, Value};
use litelab_protocol::{Begin, Connection, Database, Prepare, Statement, Transaction};

use crate::clock::Clock;
use crate::fault::Fault;
use crate::params::Values;
use crate::row::Row;

/// Names and values of PRAGMAs, read on one connection.
pub type Settings = BTreeMap<String, Value>;

/// A [`Session`] that the harness opens and keeps. One thread at a time uses it, not always the same one.
pub trait Open: Session + Send + 'static {
    /// Opens a connection and runs the settings in order.
    ///
    /// # Errors
    /// A connection or setting that fails, or an option that the driver does not have ([`refuse_options`]).
    fn open(database: &Database, connection: &Connection) -> Result<Self, Fault>;
}

/// One open connection with its prepared statements. Its calls block.
///
/// The loop of a worker is compiled for each driver, and methods marked `#[inline]` are inlined into it.
pub trait Session: Sized {
    /// Runs each statement and drops its rows.
    ///
    /// # Errors
    /// A statement that fails.
    fn script(&mut self, statements: &[String]) -> Result<(), Fault>;

    /// Runs one read transaction, then reads each PRAGMA by name; null if it returns no row.
    ///
    /// # Errors
    /// A statement that fails.
    fn settings(&mut self, names: &[String]) -> Result<Settings, Fault>;

    /// Compiles the statements of the transactions at the indices `used`.
    ///
    /// # Errors
    /// A transaction that cannot be executed: SQLite rejects a statement, or its parameters, columns or yields do not
    /// exist.
    fn prepare(&mut self, transactions: &[Transaction], used: &[usize], mode: Prepare) -> Result<(), Fault>;

    /// Sends the begin; nothing under autocommit.
    ///
    /// # Errors
    /// [`Fault::Sqlite`] is counted, any other error ends the trial. The same holds for `commit` and `execute`.
    fn begin(&mut self, begin: Begin) -> Result<(), Fault>;

    /// Sends `COMMIT`.
    ///
    /// # Errors
    /// As for `begin`.
    fn commit(&mut self) -> Result<(), Fault>;

    /// Sends `ROLLBACK` if a transaction is open.
    ///
    /// # Errors
    /// Any error ends the trial.
    fn rollback(&mut self) -> Result<(), Fault>;

    /// Binds parameters, runs the statement once and fetches. Returns the number of rows fetched, or changed by a
    /// statement without columns.
    ///
    /// # Errors
    /// As for `begin`.
    fn execute(&mut self, call: &Call<'_>, execution: &mut Execution) -> Result<u64, Fault>;
}

/// As [`Session`], with calls that are awaited.
pub trait AsyncSession: Send {
    /// As [`Session::script`].
    fn script(&mut self, statements: &[String]) -> impl Future<Output = Result<(), Fault>> + Send;

    /// As [`Session::settings`].
    fn settings(&mut self, names: &[String]) -> impl Future<Output = Result<Settings, Fault>> + Send;

    /// As [`Session::prepare`].
    fn prepare(
        &mut self,
        transactions: &[Transaction],
        used: &[usize],
        mode: Prepare,
    ) -> impl Future<Output = Result<(), Fault>> + Send;

    /// As [`Session::begin`].
    fn begin(&mut self, begin: Begin) -> impl Future<Output = Result<(), Fault>> + Send;

    /// As [`Session::commit`].
    fn commit(&mut self) -> impl Future<Output = Result<(), Fault>> + Send;

    /// As [`Session::rollback`].
    fn rollback(&mut self) -> impl Future<Output = Result<(), Fault>> + Send;

    /// As [`Session::execute`].
    fn execute(
        &mut self,
        call: &Call<'_>,
        execution: &mut Execution,
    ) -> impl Future<Output = Result<u64, Fault>> + Send;
}

/// A statement to execute, with its parameters.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// Index of the transaction in the trial.
    pub transaction: usize,
    /// Index of the statement in the transaction.
    pub statement: usize,
    /// Definition of the statement.
    pub spec: &'a Statement,
    /// Its parameters, in order.
    pub slots: &'a [Drawn],
    /// Values of the parameters, with their texts.
    pub values: &'a Values,
    /// Places in [`Execution::yielded`] for the columns of the first row, in order.
    pub yields: &'a [usize],
    /// Whether to record the times `query` and `first_row`; true only for statements that fetch all rows.
    pub timed: bool,
    /// Clock of these two times.
    pub clock: Clock,
}

/// A transaction as it is executed, by one or more attempts; times in nanoseconds from `go`.
#[derive(Default)]
pub struct Execution {
    pub(crate) ending: Ending,
    /// Time at which a connection was acquired; `None` if the worker cannot wait for one.
    pub(crate) acquired: Option<u64>,
    /// Time at which the commit returned or the last attempt had failed.
    pub(crate) end: u64,
    /// Rows of the last attempt, to which the next two fields belong, too.
    pub(crate) rows: u64,
    /// Time at which the executing call returned.
    pub(crate) query: Option<u64>,
    /// Time at which the columns of the first row had been read.
    pub(crate) first_row: Option<u64>,
    /// Verified rows of all attempts.
    pub(crate) verified: u64,
    /// Verified rows whose hash differs.
    pub(crate) mismatches: u64,
    /// The worker's yielded values, by place, of this and earlier transactions.
    pub yielded: Vec<Value>,
}

/// End of an execution.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Ending {
    #[default]
    Committed,
    /// A required statement returned no row.
    Empty,
    Failed,
}

impl Execution {
    /// Begins the next execution, which keeps the yielded values.
    #[inline(always)]
    pub(crate) fn begin(&mut self) {
        let yielded = std::mem::take(&mut self.yielded);
        *self = Self { yielded, ..Self::default() };
    }

    /// Begins an attempt.
    #[inline(always)]
    pub(crate) fn attempt(&mut self) {
        (self.query, self.first_row) = (None, None);
    }

    /// Records that the executing call has returned.
    #[inline(always)]
    pub fn note_query(&mut self, call: &Call<'_>) {
        if call.timed {
            self.query = Some(call.clock.now());
        }
    }

    /// Records that the columns of the first row have been read.
    #[inline(always)]
    pub fn note_first_row(&mut self, call: &Call<'_>) {
        if call.timed {
            self.first_row = Some(call.clock.now());
        }
    }

    /// Stores the values that the statement yields: the columns of its first row.
    ///
    /// # Errors
    /// Those of `row`, or a BLOB, which cannot be a parameter.
    #[inline(always)]
    pub fn remember(&mut self, call: &Call<'_>, row: &impl Row) -> Result<(), Fault> {
        for (i, place) in call.yields.iter().enumerate() {
            self.yielded[*place] = row.column(i)?.to_value()?;
        }
        Ok(())
    }
}

/// Refuses options that the driver does not have: ignoring one would change the meaning of the trial.
///
/// # Errors
/// An unknown option, by its name.
pub fn refuse_options(connection: &Connection, known: &[&str]) -> Result<(), Fault> {
    match connection.options.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(Fault::Other(format!("option `{name}`: this driver has none of that name"))),
    }
}
