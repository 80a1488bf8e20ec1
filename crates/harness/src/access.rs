//! How workers share connections: with the standard library's locks, as an application would.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use litelab_protocol::{Access, ConnectionSettings, Database, Role, Trial};

use crate::fault::Fault;
use crate::session::Open;

/// The connections to one database that no worker owns.
pub enum Shared<S> {
    Nothing,
    One(Mutex<S>),
    Pool(Pool<S>),
    Split { writer: Mutex<S>, readers: Pool<S> },
}

/// A worker's way to a connection.
pub enum Handle<'a, S> {
    Own(S),
    /// Its own, and the lock that a transaction which writes must hold.
    WriteLock(S, &'a Mutex<()>),
    Shared(&'a Shared<S>),
}

/// Connections that are lent for the length of a transaction, the one given back last first.
pub struct Pool<S> {
    free: Mutex<Vec<S>>,
    given_back: Condvar,
}

/// All connections to one database.
pub struct Opened<S> {
    pub shared: Shared<S>,
    /// One for each worker in the order of the roles, where each has its own.
    pub own: Vec<S>,
    pub settings: Vec<ConnectionSettings>,
}

/// A panic elsewhere ends the trial by itself; whoever holds a lock meanwhile must not hide its reason.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S> Pool<S> {
    fn new(connections: Vec<S>) -> Self {
        Self { free: Mutex::new(connections), given_back: Condvar::new() }
    }

    #[inline(always)]
    fn take(&self) -> S {
        let mut free = lock(&self.free);
        loop {
            match free.pop() {
                Some(session) => return session,
                None => free = self.given_back.wait(free).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    #[inline(always)]
    fn give_back(&self, session: S) {
        lock(&self.free).push(session);
        self.given_back.notify_one();
    }
}

/// A connection for the length of one transaction, with what has to be held meanwhile. It is a value and not the argument
/// of a closure, so that the transaction is written in one place of the worker's loop and becomes part of it.
pub enum Lease<'a, S> {
    /// The worker's own, and the write lock where that is asked for.
    Own(&'a mut S, Option<MutexGuard<'a, ()>>),
    Locked(MutexGuard<'a, S>),
    Lent(&'a Pool<S>, S),
}

impl<S> Lease<'_, S> {
    #[inline(always)]
    pub fn session(&mut self) -> &mut S {
        match self {
            Self::Own(session, _) => session,
            Self::Locked(session) => session,
            Self::Lent(_, session) => session,
        }
    }

    /// Whether there was something to wait for.
    #[inline(always)]
    pub fn shares(&self) -> bool {
        !matches!(self, Self::Own(_, None))
    }

    /// Gives the connection back.
    #[inline(always)]
    pub fn end(self) {
        if let Self::Lent(pool, session) = self {
            pool.give_back(session);
        }
    }
}

impl<S> Handle<'_, S> {
    /// Waits until there is a connection for one transaction.
    #[inline(always)]
    pub fn lease(&mut self, writes: bool) -> Lease<'_, S> {
        match self {
            Self::Own(session) => Lease::Own(session, None),
            Self::WriteLock(session, write_lock) => Lease::Own(session, writes.then(|| lock(write_lock))),
            Self::Shared(Shared::One(session)) => Lease::Locked(lock(session)),
            Self::Shared(Shared::Split { writer, .. }) if writes => Lease::Locked(lock(writer)),
            Self::Shared(Shared::Pool(pool) | Shared::Split { readers: pool, .. }) => Lease::Lent(pool, pool.take()),
            Self::Shared(Shared::Nothing) => unreachable!("every worker has a connection of its own then"),
        }
    }

    /// The worker's own connection.
    pub fn into_own(self) -> Option<S> {
        match self {
            Self::Own(session) | Self::WriteLock(session, _) => Some(session),
            Self::Shared(_) => None,
        }
    }
}

impl<S> Shared<S> {
    /// The connections with their labels, in the order in which they were opened as far as the pool knows it.
    pub fn into_sessions<'l>(self) -> Vec<(&'l str, S)> {
        let inner = |mutex: Mutex<S>| mutex.into_inner().unwrap_or_else(PoisonError::into_inner);
        let all = |label: &'l str, pool: Pool<S>| {
            let sessions = pool.free.into_inner().unwrap_or_else(PoisonError::into_inner);
            sessions.into_iter().map(move |session| (label, session))
        };
        match self {
            Self::Nothing => Vec::new(),
            Self::One(session) => vec![("shared", inner(session))],
            Self::Pool(pool) => all("pool", pool).collect(),
            Self::Split { writer, readers } => {
                std::iter::once(("writer", inner(writer))).chain(all("reader", readers)).collect()
            }
        }
    }
}

