//! One writer per SQLite database: concurrent writes share one durable commit.
//!
//! SQLite allows one writing connection at a time. If every worker of an application has a connection of its own,
//! writers wait in SQLite's busy handler, which sleeps and retries: some writers starve, some get `SQLITE_BUSY`, and
//! every commit needs its own sync. In this crate writes are closures in one first-in, first-out queue. One thread runs
//! all waiting closures in one transaction, isolated from each other, and answers their callers after the commit:
//!
//! ```
//! # let folder = tempfile::tempdir().expect("a folder");
//! # let path = folder.path().join("app.db");
//! use onewriter::Options;
//!
//! // WAL, `synchronous = FULL`, four connections that read.
//! let db = Options::new(&path).open()?;
//! db.write(|tx| tx.execute_batch("CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)"))?;
//!
//! // From any thread, on the disk when it returns. In asynchronous code: `execute_async`.
//! db.execute("INSERT INTO note(text) VALUES (?1)", ["hello"])?;
//!
//! // Several statements in one transaction. In asynchronous code: `write_async`.
//! let id = db.write(|tx| {
//!     tx.execute("UPDATE note SET text = 'hello, world' WHERE text = ?1", ["hello"])?;
//!     tx.execute("INSERT INTO note(text) VALUES (?1)", ["bye"])?;
//!     Ok(tx.last_insert_rowid())
//! })?;
//!
//! let text: String = db.query_row("SELECT text FROM note WHERE id = ?1", [id], |row| row.get(0))?;
//! assert_eq!(text, "bye");
//! db.close()?;
//! # Ok::<_, onewriter::Error>(())
//! ```
//!
//! | to | call |
//! |---|---|
//! | write one statement | [`Database::execute`], [`Database::execute_returning`] |
//! | write several | [`Database::write`], with errors of the application [`Database::write_with`] |
//! | write fast beside many others | [`Database::write_repeatable`] |
//! | read | [`Database::query_row`], [`Database::query_map`], [`Database::read`] |
//! | migrate, `VACUUM`, use a `&mut Connection` | [`Database::exclusive`] |
//! | copy, carry the log over | [`Database::backup_to`], [`Database::checkpoint`] |
//! | limit waiting and running | [`Database::with_timeout`], [`Options::max_write`], [`Options::max_read`] |
//! | test | [`Options::temporary`] |
//!
//! Reads, writes, `exclusive` and `close` have a form for asynchronous code, which runs on any runtime. The crate starts two threads of its own for each
//! database, and for asynchronous reads up to one more for each connection.
//!
//! **Guarantees.** With [`Durability::Full`], **the default**, what was answered with `Ok` survives a loss of power, as
//! far as the disk keeps what it has synced. The changes of a closure are in the database completely or not at all. Each
//! caller gets exactly one answer: the result after the commit, or an error. A closure that fails or panics loses its
//! own changes and no others. Closures run in the order in which they were queued, in the thread of their caller or in
//! the writer thread, and never in the thread of another caller. The size and the duration of a commit are bounded.
//!
//! **Limits.** A closure can run and its commit fail; effects outside the database are not undone. After a failed sync,
//! see [`Error::Commit`] and [`Options::stop_after_failed_sync`]. A closure delays all queued after it, so it should do
//! nothing slow. It cannot begin or end a transaction, attach a database or change a setting ([`Error::NotAllowed`]).
//! Statements that it leaves running, for example with [`std::mem::forget`], are reset at its end, and its open
//! savepoints are released. What it leaves in the connection by other ways stays for later closures: temporary tables,
//! functions. Some errors roll back a whole transaction (a full disk, `INSERT OR ROLLBACK`): all who share it get
//! [`Error::RolledBack`]. A database is not usable in a forked child ([`Error::Forked`]).
//!
//! **Other processes** may write to the same file; the writer waits for them up to the busy timeout (rusqlite's default:
//! 5 s). Do not use it for a file on a network file system.
//!
//! **Nesting.** A write inside a write, a read inside a read, and `close` inside either return [`Error::Nested`] in
//! place of waiting for themselves, also through closures of other databases. A closure that blocks on another thread or
//! task which waits for the same database is not detected. Reads that write and writes that read, of one database or of
//! two, can wait for each other: nest in one order only.
//!
//! **Checkpoints** are run by this crate: passive ones in the background from 1,000 frames and when nothing has been
//! written for a second, and with truncation of the log from 64 MB ([`Checkpoints`]). A long read transaction prevents
//! truncation, and so do short ones that overlap without a gap; a `tracing` warning and [`Counters::oldest_reader`] report its age, and [`Options::max_log`] bounds it.
//! Beside Litestream use [`Checkpoints::external`].
//!
//! **Observation.** [`Database::counters`] has the sizes of commits, the times of waiting and the state of the log. Each
//! commit is a `tracing` span named `commit` at level debug. Closures run in the span of their caller.
//!
//! **rusqlite** is part of the interface, and exported: [`rusqlite`]. Each release of it that breaks compatibility brings
//! one of this crate that does. Features of this crate pass on those of rusqlite. SQLite is bundled by default; a
//! system's must be 3.44 or newer. In versions before 3.51.3, of which some can corrupt a database when two connections
//! checkpoint (<https://sqlite.org/wal.html#walresetbug>), only the writer does.
//!
//! Guides: [`guide`].

#![deny(unsafe_code)]
#![warn(missing_docs)]

/// The program of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod authorize;
mod batch;
mod checkpoint;
mod connection;
mod counters;
mod database;
mod error;
mod fork;
pub mod guide;
mod job;
mod maintenance;
mod nesting;
mod options;
mod panics;
mod queue;
mod readers;
mod shared;
mod sql;
mod statements;
mod sync;
mod temporary;
mod tx;
mod wait;
mod watch;
mod writer;

pub use counters::{Counters, Histogram};
pub use database::Database;
pub use error::{Error, Result};
pub use maintenance::allocate_pages_singly;
pub use options::{Checkpoints, Durability, Options};
pub use rusqlite;
pub use tx::Tx;
