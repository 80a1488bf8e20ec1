//! A [`duroxide`] provider on one SQLite file, written through [`onewriter`].
//!
//! ```no_run
//! # async fn example() -> Result<(), duroxide_onewriter::Error> {
//! use duroxide_onewriter::Options;
//! use std::sync::Arc;
//!
//! let provider = Arc::new(Options::default().open("orchestrations.db")?);
//! // Runtime::start_with_store(provider.clone(), activities, orchestrations).await; Client::new(provider.clone())
//! provider.close_async().await
//! # }
//! ```
//!
//! **Design.** One process owns the file, enforced by a lock file, and schedules in memory: queues, leases, sessions
//! and waiters. A fetch therefore writes nothing, and a waiting fetch is notified instead of polling. An acknowledging
//! call writes rows, and concurrent calls share one commit.
//!
//! **Durability of each call.**
//!
//! - `enqueue_for_orchestrator`, `enqueue_for_worker`, `ack_orchestration_item`, `ack_work_item`, `abandon_*`,
//!   `append_with_execution`, deletions and prunings: when the call returns, all of its changes are on disk, or it has
//!   failed and none is. No caller sees them earlier (exception: [`Acks::Ordered`]).
//! - `fetch_*` of an item that was never fetched: nothing is written, because leases belong to the process and end with
//!   it. If the process dies, this attempt is not counted.
//! - `fetch_*` of an item that was fetched before, or was left by an earlier process: when the call returns, the number
//!   of attempts is on disk, so that an item that kills every process that fetches it can be detected.
//! - `renew_*` and sessions: nothing is written, because leases end with the process.
//!
//! With [`Durability::Full`], the default, changes on disk survive power loss; with [`Durability::Normal`] they survive
//! the end of the process. If a commit fails, the caller gets an error, and its changes, including those of its lease,
//! are undone.
//!
//! With [`Acks::Ordered`], dispatchers continue while their acknowledgements wait for the commit, and turns start while
//! their messages wait for it. Concurrent reads, status queries, lists and fetches that would find nothing wait for
//! that commit, and activities wait for the commit of their turn. So clients and activities see only durable data, and
//! all acknowledged data, as without this option. The difference: if the process dies or the commit fails, a dispatcher
//! may already have received success.
//!
//! **Memory.** Memory holds the waiting messages and activities, the instances that are running or have messages, of the
//! ended ones up to [`Options::ended`], and histories and values up to [`Options::cache`]. An instance takes some 3 KB.
//! Others are read from the file on demand. [`Options::volatile`] is the same provider without storage: it keeps
//! everything in memory, and shows the upper limit of the runtime's throughput.
//!
//! **Leases** begin when the fetch returns, not before the disk is done. They end with the process.
//!
//! **The end.** [`OneWriter::close_async`] completes pending changes and closes the file. A provider that is dropped in a
//! tokio runtime closes it in a thread of its own, so the file may be owned for a moment longer.
//!
//! **Switching.** Module [`transfer`] converts files from and to duroxide's own SQLite provider.
//!
//! **Differences** from duroxide's own SQLite provider: messages for a name without an instance do not block other
//! messages; `append_with_execution` (which the runtime does not use) requires that the execution exists.

#![forbid(unsafe_code)]

mod change;
mod core;
mod error;
mod options;
mod provider;
mod store;
pub mod transfer;

pub use change::{Change, Row};
pub use core::listing::{Selection, Summary};
pub use core::record::{Execution, History, Record, Unstored};
pub use core::recovered::{Kept, Queue, Recovered};
pub use core::values::Values;
pub use error::{Error, StoreError};
pub use options::{Acks, Durability, Options, Polling};
pub use provider::OneWriter;
pub use store::{Durable, Loaded, Store, Volatile};