/// Opens, sets, fills and prepares all connections to one database.
pub fn open<S: Open>(trial: &Trial, database: usize) -> Result<Opened<S>, Fault> {
    let mut opener = Opener { trial, database, settings: Vec::new() };
    let everything: Vec<usize> = trial.roles.iter().flat_map(transactions).collect();
    let (writing, reading): (Vec<usize>, _) = everything.iter().partition(|&&t| trial.transactions[t].writes);
    let mut own = Vec::new();
    let shared = match trial.access {
        Access::PerWorker | Access::WriteLock => {
            for role in &trial.roles {
                for _ in 0..role.workers {
                    own.push(opener.open(&role.name, &transactions(role))?);
                }
            }
            Shared::Nothing
        }
        Access::Shared => Shared::One(Mutex::new(opener.open("shared", &everything)?)),
        Access::Pool { connections } => Shared::Pool(opener.pool("pool", connections, &everything)?),
        Access::Split { readers } => Shared::Split {
            writer: Mutex::new(opener.open("writer", &writing)?),
            readers: opener.pool("reader", readers, &reading)?,
        },
        Access::GroupCommit { .. } => return Err(Fault::Other(format!("access {} is not supported", trial.access))),
    };
    Ok(Opened { shared, own, settings: opener.settings })
}

/// The transactions of a role, by index.
pub fn transactions(role: &Role) -> Vec<usize> {
    role.steps.iter().map(|step| step.transaction as usize).collect()
}

/// Why there is no second connection to this database, if that is so.
pub fn private(database: &Database) -> Option<Fault> {
    let Database::Memory { shared: false, name, .. } = database else { return None };
    let reason = format!("memory database `{name}` is private to one connection, and a second was asked for");
    Some(Fault::Other(reason))
}

/// Fails where an access would have no connection.
pub fn need_one(connections: u32, trial: &Trial) -> Result<(), Fault> {
    if connections == 0 {
        return Err(Fault::Other(format!("access {} needs at least one connection", trial.access)));
    }
    Ok(())
}

struct Opener<'a> {
    trial: &'a Trial,
    database: usize,
    settings: Vec<ConnectionSettings>,
}

impl Opener<'_> {
    fn open<S: Open>(&mut self, label: &str, transactions: &[usize]) -> Result<S, Fault> {
        let Trial { databases, connection, prepare, .. } = self.trial;
        let database = &databases[self.database];
        let first = self.settings.is_empty();
        let mut session = S::open(database, connection)?;
        match database {
            Database::Memory { setup, .. } if first => session.script(setup)?,
            _ if !first => private(database).map_or(Ok(()), Err)?,
            _ => {}
        }
        let settings = session.settings(&connection.read_back)?;
        self.settings.push(ConnectionSettings { database: self.database as u32, label: label.into(), settings });
        session.prepare(&self.trial.transactions, transactions, *prepare)?;
        Ok(session)
    }

    fn pool<S: Open>(&mut self, label: &str, size: u32, transactions: &[usize]) -> Result<Pool<S>, Fault> {
        need_one(size, self.trial)?;
        let mut sessions = (0..size).map(|_| self.open(label, transactions)).collect::<Result<Vec<S>, _>>()?;
        // Lent from the end, so that the first opened is the first lent.
        sessions.reverse();
        Ok(Pool::new(sessions))
    }
}
