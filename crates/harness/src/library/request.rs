//! What a worker, or the trial, asks a library for, and the answer.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::connections::{PATIENCE, settings_at_end, settings_at_end_async};
use crate::fault::Fault;
use crate::session::{AsyncSession, Session, Settings};
use crate::transaction::{Execution, Transactions};

/// What is run on a session of one connection of a library.
pub struct Request<'a>(Kind<'a>);

enum Kind<'a> {
    /// All attempts of a transaction; `shares`: whether workers share the library.
    Transaction {
        transactions: Box<Transactions>,
        shares: bool,
    },
    /// One attempt of a transaction that a layer begins and commits.
    Attempt(&'a mut Transactions, &'a mut Execution),
    /// The same, where a layer may drop it.
    Kept {
        attempt: Arc<Kept>,
        transaction: usize,
        writes: bool,
    },
    Script(&'static [String]),
    Settings {
        names: &'static [String],
        barrier: Arc<Barrier>,
    },
}

/// The answer to a [`Request`].
pub struct Reply(Content);

enum Content {
    Done,
    Settings(Settings),
    Transaction(Box<Transactions>, Execution),
}

/// The transactions of a worker and the execution of one, while a layer has them.
pub struct Kept(Mutex<(Box<Transactions>, Execution)>);

impl Kept {
    pub fn new(transactions: Box<Transactions>, execution: Execution) -> Self {
        Self(Mutex::new((transactions, execution)))
    }

    pub fn lock(&self) -> MutexGuard<'_, (Box<Transactions>, Execution)> {
        // Poisoned by a panic, which ends the trial by itself.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn into_inner(self) -> (Box<Transactions>, Execution) {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> Request<'a> {
    pub(super) fn transaction(transactions: Box<Transactions>, shares: bool) -> Self {
        Self(Kind::Transaction { transactions, shares })
    }

    pub(super) fn attempt(transactions: &'a mut Transactions, execution: &'a mut Execution) -> Self {
        Self(Kind::Attempt(transactions, execution))
    }

    pub(super) fn kept(attempt: Arc<Kept>, transaction: usize, writes: bool) -> Self {
        Self(Kind::Kept { attempt, transaction, writes })
    }

    pub(super) fn script(statements: &'static [String]) -> Self {
        Self(Kind::Script(statements))
    }

    pub(super) fn settings(names: &'static [String], barrier: Arc<Barrier>) -> Self {
        Self(Kind::Settings { names, barrier })
    }

    /// The trial's index of the transaction, and whether it writes; nothing where the request is none of a transaction.
    #[must_use]
    pub fn of_transaction(&self) -> Option<(usize, bool)> {
        match &self.0 {
            Kind::Transaction { transactions, .. } => Some((transactions.index(), transactions.writes())),
            Kind::Attempt(transactions, _) => Some((transactions.index(), transactions.writes())),
            Kind::Kept { transaction, writes, .. } => Some((*transaction, *writes)),
            Kind::Script(_) | Kind::Settings { .. } => None,
        }
    }

    /// Runs it on this session, which it has for itself meanwhile.
    ///
    /// # Errors
    /// What ends the trial; of an attempt also an error of SQLite's, after which the layer rolls back.
    pub fn run<S: Session>(self, session: &mut S) -> Result<Reply, Fault> {
        match self.0 {
            Kind::Transaction { mut transactions, shares } => {
                let execution = transactions.execute(session, shares)?;
                Ok(Reply(Content::Transaction(transactions, execution)))
            }
            Kind::Attempt(transactions, execution) => attempt(transactions, session, execution),
            Kind::Kept { attempt: kept, .. } => {
                let (transactions, execution) = &mut *kept.lock();
                attempt(transactions, session, execution)
            }
            Kind::Script(statements) => session.script(statements).map(|()| Reply(Content::Done)),
            Kind::Settings { names, barrier } => {
                let (begun, mut missing) = (Instant::now(), barrier.arrive());
                while missing {
                    std::thread::sleep(POLL);
                    missing = barrier.is_missing(begun)?;
                }
                settings_at_end(|| session.settings(names)).map(|settings| Reply(Content::Settings(settings)))
            }
        }
    }

    /// As [`Request::run`], for calls that are awaited.
    ///
    /// # Errors
    /// What ends the trial.
    pub async fn run_async<S: AsyncSession>(self, session: &mut S) -> Result<Reply, Fault> {
        match self.0 {
            Kind::Transaction { mut transactions, shares } => {
                let execution = transactions.execute_async(session, shares).await?;
                Ok(Reply(Content::Transaction(transactions, execution)))
            }
            Kind::Attempt(..) | Kind::Kept { .. } => Err(Fault::Other("a layer runs an attempt in a closure".into())),
            Kind::Script(statements) => session.script(statements).await.map(|()| Reply(Content::Done)),
            Kind::Settings { names, barrier } => {
                let (begun, mut missing) = (Instant::now(), barrier.arrive());
                while missing {
                    tokio::time::sleep(POLL).await;
                    missing = barrier.is_missing(begun)?;
                }
                settings_at_end_async(session, names).await.map(|settings| Reply(Content::Settings(settings)))
            }
        }
    }
}

fn attempt<S: Session>(
    transactions: &mut Transactions,
    session: &mut S,
    execution: &mut Execution,
) -> Result<Reply, Fault> {
    execution.acquired = Some(transactions.clock.now());
    transactions.statements(session, execution).map(|()| Reply(Content::Done))
}

impl Reply {
    pub(super) fn into_settings(self) -> Result<Settings, Fault> {
        if let Content::Settings(settings) = self.0 { Ok(settings) } else { Err(mistaken()) }
    }

    pub(super) fn into_transaction(self) -> Result<(Box<Transactions>, Execution), Fault> {
        if let Content::Transaction(transactions, execution) = self.0 {
            Ok((transactions, execution))
        } else {
            Err(mistaken())
        }
    }
}

fn mistaken() -> Fault {
    Fault::Other("the library has answered another request".into())
}

/// How often a barrier is looked at.
const POLL: Duration = Duration::from_millis(1);

/// Where requests wait for each other, each on a connection of its own.
pub struct Barrier(AtomicU32);

impl Barrier {
    pub fn new(requests: u32) -> Self {
        Self(AtomicU32::new(requests))
    }

    /// One more is there. Returns whether others are missing.
    fn arrive(&self) -> bool {
        self.0.fetch_sub(1, Ordering::AcqRel) > 1
    }

    /// Fails where the others do not come: the library has fewer connections than it opened.
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
