//! The executor `dedicated`, and libraries that are asynchronous themselves: a connection lives where its host keeps it, and
//! work is handed to it and awaited.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, PoisonError};
use std::time::Duration;

use litelab_protocol::{Access, Connection, ConnectionSettings, Database, Line, Prepare, Role, Transaction, Trial, Value};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::access::{need_one, private, transactions};
use crate::awaited::Account;
use crate::fault::Fault;
use crate::lookout::{Left, end_now};
use crate::runtime::{self, Program};
use crate::session::Session;
use crate::tasks::{Hands, Way};
use crate::transaction::Execution;
use crate::{say, trial};

/// One or several connections to a database, kept by a library (or the harness's own threads), which runs closures on them.
pub trait Hosted: Send + Sync + Sized + 'static {
    /// What such a closure sees.
    type Session<'a>: Session;

    /// Opens so many connections, runs the settings in order on each and then `ready`, whose answers it returns in the order
    /// of opening. One connection after the other: the first may have to make the schema that the next prepares for.
    ///
    /// # Errors
    /// Where that does not work, there is an option that the driver does not know ([`crate::refuse_options`]), or the
    /// library has no way to keep so many.
    fn open<R, F>(
        database: &Database,
        connection: &Connection,
        connections: u32,
        ready: F,
    ) -> impl Future<Output = Result<(Self, Vec<R>), Fault>> + Send
    where
        R: Send + 'static,
        F: for<'a> Fn(&mut Self::Session<'a>) -> Result<R, Fault> + Clone + Send + Sync + 'static;

    /// Runs this on one of the connections, when the library gives it one.
    ///
    /// # Errors
    /// Where the library does not run it, or it panics.
    fn call<R, W>(&self, work: W) -> impl Future<Output = Result<R, Fault>> + Send
    where
        R: Send + 'static,
        W: for<'a> FnOnce(&mut Self::Session<'a>) -> R + Send + 'static;

    /// Closes them; what a library does in the background is done when its runtime has been dropped.
    ///
    /// # Errors
    /// Where that does not work.
    fn close(self) -> impl Future<Output = Result<(), Fault>> + Send;
}

/// Connections to one database, whatever runs transactions on them.
pub trait Host: Send + Sync + Sized + 'static {
    /// Opens so many connections, and makes each ready. Returns what is set on them, in the order of opening.
    fn open(
        database: &'static Database,
        connection: &'static Connection,
        connections: u32,
        preparation: Preparation,
    ) -> impl Future<Output = Result<(Self, Vec<Settings>), Fault>> + Send;

    /// Runs the transaction that the hands are at, on one of them.
    fn execute(
        &self,
        hands: Box<Hands>,
        shares: bool,
    ) -> impl Future<Output = Result<(Box<Hands>, Execution), Fault>> + Send;

    /// Runs each statement to its end, on one of them.
    fn script(&self, statements: &'static [String]) -> impl Future<Output = Result<(), Fault>> + Send;

    /// What is set on each of the connections at the trial's end, of which there are so many; all are held meanwhile.
    fn settings(
        self: &Arc<Self>,
        connections: u32,
        names: &'static [String],
    ) -> impl Future<Output = Result<Vec<Settings>, Fault>> + Send;

    /// See [`crate::Awaited::account`].
    fn account(&self) -> Account {
        Account::default()
    }

    fn close(self) -> impl Future<Output = Result<(), Fault>> + Send;
}

/// What is set on a connection.
pub type Settings = BTreeMap<String, Value>;

/// What makes an open connection ready.
#[derive(Clone)]
pub struct Preparation {
    /// On the first connection of all: makes a database in memory.
    pub setup: &'static [String],
    pub read_back: &'static [String],
    pub transactions: &'static [Transaction],
    pub used: Arc<[usize]>,
    pub prepare: Prepare,
}

/// [`Hosted`]: a transaction is a closure.
pub struct Closures<H>(H);

