//! Plans rounds, prepares database copies, starts runners, observes them, checks their results and records the run.
//!
//! This crate prints nothing: a run reports its progress as [`event::RunEvent`]s.

pub mod calibration;
pub mod compile;
mod context;
mod copy;
mod error;
pub mod event;
mod hopeless;
mod kills;
mod last_words;
mod manifest;
pub mod merge;
mod noop;
mod perf;
mod placed;
pub mod prepare;
pub mod process;
pub mod ready;
pub mod run;
pub mod runner;
pub mod scratch;
pub mod search;
#[cfg(feature = "servers")]
pub mod servers;
pub mod split;
pub mod stall;
#[cfg(test)]
mod testkit;
pub mod trial;
pub mod verify;
#[cfg(not(feature = "servers"))]
mod without_servers;

pub use copy::copy_database;
pub use error::EngineError;
pub use ready::{Ready, With};
pub use run::{Run, RunOptions};
pub use runner::Runners;
pub use servers::{Servers, Urls};
#[cfg(not(feature = "servers"))]
use without_servers as servers;

/// Reason and remedy for a skipped variant or driver of a server where the feature `servers` is off.
pub const WITHOUT_SERVERS: &str = "this litelab was built without servers: build it with `--features servers`";
