//! The interface `orchestration` of `docs/reference/protocol.md` on any provider of duroxide. Two runners use it, because two
//! providers may need different SQLite builds and a program can link only one.
//!
//! [`work`] defines the orchestrations, [`session`] connects duroxide to the harness, [`meter`] measures the provider's
//! calls, [`warnings`] counts lock errors that duroxide logs, and [`options`] parses the driver's options.

#![forbid(unsafe_code)]

mod meter;
mod options;
mod session;
#[cfg(feature = "testing")]
pub mod testing;
mod warnings;
mod work;

pub use session::{Orchestrator, Store, interface};
