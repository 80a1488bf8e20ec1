//! Access `group-commit`: a layer through which all workers write to a database. It takes closures, runs those of several
//! workers in one transaction, and answers each after the commit; readers have connections of their own.

use std::io::BufRead;

use litelab_protocol::{Access, Connection, ConnectionSettings, Database, Executor, Line, Transaction, Trial, Value};

use crate::access::{need_one, transactions};
use crate::clock::{Clock, pause};
use crate::fault::Fault;
use crate::joined;
use crate::params::{Params, Values};
use crate::session::{Effect, Session};
use crate::stage::Stage;
use crate::transaction::{self, Ending, Execution, Memory, Plan, Retrying};
use crate::trial::{ready_and_go, settings_at_end};
use crate::worker::Route;
use crate::{say, threads};

/// Such a layer over one database.
///
/// Begin and commit are its own, so the trial's closures send neither: of a session only what executes is called.
pub trait Group: Send + Sync + Sized + 'static {
    /// What a closure sees.
    type Session<'a>: Session;

    /// Opens the connection that writes and so many that read, runs the settings in order on each and then `ready`, whose
    /// answers it returns: of the writer, then of the readers.
    ///
    /// # Errors
    /// Where that does not work, or there is an option that the layer does not know ([`crate::refuse_options`]).
    fn open<R, F>(
        database: &Database,
        connection: &Connection,
        readers: u32,
        ready: F,
    ) -> Result<(Self, Vec<R>), Fault>
    where
        R: Send,
        F: Fn(&mut Self::Session<'_>, Side) -> Result<R, Fault> + Sync;

    /// Runs this, which is the trial's transaction of that index, and commits; the thread waits. What fails is rolled back.
    ///
    /// # Errors
    /// The closure's, and the layer's: [`Fault::Sqlite`] is counted, anything else ends the trial; so with the next three.
    fn write<R: Send>(
        &self,
        transaction: usize,
        work: impl FnOnce(&mut Self::Session<'_>) -> Result<R, Fault> + Send,
    ) -> Result<R, Fault>;

    /// Runs this on a connection that reads, in this thread.
    ///
    /// # Errors
    /// As for `write`.
    fn read<R>(&self, work: impl FnOnce(&mut Self::Session<'_>) -> Result<R, Fault>) -> Result<R, Fault>;

    /// As `write`, awaited.
    ///
    /// # Errors
    /// As for `write`.
    fn write_async<R, W>(&self, transaction: usize, work: W) -> impl Future<Output = Result<R, Fault>> + Send
    where
        R: Send + 'static,
        W: for<'a> FnOnce(&mut Self::Session<'a>) -> Result<R, Fault> + Send + 'static;

    /// As `read`, awaited.
    ///
    /// # Errors
    /// As for `write`.
    fn read_async<R, W>(&self, work: W) -> impl Future<Output = Result<R, Fault>> + Send
    where
        R: Send + 'static,
        W: for<'a> FnOnce(&mut Self::Session<'a>) -> Result<R, Fault> + Send + 'static;

    /// Closes all connections, when what waits is done.
    ///
    /// # Errors
    /// Where that does not work.
    fn close(self) -> Result<(), Fault>;
}

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// It writes.
    Writer,
    /// It reads.
    Reader,
}

/// A worker's way to the layer.
struct Member<'a, G>(&'a G);

impl<G: Group> Route for Member<'_, G> {
    fn execute(
        &mut self,
        plan: &Plan<'_>,
        (params, values): (&Params, &Values),
        memory: &mut Memory,
        retry: &Retrying,
        clock: Clock,
    ) -> Result<Execution, Fault> {
        memory.errors.clear();
        loop {
            let group = self.0;
            let work = |session: &mut G::Session<'_>| once(plan, session, (params, values), memory, clock);
            let tried = if plan.spec.writes { group.write(plan.index, work) } else { group.read(work) };
            match judge(tried, plan, memory, retry)? {
                Next::Ended(mut execution) => {
                    execution.end = clock.now();
                    return Ok(execution);
                }
                Next::Again { nanos } => pause(nanos),
            }
        }
    }
}

/// One try, in a transaction that the layer has begun. Its end is not known yet.
pub fn once<S: Session>(
    plan: &Plan<'_>,
    session: &mut S,
    (params, values): (&Params, &Values),
    memory: &mut Memory,
    clock: Clock,
) -> Result<Execution, Fault> {
    let had = Some(clock.now());
    let mut effect = Effect::new(&mut memory.yielded);
    let (ending, rows) = transaction::statements(plan, session, params, values, &mut effect, clock)?;
    let Effect { query, first_row, verified, mismatches, .. } = effect;
    Ok(Execution { ending, had, end: 0, rows, query, first_row, verified, mismatches })
}

/// What follows a try.
pub enum Next {
    Ended(Execution),
    Again { nanos: u64 },
}

