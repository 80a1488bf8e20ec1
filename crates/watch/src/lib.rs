//! Databases that other programs use, watched from outside: successive looks of `litelab-observe` become rates, ages and
//! events with an explanation.
//!
//! | module | content |
//! |---|---|
//! | [`watch`] | looks in; views and events of `litelab-record` out |
//! | [`event`] | kinds of events, and the facts that `rules/watch.toml` is about |
//! | [`metrics`] | a view in the OpenMetrics format |

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion"))]

mod detect;
pub mod event;
mod holding;
mod limits;
pub mod metrics;
#[cfg(test)]
mod tests;
mod thresholds;
mod tracker;
pub mod watch;

pub use watch::{Explain, Watch};
