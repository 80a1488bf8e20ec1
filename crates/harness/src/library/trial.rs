//! A trial on libraries that keep their connections themselves.

use std::io::BufRead;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use litelab_protocol::{ConnectionSettings, Database, Executor, Message, Sharing};
use tokio::runtime::Runtime;
use tokio::sync::Mutex;

use super::request::Kept;
use super::{GroupCommit, Library, Request};
use crate::connections::{self, ConnectionGroup, need_one};
use crate::conversation::{ready_and_go, send};
use crate::fault::Fault;
use crate::monitor::Finished;
use crate::runtime;
use crate::session::Settings;
use crate::state::TrialState;
use crate::transaction::Transactions;
use crate::worker::Worker;

/// Libraries and locks by which a worker reaches a connection.
enum Handle<L> {
    Own(Arc<L>),
    /// A library for this worker alone, and the lock that a transaction that writes must hold.
    AppLock(Arc<L>, Arc<Mutex<()>>),
    Shared(Arc<L>),
    Split {
        writer: Arc<L>,
        readers: Arc<L>,
    },
}

impl<L> Handle<L> {
    /// Library for a transaction, the lock that the transaction must hold, and whether workers share either.
    fn of(&self, writes: bool) -> (&L, Option<&Mutex<()>>, bool) {
        match self {
            Self::Own(library) => (library, None, false),
            Self::AppLock(library, lock) => (library, writes.then_some(&**lock), writes),
            Self::Shared(library) => (library, None, true),
            Self::Split { writer, readers } => (if writes { writer } else { readers }, None, true),
        }
    }
}

/// Transactions and handle after an execution.
type Executed<L> = Result<(Box<Transactions>, Box<Handle<L>>), Fault>;

/// Executes the next transaction.
async fn execute<L: Library>(transactions: Box<Transactions>, handle: Box<Handle<L>>) -> Executed<L> {
    let (library, lock, shares) = handle.of(transactions.writes());
    let held = match lock {
        Some(lock) => Some(lock.lock().await),
        None => None,
    };
    let reply = library.run(Request::transaction(transactions, shares)).await?;
    drop(held);
    Ok((reply.into_transactions()?, handle))
}

/// Executes the next transaction; the layer begins and commits each attempt.
fn execute_in_layer<G: GroupCommit>(transactions: &mut Transactions, handle: &mut Handle<G>) -> Result<(), Fault> {
    transactions.repeat(handle, |transactions, handle| {
        let (layer, ..) = handle.of(transactions.writes());
        match layer.run_blocking(Request::attempt(transactions)) {
            Ok(_) => Ok(true),
            Err(fault) => transactions.fail(fault),
        }
    })
}

/// As [`execute_in_layer`], awaited.
async fn execute_in_layer_async<G: GroupCommit>(
    mut transactions: Box<Transactions>,
    handle: Box<Handle<G>>,
) -> Executed<G> {
    let writes = transactions.writes();
    let (layer, ..) = handle.of(writes);
    transactions.begin();
    // The layer may drop a request that it cannot run; the transactions must survive it.
    let kept = Arc::new(Kept::new(transactions));
    loop {
        let ran = layer.run(Request::kept(kept.clone(), writes)).await;
        let again = {
            let mut transactions = kept.lock();
            let committed = ran.map_or_else(|fault| transactions.fail(fault), |_| Ok(true))?;
            transactions.settle(committed)
        };
        match again {
            None => break,
            Some(nanos) => tokio::time::sleep(Duration::from_nanos(nanos)).await,
        }
    }
    let kept = Arc::into_inner(kept).ok_or_else(|| Fault::Other("the layer keeps a request it has answered".into()))?;
    Ok((kept.into_inner(), handle))
}

/// The libraries of one database: one for each worker, or a single one, or one for the writer and one for the readers.
struct Opened<L> {
    libraries: Vec<Arc<L>>,
    /// Number of connections of each library.
    connections: Vec<u32>,
    /// Purpose of each connection, in the order of the libraries.
    labels: Vec<String>,
}

impl<L: Library> Opened<L> {
    /// Handle of the `nth` worker of the database.
    fn handle(&self, nth: usize, sharing: Sharing, write_lock: &Arc<Mutex<()>>) -> Handle<L> {
        let library = |at: usize| self.libraries[at].clone();
        match sharing {
            Sharing::OwnConnection => Handle::Own(library(nth)),
            Sharing::AppLock => Handle::AppLock(library(nth), write_lock.clone()),
            Sharing::OneConnection | Sharing::Pool { .. } | Sharing::GroupCommit { .. } => Handle::Shared(library(0)),
            Sharing::WriterReaders { .. } => Handle::Split { writer: library(0), readers: library(1) },
        }
    }

    /// Settings in effect on each connection at the end of the trial, with its label.
    async fn settings(&self, names: &'static [String]) -> Result<Vec<(String, Settings)>, Fault> {
        let mut all = Vec::new();
        for (library, connections) in self.libraries.iter().zip(&self.connections) {
            all.extend(library.settings(*connections, names).await?);
        }
        Ok(self.labels.iter().cloned().zip(all).collect())
    }