/// Keeps what the layer has committed, takes back what it has rolled back.
pub fn judge(
    tried: Result<Execution, Fault>,
    plan: &Plan<'_>,
    memory: &mut Memory,
    retry: &Retrying,
) -> Result<Next, Fault> {
    let (code, message) = match tried {
        Ok(execution) => {
            memory.keep(plan);
            return Ok(Next::Ended(execution));
        }
        Err(Fault::Sqlite { code, message }) => (code, message),
        Err(fault) => return Err(fault.during(&plan.spec.name)),
    };
    memory.fail(plan, code, message);
    let done = memory.errors.len() as u32;
    if let Some(nanos) = retry.again(done, code) {
        return Ok(Next::Again { nanos });
    }
    let ending = Ending::Failed;
    Ok(Next::Ended(Execution {
        ending,
        had: None,
        end: 0,
        rows: 0,
        query: None,
        first_row: None,
        verified: 0,
        mismatches: 0,
    }))
}

/// The layers of all databases, and what is set on their connections.
pub fn open<G: Group>(trial: &Trial) -> Result<(Vec<G>, Vec<ConnectionSettings>), Fault> {
    let everything: Vec<usize> = trial.roles.iter().flat_map(transactions).collect();
    let (writing, reading): (Vec<usize>, _) = everything.iter().partition(|&&t| trial.transactions[t].writes);
    let Access::GroupCommit { readers } = trial.access else {
        return Err(Fault::Other(format!("access {} is no layer's", trial.access)));
    };
    let (mut groups, mut connections) = (Vec::new(), Vec::new());
    for (index, database) in trial.databases.iter().enumerate() {
        if let Database::Memory { name, .. } = database {
            let reason = "has no write-ahead log, which access group-commit needs";
            return Err(Fault::Other(format!("memory database `{name}` {reason}")));
        }
        need_one(readers, trial)?;
        let (group, answers) = G::open(database, &trial.connection, readers, |session, side| {
            let used = if side == Side::Writer { &writing } else { &reading };
            make_ready(session, trial, used)
        })?;
        groups.push(group);
        for (at, settings) in answers.into_iter().enumerate() {
            let label = if at == 0 { "writer" } else { "reader" };
            connections.push(ConnectionSettings { database: index as u32, label: label.into(), settings });
        }
    }
    Ok((groups, connections))
}

type Settings = std::collections::BTreeMap<String, Value>;

/// What is set on the connections of all layers at the trial's end. Those that read are all held meanwhile.
pub fn settings_of_all<'g, G: Group>(
    trial: &Trial,
    groups: impl IntoIterator<Item = &'g G>,
) -> Result<Vec<ConnectionSettings>, Fault> {
    let Access::GroupCommit { readers } = trial.access else { return Ok(Vec::new()) };
    let names = &trial.connection.read_back;
    let writing = trial.transactions.iter().position(|t| t.writes).unwrap_or_default();
    let mut connections = Vec::new();
    for (index, group) in groups.into_iter().enumerate() {
        let writer = settings_at_end(|| group.write(writing, |session| session.settings(names)))?;
        let mut all = vec![("writer", writer)];
        each_reader(group, readers, &mut |session| {
            all.push(("reader", settings_at_end(|| session.settings(names))?));
            Ok(())
        })?;
        connections.extend(all.into_iter().map(|(label, settings)| ConnectionSettings {
            database: index as u32,
            label: label.into(),
            settings,
        }));
    }
    Ok(connections)
}

fn each_reader<G: Group>(
    group: &G,
    left: u32,
    ask: &mut dyn FnMut(&mut G::Session<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    if left == 0 {
        return Ok(());
    }
    group.read(|session| {
        ask(session)?;
        each_reader(group, left - 1, ask)
    })
}

fn make_ready<S: Session>(session: &mut S, trial: &Trial, used: &[usize]) -> Result<Settings, Fault> {
    let settings = session.settings(&trial.connection.read_back)?;
    let transactions: &[Transaction] = &trial.transactions;
    session.prepare(transactions, used, trial.prepare)?;
    Ok(settings)
}

/// The trial through one layer.
pub fn run<G: Group>(trial: &Trial, input: &mut dyn BufRead) -> Result<(), Fault> {
    match trial.executor {
        Executor::Threads | Executor::Processes => in_threads::<G>(trial, input),
        Executor::Inline => joined::run::<G, true>(trial, input),
        Executor::Offload | Executor::Dedicated => joined::run::<G, false>(trial, input),
    }
}

fn in_threads<G: Group>(trial: &Trial, input: &mut dyn BufRead) -> Result<(), Fault> {
    let stage = Stage::new(trial)?;
    let (groups, connections) = open::<G>(trial)?;
    let workers = stage.workers(|database| Member(&groups[database]))?;
    if !ready_and_go(connections, input)? {
        return Ok(());
    }
    let (done, probe) = threads::run(&stage, workers);
    let mut result = stage.result(probe);
    drop(done);
    result.connections = settings_of_all(trial, &groups)?;
    groups.into_iter().try_for_each(G::close)?;
    say(&Line::Result(Box::new(result)))
}
