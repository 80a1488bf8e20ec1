//! What a driver does with a connection of rusqlite, for every library that lends one. Compiled for the release of rusqlite
//! that the runner's lock file has, which these libraries do not agree on.

mod cached;
pub mod connect;
mod execute;
mod fault;
mod row;

pub use cached::{Cached, CheckedStatements};
pub use execute::run;
pub use fault::fault;
pub use row::column;
/// The release that this was compiled for.
pub use rusqlite;
