//! One writer per SQLite database: concurrent writes share one durable commit.
//!
//! SQLite allows one writing connection at a time. If every worker of an application has a connection of its own,
//! writers wait in SQLite's busy handler, which sleeps and retries: some writers starve, some get `SQLITE_BUSY`, and
//! every commit needs its own sync. In this crate writes are closures in one first-in, first-out queue. One thread runs
//! all waiting closures in one transaction, each isolated by a savepoint, and answers their callers after the commit:
//!
//! ```
//! # fn main() -> Result<(), onewriter::Error> {
//! # let folder = tempfile::tempdir().expect("a folder");
//! # let path = folder.path().join("app.db");
//! use onewriter::{Error, Options};
//!
//! let db = Options::new(&path).open()?;
//! db.write(|c| Ok::<_, Error>(c.execute_batch("CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)")?))?;
//!
//! // From any thread; in asynchronous code use `write_async`. On disk when it returns.
//! let id = db.write(|c| {
//!     c.prepare_cached("INSERT INTO note(text) VALUES (?1)")?.execute(["hello"])?;
//!     Ok::<_, Error>(c.last_insert_rowid())
//! })?;
//!
//! let text: String = db.read(move |c| {
//!     Ok::<_, Error>(c.query_row("SELECT text FROM note WHERE id = ?1", [id], |row| row.get(0))?)
//! })?;
//! assert_eq!(text, "hello");
//! db.close()
//! # }
//! ```
//!
//! **Guarantees.** The changes of a closure are in the database completely or not at all. Each caller gets exactly one
//! answer: the result after the commit, or an error. A closure that fails or panics loses its own changes and no others
//! (except with [`Database::write_unguarded`], which has no savepoint). Closures run in the order in which they were
//! queued. The length of the queue, the number of readers, and the size and duration of a commit are bounded.
//!
//! **Limits.** A closure can run and its commit fail; effects outside the database are not undone. A closure delays all
//! queued after it, so it should do nothing slow. It cannot begin or end a transaction, attach a database or change a
//! setting ([`Error::NotAllowed`]). Statements that it leaves running, for example with [`std::mem::forget`], are reset at
//! its end, and its open savepoints are released. What it leaves in the connection by other ways stays for later closures: temporary
//! tables, functions, a busy timeout set by a method. Other processes may write to the same file; the writer waits for
//! them up to the busy timeout (rusqlite's default: 5 s). A database is not usable in a forked child.
//!
//! **Nesting.** A write inside a write, a read inside a read, and `close` inside either return [`Error::Nested`] in
//! place of waiting for themselves, also through closures of other databases. A closure that blocks on another thread or
//! task which waits for the same database is not detected. If closures of two databases write to each other's database,
//! they can wait for each other: nest databases in one order only.
//!
//! **Latency.** A closure runs in the thread of its caller, if there are no concurrent callers, or in the writer thread. With several callers, the writer delays a
//! commit for those that it has just answered, as long as writes keep arriving (at least one per 30 µs), and for at
//! most half of the time of a commit. A thread that wakes with its answer may wake other waiting threads before it
//! returns.
//!
//! **Checkpoints** are run by this crate: passive ones in the background from 1,000 frames, and with truncation of the
//! log from 64 MB ([`Checkpoints`]). A long read transaction prevents truncation; a `tracing` warning and
//! [`Counters::oldest_reader`] report its age. Each commit is a `tracing` span named `commit` at level debug.

#![deny(unsafe_code)]

mod authorize;
mod checkpoint;
mod connection;
mod counters;
mod database;
mod error;
mod job;
mod nesting;
mod options;
mod queue;
mod readers;
mod sync;
mod writer;

pub use counters::Counters;
pub use database::Database;
pub use error::Error;
pub use options::{Checkpoints, Durability, Options};
