//! What the tests of the runners have in common: trials in short, and a runner as the core would start it. It panics
//! where a test would.

#[cfg(feature = "testing-library")]
pub mod library;
mod program;
#[cfg(feature = "testing-library")]
mod scratch;
mod trial;
mod tries;

pub use program::{GO, Outcome, Program, lines};
pub use trial::{count, file, param, pragmas, role, select, statement, transaction, trial, uniform};
pub use tries::{timely, tries};
