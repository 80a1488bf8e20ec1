//! Observation of databases, processes and the host from outside the runner, independent of its language.
//!
//! This crate never opens a database with SQLite and never takes a lock. It reads files through new read-only
//! descriptors, which has one hazard: POSIX drops **all** record locks that a process holds on a file when it closes
//! *any* descriptor of that file (<https://sqlite.org/howtocorrupt.html>, section 2.2). This is harmless only while
//! this process has no SQLite connection to the observed databases. The contract of this crate is therefore: a
//! [`Sampler`] runs while the trial's runner processes own the database, and is stopped before this process opens it.
//!
//! Sources of the layouts: <https://sqlite.org/fileformat2.html#walformat> and <https://sqlite.org/walformat.html>.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion"))]

mod checksum;
mod database;
pub mod environment;
mod files;
mod header;
mod image;
pub mod live;
mod lock;
mod proc_text;
mod process;
mod rusage;
mod sample;
mod sampler;
mod scheduling;
mod shm;
mod summary;
pub mod temporary;
mod wal;

#[cfg(test)]
mod testkit;

pub use database::LockOwner;
pub use files::{FileSizes, JOURNAL_MAGIC, has_journal, is_being_written, is_in_transaction, open_regular, sidecar};
pub use header::{DatabaseHeader, DatabaseHeaderError};
pub use image::{GoModule, SqliteSource};
pub use live::holders::{Holder, Holders};
pub use lock::Lock;
use proc_text::{number, proc_file};
pub use process::{ProcessProbe, ProcessUsage};
pub use rusage::{Exited, MeasuredChild};
pub use sample::Sample;
pub use sampler::Sampler;
pub use scheduling::wait_for_turn;
pub use shm::WalIndex;
pub use summary::{LockShare, Summary};
pub use wal::{FRAME_HEADER, WalFile, WalHeader};
