//! The driver `by-hand`: a group commit as an application writes it in an afternoon. A channel, one thread, one
//! transaction for all that wait, and no savepoint: if a transaction fails, all that share its commit are rolled back
//! and receive its error.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use litelab_harness::rusqlite::{Cached, CheckedStatements, connect, fault};
use litelab_harness::{Fault, GroupCommit, Library, Reply, Request, Settings, Setup, refuse_options, settings_at_end};
use litelab_protocol::Database;
use rusqlite::Connection;
use tokio::sync::oneshot;

/// Largest number of transactions in one commit.
const MOST: usize = 256;

type Work<'a> = Box<dyn FnOnce(&Connection) -> Result<(), Fault> + Send + 'a>;

/// Where the answer to work goes.
enum Answer {
    Thread(SyncSender<Result<(), Fault>>),
    Task(oneshot::Sender<Result<(), Fault>>),
}

impl Answer {
    fn send(self, done: Result<(), Fault>) {
        // A worker that has ended waits for nothing.
        let _gone = match self {
            Self::Thread(thread) => thread.send(done).is_ok(),
            Self::Task(task) => task.send(done).is_ok(),
        };
    }
}

/// The connection that writes, in a thread of its own, and those that read.
pub struct ByHand {
    jobs: Sender<(Work<'static>, Answer)>,
    writer: JoinHandle<()>,
    idle: (Sender<Connection>, Mutex<Receiver<Connection>>),
    writing: Arc<CheckedStatements>,
    reading: Arc<CheckedStatements>,
    readers: usize,
}

/// The main loop of the thread that writes.
fn serve(connection: &Connection, jobs: &Receiver<(Work<'_>, Answer)>) {
    let execute = |sql: &str| connection.prepare_cached(sql)?.execute([]).map(drop);
    let mut answers = Vec::with_capacity(MOST);
    while let Ok(first) = jobs.recv() {
        let mut done = execute("BEGIN IMMEDIATE").map_err(fault);
        let mut next = Some(first);
        while let Some((work, answer)) = next.take() {
            done = done.and_then(|()| work(connection));
            answers.push(answer);
            if answers.len() < MOST && done.is_ok() {
                next = jobs.try_recv().ok();
            }
        }
        done = done.and_then(|()| execute("COMMIT").map_err(fault));
        if !connection.is_autocommit() {
            // Fails only if SQLite has already rolled back.
            let _gone = execute("ROLLBACK");
        }
        for answer in answers.drain(..) {
            answer.send(done.as_ref().copied().map_err(again));
        }
    }
}

/// The error for each of those who share it.
fn again(failed: &Fault) -> Fault {
    match failed {
        Fault::Sqlite { code, message } => Fault::Sqlite { code: *code, message: message.clone() },
        other => Fault::Other(other.to_string()),
    }
}

fn ended<E>(_: E) -> Fault {
    Fault::Other("the thread that writes has ended".into())
}

impl ByHand {
    /// Sends work to the thread that writes. Returns the place of its result, which is there after the answer.
    fn send<'a, R: Send + 'a>(
        &self,
        work: impl FnOnce(&Connection) -> Result<R, Fault> + Send + 'a,
        answer: Answer,
    ) -> Result<Arc<Mutex<Option<R>>>, Fault> {
        let result = Arc::new(Mutex::new(None));
        let place = result.clone();
        let work: Work<'a> = Box::new(move |connection| {
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(work(connection)?);
            Ok(())
        });
        // SAFETY: what the work borrows outlives it: a blocked caller waits for the answer, which is sent after the work
        // was called or dropped, and an awaited one borrows nothing.
        #[expect(
            unsafe_code,
            reason = "an application sends work that owns its data; a worker of the harness lends it"
        )]
        let work = unsafe { std::mem::transmute::<Work<'a>, Work<'static>>(work) };
        self.jobs.send((work, answer)).map_err(ended)?;
        Ok(result)
    }

    async fn ask<R: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<R, Fault> + Send + 'static,
    ) -> Result<R, Fault> {
        let (answer, answered) = oneshot::channel();
        let result = self.send(work, Answer::Task(answer))?;
        answered.await.map_err(ended)??;
        taken(&result)
    }

    /// As [`ByHand::ask`], but blocks the thread.
    fn write<R: Send>(&self, work: impl FnOnce(&Connection) -> Result<R, Fault> + Send) -> Result<R, Fault> {
        let (answer, answered) = sync_channel(1);
        let result = self.send(work, Answer::Thread(answer))?;
        answered.recv().map_err(ended)??;
        taken(&result)
    }

    /// Lends a connection that reads.
    fn read<R>(&self, work: impl FnOnce(&Connection) -> Result<R, Fault>) -> Result<R, Fault> {
        let connection = self.idle.1.lock().unwrap_or_else(PoisonError::into_inner).recv().map_err(ended)?;
        let done = work(&connection);
        self.idle.0.send(connection).map_err(ended)?;
        done
    }

    /// Runs a transaction that only reads.
    fn query(&self, request: &mut Request<'_>) -> Result<Reply, Fault> {
        self.read(|connection| {
            // Rolled back if it fails.
            let transaction = connection.unchecked_transaction().map_err(fault)?;
            let reply = request.run_attempt(&mut Cached::new(connection, &self.reading))?;
            transaction.commit().map_err(fault)?;
            Ok(reply)
        })
    }
}

