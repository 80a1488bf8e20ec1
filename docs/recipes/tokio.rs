//! SQLite beside a tokio runtime: a thread that owns the connection that writes, and some that own those that read.
//!
//! Checked by:
//!     litelab doctor app.db --driver rusqlite --dsn app.db --pragma journal_mode=WAL --pragma synchronous=FULL
//!         --pragma foreign_keys=1

use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

type Job = Box<dyn FnOnce(&mut Connection) + Send>;
type Error = Box<dyn std::error::Error + Send + Sync>;

/// A connection in a thread of its own. Who calls it waits without holding a thread of the runtime.
#[derive(Clone)]
struct Owner(mpsc::Sender<Job>);

impl Owner {
    /// The thread ends when all clones are dropped and the calls that were accepted are done.
    fn open(path: &str, query_only: bool) -> rusqlite::Result<(Self, JoinHandle<()>)> {
        let mut db = Connection::open(path)?;
        db.busy_timeout(Duration::from_secs(5))?;
        db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = 1")?;
        db.pragma_update(None, "query_only", query_only)?;
        // Callers beyond these wait until there is room.
        let (send, mut jobs) = mpsc::channel::<Job>(64);
        let thread = thread::spawn(move || {
            while let Some(job) = jobs.blocking_recv() {
                job(&mut db);
            }
        });
        Ok((Self(send), thread))
    }

    /// Runs `work` in the thread, also if the caller does not wait for the answer. Fails if the thread has ended, as
    /// after a panic of an earlier call: then end the process.
    async fn call<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<R> + Send + 'static,
    ) -> Result<R, Error> {
        let (answer, answered) = oneshot::channel();
        let job = move |db: &mut Connection| drop(answer.send(work(db)));
        self.0.send(Box::new(job)).await.map_err(|_| "the database thread has ended")?;
        Ok(answered.await??)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let path = std::env::args().nth(1).ok_or("a path is missing")?;
    let (writer, writing) = Owner::open(&path, false)?;
    let (reader, reading) = Owner::open(&path, true)?;
    writer
        .call(|db| {
            // With the write lock from its begin; a deferred one that reads first can fail in its middle.
            let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            tx.execute_batch("CREATE TABLE IF NOT EXISTS note(id INTEGER PRIMARY KEY, text TEXT NOT NULL)")?;
            tx.execute("INSERT INTO note(text) VALUES (?1)", ["a"])?;
            tx.commit()
        })
        .await?;
    for (name, sql) in [
        ("journal_mode", "SELECT journal_mode FROM pragma_journal_mode"),
        ("synchronous", "SELECT CAST(synchronous AS TEXT) FROM pragma_synchronous"),
        ("busy_timeout", "SELECT CAST(timeout AS TEXT) FROM pragma_busy_timeout"),
        ("foreign_keys", "SELECT CAST(foreign_keys AS TEXT) FROM pragma_foreign_keys"),
    ] {
        let read = |db: &mut Connection| db.query_row(sql, [], |row| row.get::<_, String>(0));
        let (one, other) = (writer.call(read).await?, reader.call(read).await?);
        assert_eq!(one, other, "{name}");
        println!("{name} {one}");
    }
    println!("ready");
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    drop((reader, writer));
    for thread in [reading, writing] {
        thread.join().map_err(|_| "a database thread has panicked")?;
    }
    Ok(())
}
