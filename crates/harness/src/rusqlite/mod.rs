//! Parts of drivers for every library that lends a connection of rusqlite. Compiled for the release of rusqlite in the
//! runner's lock file: the libraries need different ones.

mod cached;
pub mod connect;
mod execute;
mod fault;
mod row;

pub use cached::{Cached, CheckedStatements};
pub use execute::run;
pub use fault::fault;
