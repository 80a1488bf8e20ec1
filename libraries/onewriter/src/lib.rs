//! One writer per SQLite database, and one durable commit for all who write at the same time.
//!
//! SQLite lets one connection write at a time. Applications that give every worker a connection of its own make them wait in
//! SQLite's busy handler, which sleeps and tries again: the lucky starve the others, some get `SQLITE_BUSY`, and each of them
//! pays for a sync of its own. Here writes are closures. They wait in one queue, first come first served, and whoever
//! writes does what waits in one transaction, each closure in a savepoint of its own, and answers after the commit:
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
//! // From any number of threads; `write_async` in asynchronous code. On the disk when it returns.
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
//! **What is promised.** A closure's changes are all in the database or none. Its caller is answered after the commit, or with
//! an error, and always answered. A closure that fails or panics takes back its own changes and nobody else's (but for
//! [`Database::write_unguarded`], which does without a savepoint). Closures run in the order in which they were accepted. The
//! queue, the readers and a commit's size and time are bounded.
//!
//! **What is not.** A closure may run and its commit fail: what it did outside the database is not taken back. It
//! delays all that wait behind it, so it should do nothing slow, and it can neither begin nor end a transaction (SQLite refuses
//! it inside). Other processes may write to the same file: the writer waits for them as the busy timeout says (5 s by
//! rusqlite's default).
//!
//! **How long a write waits.** A caller that is alone writes in its own thread. Where several write, the writer waits with a
//! commit for those it has just answered, as long as they keep coming (one in 30 µs) and half a commit's time at most. A
//! thread that is woken with its answer wakes others that have theirs before it returns.
//!
//! **Checkpoints** are the layer's: beside the writer from 1,000 frames on, and with the log cut past 64 MB
//! ([`Checkpoints`]). A reader that stays too long keeps the log from being cut: a warning through `tracing` says how old it
//! is, and so does [`Counters::oldest_reader`]. Each commit is a `tracing` span of its own, `commit`, at level debug.

#![deny(unsafe_code)]

mod checkpoint;
mod connection;
mod counters;
mod database;
mod error;
mod job;
mod options;
mod queue;
mod readers;
mod sync;
mod writer;

pub use counters::Counters;
pub use database::Database;
pub use error::Error;
pub use options::{Checkpoints, Durability, Options};
