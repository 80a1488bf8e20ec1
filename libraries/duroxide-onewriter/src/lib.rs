//! A [`duroxide`] provider on one SQLite file, written through [`onewriter`].
//!
//! ```no_run
//! # fn main() -> Result<(), duroxide_onewriter::Error> {
//! use duroxide_onewriter::Options;
//! use std::sync::Arc;
//!
//! let provider = Arc::new(Options::default().open("orchestrations.db")?);
//! // Runtime::start_with_store(provider.clone(), activities, orchestrations).await; Client::new(provider)
//! # Ok(())
//! # }
//! ```
//!
//! **How it works.** One process owns the file (a lock beside it says so), and schedules in memory: queues, leases, sessions, who
//! waits for what. A fetch is therefore no write, and one that finds nothing is notified rather than asking again. What a call
//! acknowledges is rows; those of all calls that come at the same time share one commit.
//!
//! **What is durable when.**
//!
//! | call | by the time it returns |
//! |---|---|
//! | `enqueue_for_orchestrator`, `enqueue_for_worker`, `ack_orchestration_item`, `ack_work_item`, `abandon_*`, `append_with_execution`, deletions and prunings | all of it is on the disk, or the call has failed and nothing of it is; nobody sees it before (but see [`Acks::Ordered`]) |
//! | `fetch_*` of something that has never been fetched | nothing is written: a lease is this process's own, and a process that ended holds none. If the process dies, this one attempt is not counted |
//! | `fetch_*` of something that has been fetched before, or that an earlier process left behind | the number of attempts is on the disk, so that something which kills every process that fetches it is found out |
//! | `renew_*`, sessions | nothing: leases end with the process |
//!
//! With [`Durability::Full`], the default, "on the disk" survives a loss of power; with [`Durability::Normal`] the end of the
//! process. Where a commit fails, the caller is told so, and what it wanted to change is as it was: its lease, too.
//!
//! [`Acks::Ordered`] lets dispatchers go on while their acknowledgements wait for the commit, and turns begin while their
//! messages do. Who asks meanwhile (reads, statuses, lists, a fetch that would find nothing) waits until it is decided, and an
//! activity until its turn is: what clients and activities see is on the disk, and what was acknowledged is seen, as without it.
//! What differs is what a dispatcher, which ends with the process, has been told when the process ends or the disk refuses.
//!
//! **Memory.** The backlog (messages and work that wait), some hundred bytes for each instance and execution until they are
//! deleted, and histories up to [`Options::cache`], from which `read`, values and statuses are answered; what is not in memory
//! is read from the file. [`Options::volatile`] is the same provider without storage, the runtime's own ceiling: it keeps all
//! histories.
//!
//! **Deviations** from duroxide's own SQLite provider: messages for a name that nothing has started yet do not stand in the way
//! of others; `append_with_execution` (which the runtime does not use) wants the execution to exist.

#![forbid(unsafe_code)]

mod change;
mod core;
mod error;
mod options;
mod provider;
mod store;

pub use change::{Change, Row};
pub use core::record::{Execution, History, Record, Unstored};
pub use core::values::Values;
pub use error::Error;
pub use options::{Acks, Durability, Options, Polling};
pub use provider::OneWriter;
pub use store::{Durable, Kept, Loaded, Recovered, Store, StoreError, Volatile};
