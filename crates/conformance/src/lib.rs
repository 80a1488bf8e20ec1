//! The conformance suite: the checks that a runner in any language must pass before it is used.
//!
//! The suite verifies each report of a runner independently: counts against the rows in the database, reported settings
//! against SQL on the same connection and against their effects, generated values against the reference implementation,
//! and measured times against the requested pauses. A feature that a driver does not claim is skipped, with the reason.
//! All drivers of one kind of server share one server, where each check has its own schema. The checks are the same for
//! all dialects; their SQL is given per dialect only where it must differ.
//!
//! [`Suite`] runs all checks or parts of them. The tests of the suite use a runner that reports wrong
//! results on purpose.

mod check;
mod conversation;
mod database;
mod dialect;
mod draft;
mod error;
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
pub use report::{CheckOutcome, CheckVerdict, DriverReport, Report};
pub use suite::{Progress, Suite};
#[cfg(not(feature = "servers"))]
use without_servers as server;
