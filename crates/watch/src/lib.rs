//! Databases that other programs use, watched from outside: successive looks of `litelab-observe` become rates, ages and
//! events with an explanation.
//!
//! | module | content |
//! |---|---|
//! | [`view`] | what is shown of one moment; JSON, screen, metrics and recordings are made of it |
//! | [`watch`] | looks in, views and events out |
//! | [`event`] | kinds of events, and the facts that `rules/watch.toml` is about |
//! | [`metrics`] | a view in the OpenMetrics format |

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion"))]

mod detect;
pub mod event;
mod holding;
mod limits;
pub mod metrics;
mod thresholds;
mod tracker;
pub mod view;
pub mod watch;

pub use event::{Event, Phase};
pub use view::View;
pub use watch::{Explain, Watch, WatchError};
