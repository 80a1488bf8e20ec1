//! The conformance suite: what a runner must show before it is used, whatever its language.
//!
//! A runner is believed in nothing that can be seen another way. What it counts is compared with the rows in the file,
//! what it says of its settings with what SQL on the same connection says and with what the settings do, what it draws
//! with the reference, what it times with the pauses that were asked for. What a driver does not claim to support is
//! skipped, with the reason. Drivers of servers are examined on one server of each kind, each check in a schema of its own, by
//! the same checks, whose SQL is given per dialect only where it must differ.
//!
//! [`check()`] runs all of it; [`Suite`] runs parts. The suite itself is tested with a runner that lies.

mod check;
mod conversation;
mod dialect;
mod draft;
mod file;
mod place;
mod proxy;
mod report;
#[cfg(feature = "servers")]
mod server;
mod subject;
mod suite;
mod unavailable;
#[cfg(not(feature = "servers"))]
mod without_servers;

pub use check::{CHECKS, ORCHESTRATION_CHECKS, QUEUE_CHECKS, SERVER_CHECKS};
pub use conversation::Limits;
pub use report::{CheckOutcome, DriverReport, Report, Verdict};
pub use suite::{Progress, Suite, check};
#[cfg(not(feature = "servers"))]
use without_servers as server;
