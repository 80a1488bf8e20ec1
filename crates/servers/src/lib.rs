//! Database servers as litelab uses them.
//!
//! [`Instance`] is a private server: its own data directory, port and log in a folder of its own, on loopback, run by
//! an unprivileged user, and gone with that folder when it is stopped. [`Admin`] is the core's own connection to a
//! server, by which it makes a trial's schema, loads its data and checks its content afterwards, so that no runner has
//! to be believed.

pub mod admin;
mod error;
pub mod instance;

pub use admin::{Admin, Prepared, Url};
pub use error::ServersError;
pub use instance::{Instance, Options, State};
/// The kinds of servers that litelab can start.
pub use litelab_model::Server as Kind;
