//! Interface `orchestration` of `docs/PROTOCOL.md` on any provider of duroxide. Two runners have it: two providers may need
//! two SQLites, of which a program has one.
//!
//! [`work`] is what is orchestrated, [`session`] brings duroxide and the harness together, [`meter`] takes the time of the
//! provider's calls, [`warnings`] hears what duroxide says of locks, [`options`] is what an application may choose.

#![forbid(unsafe_code)]

mod meter;
mod options;
mod session;
mod warnings;
mod work;

pub use session::{Orchestrator, Store};
