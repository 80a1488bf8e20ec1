//! Connections of a driver whose calls block. Workers share them through locks of the standard library, as an
//! application does: under `inline` a task that waits for a lock blocks its thread, under `offload` a thread of the
//! pool takes the lock.

use std::io::BufRead;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use litelab_protocol::{ConnectionSettings, Database, Executor, Message, Sharing, Trial};

use crate::connections::{self, ConnectionGroup, settings_at_end};
use crate::conversation::{ready_and_go, send};
use crate::fault::Fault;
use crate::library::{self, DedicatedThreads};
use crate::monitor::Done;
use crate::runtime;
use crate::session::Open;
use crate::state::TrialState;
use crate::transaction::Transactions;

/// Connections to one database that workers share.
enum Shared<S> {
    One(Mutex<S>),
    Pool(Pool<S>),
    Split { writer: Mutex<S>, readers: Pool<S> },
}

/// Connections and locks by which a worker reaches the database.
enum Handle<S> {
    Own(S),
    /// A connection of this worker alone, and the lock that a transaction that writes must hold.
    AppLock(S, Arc<Mutex<()>>),
    Shared(Arc<Shared<S>>),
}

/// Connections that are lent for one transaction each, the most recently returned first. Boxed, because they move twice
/// for each transaction.
struct Pool<S> {
    free: Mutex<Vec<Box<S>>>,
    given_back: Condvar,
}

/// Takes a lock even if it is poisoned: the panic ends the trial by itself, and an error here would hide its reason.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S> Pool<S> {
    fn new(connections: Vec<S>) -> Self {
        // Lending starts at the end of the list, so that the connection opened first is lent first.
        let free = connections.into_iter().rev().map(Box::new).collect();
        Self { free: Mutex::new(free), given_back: Condvar::new() }
    }

    #[inline(always)]
    fn take(&self) -> Box<S> {
        let mut free = lock(&self.free);
        loop {
            match free.pop() {
                Some(session) => return session,
                None => free = self.given_back.wait(free).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    #[inline(always)]
    fn give_back(&self, session: Box<S>) {
        lock(&self.free).push(session);
        self.given_back.notify_one();
    }
}

/// A connection for one transaction, with the lock that protects it. It is a value and not the argument of a closure,
/// so that the worker's loop contains the transaction only once and the compiler inlines it.
enum Lease<'a, S> {
    /// The worker's own connection, with the write lock if the transaction needs it.
    Own(&'a mut S, Option<MutexGuard<'a, ()>>),
    Locked(MutexGuard<'a, S>),
    Lent(&'a Pool<S>, Box<S>),
}

impl<S> Lease<'_, S> {
    #[inline(always)]
    fn session(&mut self) -> &mut S {
        match self {
            Self::Own(session, _) => session,
            Self::Locked(session) => session,
            Self::Lent(_, session) => session,
        }
    }

    /// Whether the worker may have waited for the connection or a lock.
    #[inline(always)]
    fn shares(&self) -> bool {
        !matches!(self, Self::Own(_, None))
    }

    /// Returns the connection.
    #[inline(always)]
    fn end(self) {
        if let Self::Lent(pool, session) = self {
            pool.give_back(session);
        }
    }
}

impl<S: Open> Handle<S> {
    /// Waits for a connection and executes the next transaction on it.
    #[inline(always)]
    fn execute(transactions: &mut Transactions, handle: &mut Self) -> Result<(), Fault> {
        let mut lease = handle.lease(transactions.writes());
        let shares = lease.shares();
        transactions.execute(lease.session(), shares)?;
        lease.end();
        Ok(())
    }

    /// Waits for a connection for one transaction.
    #[inline(always)]
    fn lease(&mut self, writes: bool) -> Lease<'_, S> {
        match self {
            Self::Own(session) => Lease::Own(session, None),
            Self::AppLock(session, write_lock) => Lease::Own(session, writes.then(|| lock(write_lock))),
            Self::Shared(shared) => match &**shared {
                Shared::One(session) => Lease::Locked(lock(session)),
                Shared::Split { writer, .. } if writes => Lease::Locked(lock(writer)),
                Shared::Pool(pool) | Shared::Split { readers: pool, .. } => Lease::Lent(pool, pool.take()),
            },
        }
    }
}

impl<S> Shared<S> {
    /// The connections with their labels, in the order of opening as far as the pool has kept it.
    fn into_sessions(self) -> Vec<(&'static str, S)> {
        let inner = |mutex: Mutex<S>| mutex.into_inner().unwrap_or_else(PoisonError::into_inner);
        let all = |label: &'static str, pool: Pool<S>| {
            let sessions = pool.free.into_inner().unwrap_or_else(PoisonError::into_inner);
            sessions.into_iter().map(move |session| (label, *session))
        };
        match self {
            Self::One(session) => vec![("shared", inner(session))],
            Self::Pool(pool) => all("pool", pool).collect(),
            Self::Split { writer, readers } => {
                std::iter::once(("writer", inner(writer))).chain(all("reader", readers)).collect()
            }
        }
    }
}