impl<H: Hosted> Host for Closures<H> {
    async fn open(
        database: &'static Database,
        connection: &'static Connection,
        connections: u32,
        preparation: Preparation,
    ) -> Result<(Self, Vec<Settings>), Fault> {
        let fills = Arc::new(AtomicBool::new(true));
        let ready = move |session: &mut H::Session<'_>| {
            let Preparation { setup, read_back, transactions, used, prepare } = &preparation;
            if fills.swap(false, Ordering::Relaxed) {
                session.script(setup)?;
            }
            let settings = session.settings(read_back)?;
            session.prepare(transactions, used, *prepare)?;
            Ok(settings)
        };
        let (host, settings) = H::open(database, connection, connections, ready).await?;
        Ok((Self(host), settings))
    }

    async fn execute(&self, mut hands: Box<Hands>, shares: bool) -> Result<(Box<Hands>, Execution), Fault> {
        let work = move |session: &mut H::Session<'_>| {
            let execution = hands.execute(session, shares);
            (hands, execution)
        };
        let (hands, execution) = self.0.call(work).await?;
        Ok((hands, execution?))
    }

    async fn script(&self, statements: &'static [String]) -> Result<(), Fault> {
        self.0.call(move |session: &mut H::Session<'_>| session.script(statements)).await?
    }

    /// The library chooses the connection of a closure: so many at once, none of which ends before all have begun, are on one
    /// each.
    async fn settings(self: &Arc<Self>, connections: u32, names: &'static [String]) -> Result<Vec<Settings>, Fault> {
        let all = Arc::new(Meeting { missing: std::sync::Mutex::new(connections), there: Condvar::new() });
        let mut asked = JoinSet::new();
        for _ in 0..connections {
            let (host, all) = (self.clone(), all.clone());
            asked.spawn(async move {
                let ask = move |session: &mut H::Session<'_>| {
                    all.wait()?;
                    trial::settings_at_end(|| session.settings(names))
                };
                host.0.call(ask).await?
            });
        }
        let mut settings = Vec::new();
        while let Some(answer) = asked.join_next().await {
            settings.push(answer.map_err(runtime::broken)??);
        }
        Ok(settings)
    }

    async fn close(self) -> Result<(), Fault> {
        self.0.close().await
    }
}

/// Where closures wait for each other, each on a connection of its own.
struct Meeting {
    missing: std::sync::Mutex<u32>,
    there: Condvar,
}

impl Meeting {
    /// Fails where the others do not come: the library has fewer connections than it opened.
    fn wait(&self) -> Result<(), Fault> {
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        *missing = missing.saturating_sub(1);
        self.there.notify_all();
        let waited = self.there.wait_timeout_while(missing, PATIENCE, |missing| *missing > 0);
        let (missing, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match *missing {
            0 => Ok(()),
            n => {
                Err(Fault::Other(format!("at the trial's end the library lends {n} connections fewer than it opened")))
            }
        }
    }
}

/// How long closures wait for each other.
const PATIENCE: Duration = Duration::from_secs(10);

/// A worker's way to a connection.
enum Reach<H> {
    Own(Arc<H>),
    /// Its own, and the lock that a transaction which writes must hold.
    WriteLock(Arc<H>, Arc<Mutex<()>>),
    Shared(Arc<H>),
    Split {
        writer: Arc<H>,
        readers: Arc<H>,
    },
}

impl<H: Host> Way for Reach<H> {
    const NEVER_WAITS: bool = false;

    async fn execute(self, hands: Box<Hands>) -> Result<(Self, Box<Hands>, Execution), Fault> {
        let writes = hands.writes();
        let (host, lock, shares) = match &self {
            Self::Own(host) => (host, None, false),
            Self::WriteLock(host, lock) => (host, writes.then_some(lock), writes),
            Self::Shared(host) => (host, None, true),
            Self::Split { writer, readers } => (if writes { writer } else { readers }, None, true),
        };
        let held = match lock {
            Some(lock) => Some(lock.lock().await),
            None => None,
        };
        let (hands, execution) = host.execute(hands, shares).await?;
        drop(held);
        Ok((self, hands, execution))
    }
}

/// The hosts of one database: one for each worker, or one, or one that writes and one that reads.
struct Hosts<H> {
    hosts: Vec<Arc<H>>,
    /// How many connections each has.
    connections: Vec<u32>,
    /// Of each connection what it is for, in the order of the hosts.
    labels: Vec<String>,
    /// Of those of the workers' own, the next.
    next: usize,
}

impl<H: Host> Hosts<H> {
    fn reach(&mut self, access: Access, write_lock: &Arc<Mutex<()>>) -> Reach<H> {
        let mut own = || {
            self.next += 1;
            self.hosts[self.next - 1].clone()
        };
        match access {
            Access::PerWorker => Reach::Own(own()),
            Access::WriteLock => Reach::WriteLock(own(), write_lock.clone()),
            Access::Shared | Access::Pool { .. } | Access::GroupCommit { .. } => Reach::Shared(self.hosts[0].clone()),
            Access::Split { .. } => Reach::Split { writer: self.hosts[0].clone(), readers: self.hosts[1].clone() },
        }
    }

    /// What is set on each connection at the trial's end.
    async fn settings(&self, names: &'static [String]) -> Result<Vec<(String, Settings)>, Fault> {
        let mut all = Vec::new();
        for (host, connections) in self.hosts.iter().zip(&self.connections) {
            all.extend(host.settings(*connections, names).await?);
        }
        Ok(self.labels.iter().cloned().zip(all).collect())
    }

