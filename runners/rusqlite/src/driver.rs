//! What a driver has to offer; everything else of a trial is the same for all.

use std::collections::BTreeMap;

use litelab_protocol::draw::Value;
use litelab_protocol::{Begin, Connection, Database, Failed, Prepare, Setting, Statement, Transaction, codes};

use crate::clock::Clock;
use crate::params::{Slot, Values};

/// One open connection with its prepared statements. It goes from thread to thread as one piece, never shared.
pub trait Session: Sized + Send {
    /// Opens, and runs the pragmas in order.
    fn open(database: &Database, connection: &Connection) -> Result<Self, Fault>;
    /// Runs each statement to its end.
    fn script(&mut self, statements: &[String]) -> Result<(), Fault>;
    /// Runs one read transaction, then asks for each PRAGMA by name.
    fn settings(&mut self, names: &[String]) -> Result<BTreeMap<String, Setting>, Fault>;
    /// Compiles what this connection will be asked for: the transactions at these indices of the trial's list.
    fn prepare(&mut self, transactions: &[Transaction], used: &[usize], mode: Prepare) -> Result<(), Fault>;
    /// Sends the begin; nothing for autocommit.
    fn begin(&mut self, begin: Begin) -> Result<(), Fault>;
    /// Sends `COMMIT`.
    fn commit(&mut self) -> Result<(), Fault>;
    /// Sends `ROLLBACK` where a transaction is open.
    fn rollback(&mut self) -> Result<(), Fault>;
    /// Binds, runs and fetches once. Returns the rows fetched, or changed where the statement yields none.
    fn execute(&mut self, call: &Call<'_>, effect: &mut Effect<'_>) -> Result<u64, Fault>;
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
    /// Whether to note when the call returned and when the first row was read.
    pub timed: bool,
    /// For those two.
    pub clock: Clock,
}

/// What executing leaves behind.
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

/// Why something did not work.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// SQLite said no.
    #[error("{}: {message}", codes::name(*code))]
    Sqlite {
        /// Extended result code.
        code: i32,
        /// SQLite's message.
        message: String,
    },
    /// Anything else; it ends the trial.
    #[error("{0}")]
    Other(String),
}

impl Fault {
    /// From any other error.
    pub fn other(error: impl std::fmt::Display) -> Self {
        Self::Other(error.to_string())
    }

    /// Says what was being done.
    pub fn during(self, what: &str) -> Self {
        match self {
            Self::Sqlite { code, message } => Self::Sqlite { code, message: format!("{what}: {message}") },
            Self::Other(message) => Self::Other(format!("{what}: {message}")),
        }
    }

    /// The last line of a trial that cannot go on; a line break in a message would look like two.
    pub fn into_failed(self) -> Failed {
        let reason = self.to_string().replace('\n', " ");
        match self {
            Self::Sqlite { code, .. } => Failed { reason, code: Some(codes::name(code).into()) },
            Self::Other(_) => Failed { reason, code: None },
        }
    }
}

impl From<rusqlite::Error> for Fault {
    /// Only what SQLite itself returned is an SQLite error; a column of the wrong type, say, is not.
    fn from(error: rusqlite::Error) -> Self {
        match error {
            rusqlite::Error::SqliteFailure(cause, message) => {
                Self::Sqlite { code: cause.extended_code, message: message.unwrap_or_else(|| cause.to_string()) }
            }
            rusqlite::Error::SqlInputError { error, ref msg, .. } => {
                Self::Sqlite { code: error.extended_code, message: msg.clone() }
            }
            other => Self::Other(other.to_string()),
        }
    }
}