    /// Runs `teardown` on a connection if the database is in memory, and closes all connections.
    async fn close(self, database: &'static Database) -> Result<(), Fault> {
        if let (Database::Memory { teardown, .. }, Some(first)) = (database, self.libraries.first()) {
            first.run(Request::script(teardown)).await?;
        }
        for library in self.libraries {
            // All its workers have ended, so that no other reference is left.
            if let Some(library) = Arc::into_inner(library) {
                library.close().await?;
            }
        }
        Ok(())
    }
}

/// Runs the trial on one driver.
pub fn run<L: Library>(state: &'static TrialState, input: &mut dyn BufRead) -> Result<(), Fault> {
    with_workers(state, input, |runtime, workers| runtime::run(state, runtime, workers, execute::<L>, false))
}

/// Runs the trial through one layer. Executor `dedicated` awaits the layer, whose writer has its own thread; the other
/// executors call it and block.
pub fn run_group_commit<G: GroupCommit>(state: &'static TrialState, input: &mut dyn BufRead) -> Result<(), Fault> {
    let trial = state.trial;
    if let Some(Database::Memory { name, .. }) = trial.databases.iter().find(|d| matches!(d, Database::Memory { .. })) {
        let reason = "has no write-ahead log, which sharing group-commit needs";
        return Err(Fault::Other(format!("memory database `{name}` {reason}")));
    }
    if let Sharing::GroupCommit { readers: 0 } = trial.sharing {
        return Err(need_one(trial));
    }
    with_workers(state, input, |runtime, workers| match trial.executor {
        Executor::Dedicated => runtime::run(state, runtime, workers, execute_in_layer_async::<G>, false),
        _ => runtime::run_blocking(state, runtime, workers, execute_in_layer::<G>),
    })
}

/// Opens the libraries of all databases, runs the workers with `work`, and closes the libraries.
fn with_workers<L: Library>(
    state: &'static TrialState,
    input: &mut dyn BufRead,
    work: impl FnOnce(&Runtime, Vec<(Worker, Handle<L>)>) -> Finished<Handle<L>>,
) -> Result<(), Fault> {
    let runtime = runtime::of_trial(state)?;
    // Entered even if the trial fails: a library may need the runtime to drop a connection.
    let inside = runtime.handle().clone();
    let _inside = inside.enter();
    let trial = state.trial;
    let (mut databases, mut connections) = (Vec::new(), Vec::new());
    for database in 0..trial.databases.len() {
        block_on(&runtime, Box::pin(open::<L>(state, database, &mut databases, &mut connections)))?;
    }
    let workers_of_one: u32 = trial.roles.iter().map(|role| role.workers).sum();
    let write_lock = Arc::new(Mutex::new(()));
    let workers = state.workers()?.into_iter().enumerate().map(|(at, worker)| {
        let opened: &Opened<L> = &databases[worker.id.database];
        let handle = opened.handle(at % workers_of_one as usize, trial.sharing, &write_lock);
        (worker, handle)
    });
    let workers = workers.collect();
    if !ready_and_go(connections, input)? {
        return Ok(());
    }
    let finished = work(&runtime, workers);
    let (done, mut result) = finished.result(state, |result| {
        databases.iter().flat_map(|opened| &opened.libraries).for_each(|library| library.account().add_to(result));
    });
    drop(done);
    let names = &trial.connection.read_back;
    let connections = &mut result.connections;
    let close = async {
        for (index, (database, opened)) in trial.databases.iter().zip(databases).enumerate() {
            connections.extend(opened.settings(names).await?.into_iter().map(|(label, settings)| ConnectionSettings {
                database: index as u32,
                label,
                settings,
            }));
            opened.close(database).await?;
        }
        Ok(())
    };
    block_on(&runtime, Box::pin(close))?;
    // Waits for libraries that close in the background.
    drop(runtime);
    send(&Message::Result(Box::new(result)))
}

/// Waits for what is done once in a trial. Not generic, so that tokio's code is compiled once and not for each driver.
fn block_on(runtime: &Runtime, once: Pin<Box<dyn Future<Output = Result<(), Fault>> + '_>>) -> Result<(), Fault> {
    runtime.block_on(once)
}

/// Opens the libraries of one database. Adds them to `databases`, and the settings in effect on each connection to
/// `connections`.
async fn open<L: Library>(
    state: &'static TrialState,
    database: usize,
    databases: &mut Vec<Opened<L>>,
    connections: &mut Vec<ConnectionSettings>,
) -> Result<(), Fault> {
    let trial = state.trial;
    let mut opened = Opened { libraries: Vec::new(), connections: Vec::new(), labels: Vec::new() };
    for ConnectionGroup { labels, setup } in connections::groups(trial, database)? {
        let count = labels.len() as u32;
        let (library, settings) = L::open(&trial.databases[database], &trial.connection, count, &setup).await?;
        connections.extend(labels.iter().cloned().zip(settings).map(|(label, settings)| ConnectionSettings {
            database: database as u32,
            label,
            settings,
        }));
        opened.labels.extend(labels);
        opened.libraries.push(Arc::new(library));
        opened.connections.push(count);
    }
    databases.push(opened);
    Ok(())
}
