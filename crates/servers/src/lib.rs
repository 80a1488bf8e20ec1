//! Database servers for trials: private instances, and administrative connections.
//!
//! [`Instance`] is a private server on loopback: its data directory, log and configuration are in one folder, it
//! listens on its own port, runs under an unprivileged account, and is removed with its folder when it stops. [`Admin`]
//! is the engine's own connection to a server. It creates the schema of a trial, loads its data, and checks its content
//! afterwards, so that the checks do not depend on reports of a runner.

pub mod admin;
mod error;
pub mod instance;

pub use admin::{Admin, Prepared, Url};
pub use error::ServersError;
pub use instance::{Instance, Options, State};
/// The kinds of servers that litelab can start.
pub use litelab_model::Server as Kind;