/// The open connections to one database.
struct Opened<S> {
    /// One handle for each worker.
    handles: Vec<Handle<S>>,
    /// Connections that the handles share; `None` under sharing `own-connection` and `app-lock`.
    shared: Option<Arc<Shared<S>>>,
}

/// Runs the trial on one driver.
pub fn run<S: Open>(state: &'static TrialState, input: &mut dyn BufRead) -> Result<(), Fault> {
    let trial = state.trial;
    if trial.executor == Executor::Dedicated {
        return library::run::<DedicatedThreads<S>>(state, input);
    }
    let runtime = runtime::of_trial(state)?;
    let workers = state.workers()?;
    let (mut handles, mut shared, mut connections) = (Vec::new(), Vec::new(), Vec::new());
    let write_lock = Arc::new(Mutex::new(()));
    for database in 0..trial.databases.len() {
        let opened = open::<S>(state, database, &write_lock, &mut connections)?;
        handles.extend(opened.handles);
        shared.push(opened.shared);
    }
    if !ready_and_go(connections, input)? {
        return Ok(());
    }
    let workers = workers.into_iter().zip(handles).collect();
    let finished = runtime::run_blocking(state, &runtime, workers, Handle::<S>::execute);
    let (done, mut result) = finished.result(state, |_| ());
    drop(runtime);
    result.connections = close(trial, shared, done)?;
    send(&Message::Result(Box::new(result)))
}

/// Opens and prepares the connections to one database. Adds the settings in effect on each to `connections`.
fn open<S: Open>(
    state: &'static TrialState,
    database: usize,
    write_lock: &Arc<Mutex<()>>,
    connections: &mut Vec<ConnectionSettings>,
) -> Result<Opened<S>, Fault> {
    let trial = state.trial;
    let mut groups = Vec::new();
    for ConnectionGroup { labels, setup } in connections::groups(trial, database)? {
        let mut sessions = Vec::new();
        for label in labels {
            let mut session = S::open(&trial.databases[database], &trial.connection)?;
            let settings = setup.run(&mut session)?;
            connections.push(ConnectionSettings { database: database as u32, label, settings });
            sessions.push(session);
        }
        groups.push(sessions);
    }
    // Every group has at least one connection.
    let one = |mut sessions: Vec<S>| Mutex::new(sessions.swap_remove(0));
    let shared = match trial.sharing {
        Sharing::OwnConnection => {
            let handles = groups.into_iter().flatten().map(Handle::Own).collect();
            return Ok(Opened { handles, shared: None });
        }
        Sharing::AppLock => {
            let handle = |session| Handle::AppLock(session, write_lock.clone());
            return Ok(Opened { handles: groups.into_iter().flatten().map(handle).collect(), shared: None });
        }
        Sharing::OneConnection => Shared::One(one(groups.swap_remove(0))),
        Sharing::Pool { .. } => Shared::Pool(Pool::new(groups.swap_remove(0))),
        Sharing::WriterReaders { .. } => {
            let readers = Pool::new(groups.swap_remove(1));
            Shared::Split { writer: one(groups.swap_remove(0)), readers }
        }
        Sharing::GroupCommit { .. } => {
            return Err(Fault::Other(format!("sharing {} is not supported", trial.sharing)));
        }
    };
    let shared = Arc::new(shared);
    let workers = trial.roles.iter().map(|role| role.workers as usize).sum();
    let handles = std::iter::repeat_with(|| Handle::Shared(shared.clone())).take(workers).collect();
    Ok(Opened { handles, shared: Some(shared) })
}

/// Reads the settings of each connection again, runs `teardown` on the first connection of each database, and closes
/// all connections.
fn close<S: Open>(
    trial: &'static Trial,
    shared: Vec<Option<Arc<Shared<S>>>>,
    done: Vec<Done<Handle<S>>>,
) -> Result<Vec<ConnectionSettings>, Fault> {
    let mut sessions: Vec<Vec<(&str, S)>> = trial.databases.iter().map(|_| Vec::new()).collect();
    for Done { id, handle } in done {
        if let Handle::Own(session) | Handle::AppLock(session, _) = handle {
            sessions[id.database].push((&trial.roles[id.role].name, session));
        }
    }
    for (sessions, shared) in sessions.iter_mut().zip(shared) {
        // The workers' handles have been dropped.
        sessions.extend(shared.and_then(Arc::into_inner).into_iter().flat_map(Shared::into_sessions));
    }
    let mut connections = Vec::new();
    for (index, (database, sessions)) in trial.databases.iter().zip(&mut sessions).enumerate() {
        for (label, session) in sessions.iter_mut() {
            let settings = settings_at_end(|| session.settings(&trial.connection.read_back))?;
            connections.push(ConnectionSettings { database: index as u32, label: (*label).into(), settings });
        }
        if let (Database::Memory { teardown, .. }, Some((_, first))) = (database, sessions.first_mut()) {
            first.script(teardown)?;
        }
    }
    Ok(connections)
}
