//! Requests of a worker or of the trial to a library, and their replies.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};

use crate::connections::{PATIENCE, settings_at_end, settings_at_end_async};
use crate::fault::Fault;
use crate::session::{AsyncSession, Session, Settings};
use crate::transaction::Transactions;

/// Work to run on a session of one connection of a library.
pub struct Request<'a>(Kind<'a>);

enum Kind<'a> {
    /// All attempts of a transaction. `shares` is true if workers share the library.
    Transaction {
        transactions: Box<Transactions>,
        shares: bool,
    },
    /// One attempt of a transaction that a layer begins and commits.
    Attempt(&'a mut Transactions),
    /// One attempt, kept outside of the request because the layer may drop a request.
    Kept {
        attempt: Arc<Kept>,
        writes: bool,
    },
    Script(&'static [String]),
    Settings {
        names: &'static [String],
        barrier: Arc<Barrier>,
    },
    /// Statements until the other end of the channel is dropped, each with an answer.
    Statements(mpsc::Receiver<AskedStatement>),
}

/// A statement to run to its end, and the place of its result.
pub struct AskedStatement {
    sql: String,
    done: oneshot::Sender<Result<(), Fault>>,
}

impl AskedStatement {
    pub fn new(sql: &str) -> (Self, oneshot::Receiver<Result<(), Fault>>) {
        let (done, result) = oneshot::channel();
        (Self { sql: sql.into(), done }, result)
    }
}

/// Result of a [`Request`].
pub struct Reply(Content);

enum Content {
    Done,
    Settings(Settings),
    Transaction(Box<Transactions>),
}

/// Transactions of a worker, while a layer runs an attempt of one of them.
pub struct Kept(Mutex<Box<Transactions>>);

impl Kept {
    pub fn new(transactions: Box<Transactions>) -> Self {
        Self(Mutex::new(transactions))
    }

    pub fn lock(&self) -> MutexGuard<'_, Box<Transactions>> {
        // Only a panic poisons the lock, and a panic ends the trial.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn into_inner(self) -> Box<Transactions> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> Request<'a> {
    pub(super) fn transaction(transactions: Box<Transactions>, shares: bool) -> Self {
        Self(Kind::Transaction { transactions, shares })
    }

    pub(super) fn attempt(transactions: &'a mut Transactions) -> Self {
        Self(Kind::Attempt(transactions))
    }

    pub(super) fn kept(attempt: Arc<Kept>, writes: bool) -> Self {
        Self(Kind::Kept { attempt, writes })
    }

    pub(super) fn script(statements: &'static [String]) -> Self {
        Self(Kind::Script(statements))
    }

    pub(super) fn settings(names: &'static [String], barrier: Arc<Barrier>) -> Self {
        Self(Kind::Settings { names, barrier })
    }

    pub(crate) fn statements(statements: mpsc::Receiver<AskedStatement>) -> Self {
        Self(Kind::Statements(statements))
    }

    /// Whether the transaction writes.
    ///
    /// # Errors
    /// A request without a transaction.
    pub fn writes(&self) -> Result<bool, Fault> {
        match &self.0 {
            Kind::Transaction { transactions, .. } => Ok(transactions.writes()),
            Kind::Attempt(transactions) => Ok(transactions.writes()),
            Kind::Kept { writes, .. } => Ok(*writes),
            Kind::Script(_) | Kind::Settings { .. } | Kind::Statements(_) => {
                Err(Fault::Other("a layer runs transactions alone".into()))
            }
        }
    }

    /// Runs one attempt of a transaction, as [`Request::run`]. A layer may run it again after it has rolled back the
    /// changes of the run before.
    ///
    /// # Errors
    /// As for [`Request::run`], and for a request that is no attempt.
    pub fn run_attempt<S: Session>(&mut self, session: &mut S) -> Result<Reply, Fault> {
        let run = |transactions: &mut Transactions, session: &mut S| {
            transactions.discard_yielded();
            // A closure that the library runs again has waited once.
            transactions.execution.acquired.get_or_insert_with(|| transactions.clock.now());
            transactions.statements(session).map(|()| Reply(Content::Done))
        };
        match &mut self.0 {
            Kind::Attempt(transactions) => run(transactions, session),
            Kind::Kept { attempt: kept, .. } => run(&mut kept.lock(), session),
            Kind::Transaction { .. } | Kind::Script(_) | Kind::Settings { .. } | Kind::Statements(_) => Err(mistaken()),
        }
    }

    /// Runs the request on this session, of which it has exclusive use.
    ///
    /// # Errors
    /// An error that ends the trial, or an error of SQLite's in an attempt, after which the layer rolls back.
    pub fn run<S: Session>(self, session: &mut S) -> Result<Reply, Fault> {
        match self.0 {
            Kind::Transaction { mut transactions, shares } => {
                transactions.execute(session, shares)?;
                Ok(Reply(Content::Transaction(transactions)))
            }
            Kind::Attempt(_) | Kind::Kept { .. } => Err(Fault::Other("a layer repeats an attempt".into())),
            Kind::Script(statements) => session.script(statements).map(|()| Reply(Content::Done)),
            Kind::Settings { names, barrier } => {
                let (begun, mut missing) = (Instant::now(), barrier.arrive());
                while missing {
                    std::thread::sleep(POLL);
                    missing = barrier.is_missing(begun)?;
                }
                settings_at_end(|| session.settings(names)).map(|settings| Reply(Content::Settings(settings)))
            }
            Kind::Statements(mut statements) => {
                while let Some(AskedStatement { sql, done }) = statements.blocking_recv() {
                    // The trial that asked may have failed.
                    let _sent = done.send(session.script(&[sql]));
                }
                Ok(Reply(Content::Done))
            }
        }
    }

    /// As [`Request::run`], for calls that are awaited.
    ///
    /// # Errors
    /// An error that ends the trial.
    pub async fn run_async<S: AsyncSession>(self, session: &mut S) -> Result<Reply, Fault> {
        match self.0 {
            Kind::Transaction { mut transactions, shares } => {
                transactions.execute_async(session, shares).await?;
                Ok(Reply(Content::Transaction(transactions)))
            }
            Kind::Attempt(_) | Kind::Kept { .. } => Err(Fault::Other("a layer runs an attempt in a closure".into())),
            Kind::Script(statements) => session.script(statements).await.map(|()| Reply(Content::Done)),
            Kind::Settings { names, barrier } => {
                let (begun, mut missing) = (Instant::now(), barrier.arrive());
                while missing {
                    tokio::time::sleep(POLL).await;
                    missing = barrier.is_missing(begun)?;
                }
                settings_at_end_async(session, names).await.map(|settings| Reply(Content::Settings(settings)))
            }
            Kind::Statements(mut statements) => {
                while let Some(AskedStatement { sql, done }) = statements.recv().await {
                    // The trial that asked may have failed.
                    let _sent = done.send(session.script(&[sql]).await);
                }
                Ok(Reply(Content::Done))
            }
        }
    }
}

impl Reply {
    pub(super) fn into_settings(self) -> Result<Settings, Fault> {
        if let Content::Settings(settings) = self.0 { Ok(settings) } else { Err(mistaken()) }
    }

    pub(super) fn into_transactions(self) -> Result<Box<Transactions>, Fault> {
        if let Content::Transaction(transactions) = self.0 { Ok(transactions) } else { Err(mistaken()) }
    }
}

fn mistaken() -> Fault {
    Fault::Other("the library has answered another request".into())
}

/// Interval at which a barrier is polled.
const POLL: Duration = Duration::from_millis(1);

/// Barrier at which requests wait for each other, each on a different connection.
pub struct Barrier(AtomicU32);

impl Barrier {
    pub fn new(requests: u32) -> Self {
        Self(AtomicU32::new(requests))
    }

    /// Registers one request. Returns whether others are missing.
    fn arrive(&self) -> bool {
        self.0.fetch_sub(1, Ordering::AcqRel) > 1
    }

    /// Returns whether requests are missing. Fails if they do not arrive: the library has fewer connections than it
    /// opened.
    fn is_missing(&self, begun: Instant) -> Result<bool, Fault> {
        match self.0.load(Ordering::Acquire) {
            0 => Ok(false),
            n if begun.elapsed() > PATIENCE => {
                Err(Fault::Other(format!("at the trial's end the library lends {n} connections fewer than it opened")))
            }
            _ => Ok(true),
        }
    }
}