/// Takes the result of work that was answered.
fn taken<R>(result: &Mutex<Option<R>>) -> Result<R, Fault> {
    result.lock().unwrap_or_else(PoisonError::into_inner).take().ok_or_else(|| ended(()))
}

impl Library for ByHand {
    async fn open(
        location: &Database,
        settings: &litelab_protocol::Connection,
        connections: u32,
        setup: &Setup,
    ) -> Result<(Self, Vec<Settings>), Fault> {
        refuse_options(settings, &[])?;
        let (writing, reading) = (Arc::<CheckedStatements>::default(), Arc::<CheckedStatements>::default());
        let open = |writes: bool, checked: &CheckedStatements| {
            let connection = Connection::open(connect::location(location)).map_err(fault)?;
            connect::set(&connection, settings)?;
            let journal: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)).map_err(fault)?;
            if journal != "wal" {
                return Err(Fault::Other(format!(
                    "its journal mode is {journal}, and readers beside a writer need WAL"
                )));
            }
            let answer = setup.only(writes).run(&mut Cached::new(&connection, checked))?;
            Ok::<_, Fault>((connection, answer))
        };
        let (connection, answer) = open(true, &writing)?;
        let mut answers = vec![answer];
        let idle = channel();
        let readers = connections as usize - 1;
        for _ in 0..readers {
            let (connection, answer) = open(false, &reading)?;
            idle.0.send(connection).map_err(ended)?;
            answers.push(answer);
        }
        let (jobs, received) = channel();
        let writer = thread::spawn(move || serve(&connection, &received));
        Ok((Self { jobs, writer, idle: (idle.0, Mutex::new(idle.1)), writing, reading, readers }, answers))
    }

    async fn run(&self, mut request: Request<'static>) -> Result<Reply, Fault> {
        if !request.writes()? {
            return tokio::task::block_in_place(|| self.query(&mut request));
        }
        let checked = self.writing.clone();
        let work = move |connection: &Connection| request.run_attempt(&mut Cached::new(connection, &checked));
        self.ask(work).await
    }

    async fn settings(self: &Arc<Self>, _: u32, names: &'static [String]) -> Result<Vec<Settings>, Fault> {
        let read_back = |connection: &Connection| connect::read_back(connection, names);
        let mut answers = vec![settings_at_end(|| self.write(read_back))?];
        for _ in 0..self.readers {
            answers.push(settings_at_end(|| self.read(read_back))?);
        }
        Ok(answers)
    }

    async fn close(self) -> Result<(), Fault> {
        drop(self.jobs);
        self.writer.join().map_err(ended)
    }
}

impl GroupCommit for ByHand {
    fn run_blocking(&self, mut request: Request<'_>) -> Result<Reply, Fault> {
        if !request.writes()? {
            return self.query(&mut request);
        }
        self.write(|connection| request.run_attempt(&mut Cached::new(connection, &self.writing)))
    }
}
