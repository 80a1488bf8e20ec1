//! A scratch database for the tests.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use onewriter::{Database, Error, Options, Tx};
use rusqlite::Connection;

/// A database in a temporary directory, which is removed on drop.
pub struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("test.db")
    }

    /// Those of a database here, with time for each commit.
    pub fn options(&self) -> Options {
        patient(Options::new(self.path()))
    }

    /// Opens the database with an empty table `note(id INTEGER PRIMARY KEY, text TEXT UNIQUE)`.
    pub fn open(&self) -> Database {
        self.open_with(self.options())
    }

    pub fn open_with(&self, options: Options) -> Database {
        let db = options.open().expect("it opens");
        let made = db.write_with(|c| {
            c.execute_batch("CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT UNIQUE)").map_err(Error::from)
        });
        made.expect("the table");
        db
    }
}

/// Gives a commit the time for all writes that wait, on the busiest machine.
pub fn patient(options: Options) -> Options {
    options.max_batch(256, Duration::from_secs(60))
}

/// The rows of `note`, read through a new connection.
pub fn notes(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).expect("it opens");
    let check: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("checked");
    assert_eq!(check, "ok");
    let mut select = connection.prepare("SELECT text FROM note ORDER BY id").expect("prepared");
    let rows = select.query_map([], |row| row.get(0)).expect("run");
    rows.map(|row| row.expect("a text")).collect()
}

/// Returns a closure that inserts a note.
pub fn add(text: &str) -> impl FnMut(&mut Tx<'_>) -> Result<i64, Error> + Send + use<> {
    let text = text.to_owned();
    move |c| {
        c.prepare_cached("INSERT INTO note(text) VALUES (?1)")?.execute([&text])?;
        Ok(c.last_insert_rowid())
    }
}

/// Runs these closures in one commit: the writer is blocked until all of them are queued.
pub fn together<T: Send + 'static>(db: &Database, closures: Vec<Closure<T>>) -> Vec<Result<T, Error>> {
    mixed(db, closures.into_iter().map(|closure| (false, closure)).collect())
}

/// Like [`together`], with closures marked `true` run by `write_repeatable`.
pub fn mixed<T: Send + 'static>(db: &Database, closures: Vec<(bool, Closure<T>)>) -> Vec<Result<T, Error>> {
    let (here, arrived) = channel();
    let (go, gone) = channel::<()>();
    let holder = db.clone();
    let holder = thread::spawn(move || {
        holder.write_with(move |_| {
            here.send(()).expect("the test waits");
            Ok::<_, Error>(gone.recv().is_ok())
        })
    });
    arrived.recv().expect("the writer is kept");
    let mut threads = Vec::new();
    for (is_repeatable, closure) in closures {
        let writer = db.clone();
        let write = move || if is_repeatable { writer.write_repeatable(closure) } else { writer.write_with(closure) };
        threads.push(thread::spawn(write));
        while db.counters().queued < threads.len() as u64 {
            thread::yield_now();
        }
    }
    go.send(()).expect("the holder waits");
    holder.join().expect("no panic").expect("it wrote");
    threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
}

pub type Closure<T> = Box<dyn FnMut(&mut Tx<'_>) -> Result<T, Error> + Send>;

pub fn boxed<T>(closure: impl FnMut(&mut Tx<'_>) -> Result<T, Error> + Send + 'static) -> Closure<T> {
    Box::new(closure)
}
