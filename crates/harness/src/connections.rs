//! The connections that the sharing of a trial needs, their preparation, and their settings at the end of the trial.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use litelab_protocol::{Database, Prepare, Role, Sharing, Transaction, Trial};

use crate::fault::Fault;
use crate::session::{AsyncSession, Session, Settings};

/// Longest wait at the end of the trial for a lock that another process of the trial or another open connection holds.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Connections to one database that are opened together.
pub struct ConnectionGroup {
    /// Purpose of each connection, as `ready` reports it.
    pub labels: Vec<String>,
    pub setup: Setup,
}

/// The groups of one database: one for each worker, or a single one, or one for the writer and one for the readers.
pub fn groups(trial: &'static Trial, database: usize) -> Result<Vec<ConnectionGroup>, Fault> {
    let everything: Vec<usize> = trial.roles.iter().flat_map(transactions).collect();
    let (writing, reading): (Vec<usize>, _) = everything.iter().partition(|&&t| trial.transactions[t].writes);
    let workers = |role: &'static Role| (0..role.workers).map(move |_| role);
    let wanted: Vec<(Vec<&str>, Vec<usize>)> = match trial.sharing {
        Sharing::OwnConnection | Sharing::AppLock => {
            let own = |role: &'static Role| (vec![role.name.as_str()], transactions(role));
            trial.roles.iter().flat_map(workers).map(own).collect()
        }
        Sharing::OneConnection => vec![(vec!["shared"], everything)],
        Sharing::Pool { connections } => vec![(vec!["pool"; connections as usize], everything)],
        Sharing::WriterReaders { readers } => {
            vec![(vec!["writer"], writing), (vec!["reader"; readers as usize], reading)]
        }
        // One library holds all connections and chooses one for each transaction.
        Sharing::GroupCommit { readers } => {
            vec![([vec!["writer"], vec!["reader"; readers as usize]].concat(), everything)]
        }
    };
    if wanted.iter().any(|(labels, _)| labels.is_empty()) {
        return Err(need_one(trial));
    }
    let database = &trial.databases[database];
    if let Database::Memory { shared: false, name, .. } = database
        && wanted.iter().map(|(labels, _)| labels.len()).sum::<usize>() > 1
    {
        let reason = format!("memory database `{name}` is private to one connection, and a second was asked for");
        return Err(Fault::Other(reason));
    }
    let group = |(at, (labels, used)): (usize, (Vec<&str>, Vec<usize>))| {
        let script: &[String] = match database {
            Database::Memory { setup, .. } if at == 0 => setup,
            _ => &[],
        };
        let labels = labels.into_iter().map(String::from).collect();
        ConnectionGroup { labels, setup: Setup::new(trial, script, used) }
    };
    Ok(wanted.into_iter().enumerate().map(group).collect())
}

/// The error for a sharing without connections.
pub fn need_one(trial: &Trial) -> Fault {
    Fault::Other(format!("sharing {} needs at least one connection", trial.sharing))
}

/// Indices of the transactions of a role.
fn transactions(role: &Role) -> Vec<usize> {
    role.steps.iter().map(|step| step.transaction as usize).collect()
}

/// Preparation of each connection of a group after it was opened and its PRAGMAs were set, one connection after the
/// other.
#[derive(Clone)]
pub struct Setup {
    /// Statements that create a database in memory; only the first connection runs them.
    script: &'static [String],
    first: Arc<AtomicBool>,
    /// PRAGMAs to read.
    read_back: &'static [String],
    transactions: &'static [Transaction],
    /// Indices of the transactions to prepare, and the mode; `None` if no trial follows.
    used: Option<(Arc<[usize]>, Prepare)>,
}

impl Setup {
    fn new(trial: &'static Trial, script: &'static [String], used: Vec<usize>) -> Self {
        Self {
            script,
            first: Arc::new(AtomicBool::new(true)),
            read_back: &trial.connection.read_back,
            transactions: &trial.transactions,
            used: Some((used.into(), trial.prepare)),
        }
    }

    /// A setup that only reads these PRAGMAs.
    pub(crate) fn read(read_back: &'static [String]) -> Self {
        Self { script: &[], first: Arc::default(), read_back, transactions: &[], used: None }
    }

    /// The setup of a connection that executes only the transactions that write, or only the others.
    #[must_use]
    pub fn only(&self, writes: bool) -> Self {
        let these = |used: &[usize]| used.iter().copied().filter(|&t| self.transactions[t].writes == writes).collect();
        Self { used: self.used.as_ref().map(|(used, mode)| (these(used), *mode)), ..self.clone() }
    }

    /// Prepares a connection. Returns the settings in effect on it.
    ///
    /// # Errors
    /// Those of the session.
    pub fn run<S: Session>(&self, session: &mut S) -> Result<Settings, Fault> {
        session.script(self.script_once())?;
        let settings = session.settings(self.read_back)?;
        if let Some((used, mode)) = &self.used {
            session.prepare(self.transactions, used, *mode)?;
        }
        Ok(settings)
    }

    /// As [`Setup::run`], for calls that are awaited.
    ///
    /// # Errors
    /// Those of the session.
    pub async fn run_async<S: AsyncSession>(&self, session: &mut S) -> Result<Settings, Fault> {
        session.script(self.script_once()).await?;
        let settings = session.settings(self.read_back).await?;
        if let Some((used, mode)) = &self.used {
            session.prepare(self.transactions, used, *mode).await?;
        }
        Ok(settings)
    }

    fn script_once(&self) -> &'static [String] {
        if self.first.swap(false, Ordering::Relaxed) { self.script } else { &[] }
    }
}

/// Settings in effect on a connection at the end of the trial, returned by `read`, which is repeated while the database
/// is locked. Empty if SQLite cannot read them, as from a file that is no longer a database: the core checks the file
/// itself.
///
/// # Errors
/// An error that is not SQLite's.
pub fn settings_at_end(mut read: impl FnMut() -> Result<Settings, Fault>) -> Result<Settings, Fault> {
    let begun = Instant::now();
    loop {
        match unless_locked(read(), begun) {
            Some(settings) => return settings,
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// As [`settings_at_end`], for calls that are awaited.
pub async fn settings_at_end_async<S: AsyncSession>(session: &mut S, names: &[String]) -> Result<Settings, Fault> {
    let begun = Instant::now();
    loop {
        match unless_locked(session.settings(names).await, begun) {
            Some(settings) => return settings,
            None => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    }
}

/// `None` while the database is locked and [`PATIENCE`] lasts: `SQLITE_BUSY`, or `SQLITE_LOCKED` between connections of
/// one shared cache.
fn unless_locked(read: Result<Settings, Fault>, begun: Instant) -> Option<Result<Settings, Fault>> {
    match read {
        Err(Fault::Sqlite { code, .. }) if matches!(code & 0xFF, 5 | 6) && begun.elapsed() < PATIENCE => None,
        Err(Fault::Sqlite { .. }) => Some(Ok(Settings::new())),
        read => Some(read),
    }
}