    /// Runs `teardown` on the first connection of a database in memory, and closes all.
    async fn close(self, database: &'static Database) -> Result<(), Fault> {
        if let (Database::Memory { teardown, .. }, Some(first)) = (database, self.hosts.first()) {
            first.script(teardown).await?;
        }
        for host in self.hosts {
            // Its workers have ended.
            if let Some(host) = Arc::into_inner(host) {
                host.close().await?;
            }
        }
        Ok(())
    }
}

/// The trial on one driver that runs closures.
pub fn run<H: Hosted>(trial: &Trial, input: &mut dyn BufRead) -> Result<(), Fault> {
    on::<Closures<H>>(trial, input)
}

/// The trial on one driver.
pub fn on<H: Host>(trial: &Trial, input: &mut dyn BufRead) -> Result<(), Fault> {
    let program = Program::begin(trial)?;
    // Whatever becomes of the trial: a library may need the runtime to drop a connection.
    let handle = program.runtime.handle().clone();
    let _inside = handle.enter();
    let (trial, stage) = (program.trial, program.stage);
    let mut connections = Vec::new();
    let mut databases: Vec<Hosts<H>> = Vec::new();
    for database in 0..trial.databases.len() {
        let mut opener = Opener { trial, database, settings: Vec::new(), connections: Vec::new() };
        let hosts = program.runtime.block_on(opener.all())?;
        let labels = opener.settings.iter().map(|connection| connection.label.clone()).collect();
        connections.append(&mut opener.settings);
        databases.push(Hosts { hosts, connections: opener.connections, labels, next: 0 });
    }
    let write_lock = Arc::new(Mutex::new(()));
    let workers = stage.workers(|database| databases[database].reach(trial.access, &write_lock))?;
    if !trial::ready_and_go(connections, input)? {
        return Ok(());
    }
    let Left { done, probe, hangs } = program.work(workers);
    let mut result = stage.result(probe);
    drop(done);
    databases.iter().flat_map(|d| &d.hosts).for_each(|host| host.account().enter(&mut result));
    if hangs {
        end_now(result);
    }
    let runtime = program.runtime;
    let names = &trial.connection.read_back;
    result.connections = runtime.block_on(async {
        let mut connections = Vec::new();
        for (index, (database, hosts)) in trial.databases.iter().zip(databases).enumerate() {
            connections.extend(hosts.settings(names).await?.into_iter().map(|(label, settings)| ConnectionSettings {
                database: index as u32,
                label,
                settings,
            }));
            hosts.close(database).await?;
        }
        Ok::<_, Fault>(connections)
    })?;
    // A library may close in the background, which this waits for.
    drop(runtime);
    say(&Line::Result(Box::new(result)))
}

struct Opener {
    trial: &'static Trial,
    database: usize,
    settings: Vec<ConnectionSettings>,
    /// Of each host how many it has.
    connections: Vec<u32>,
}

impl Opener {
    /// As [`crate::access::open`] does it for those that the harness keeps.
    async fn all<H: Host>(&mut self) -> Result<Vec<Arc<H>>, Fault> {
        let trial = self.trial;
        let everything: Vec<usize> = trial.roles.iter().flat_map(transactions).collect();
        let (writing, reading): (Vec<usize>, _) = everything.iter().partition(|&&t| trial.transactions[t].writes);
        let mut hosts = Vec::new();
        match trial.access {
            Access::PerWorker | Access::WriteLock => {
                let workers = |role: &'static Role| (0..role.workers).map(move |_| role);
                for role in trial.roles.iter().flat_map(workers) {
                    hosts.push(self.open(&role.name, 1, transactions(role)).await?);
                }
            }
            Access::Shared => hosts.push(self.open("shared", 1, everything).await?),
            Access::Pool { connections } => hosts.push(self.open("pool", connections, everything).await?),
            Access::Split { readers } => {
                hosts.push(self.open("writer", 1, writing).await?);
                hosts.push(self.open("reader", readers, reading).await?);
            }
            Access::GroupCommit { readers } => {
                // One host has them all, and decides itself which of them a call needs.
                hosts.push(self.open("writer", readers + 1, everything).await?);
                self.settings.iter_mut().skip(1).for_each(|reader| reader.label = "reader".into());
            }
        }
        Ok(hosts)
    }

    async fn open<H: Host>(&mut self, label: &str, connections: u32, used: Vec<usize>) -> Result<Arc<H>, Fault> {
        let Trial { databases, connection, prepare, transactions, .. } = self.trial;
        let database = &databases[self.database];
        need_one(connections, self.trial)?;
        let first = self.settings.is_empty();
        if (connections > 1 || !first)
            && let Some(refused) = private(database)
        {
            return Err(refused);
        }
        let setup: &[String] = match database {
            Database::Memory { setup, .. } if first => setup,
            _ => &[],
        };
        let read_back = &connection.read_back;
        let preparation = Preparation { setup, read_back, transactions, used: used.into(), prepare: *prepare };
        let (host, settings) = H::open(database, connection, connections, preparation).await?;
        for settings in settings {
            self.settings.push(ConnectionSettings { database: self.database as u32, label: label.into(), settings });
        }
        self.connections.push(connections);
        Ok(Arc::new(host))
    }
}
