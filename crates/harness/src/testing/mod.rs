//! Parts of the runners' tests: short definitions of trials, and a runner started as the core starts it. Failures
//! panic.

#[cfg(feature = "testing-library")]
pub mod library;
mod program;
#[cfg(feature = "testing-library")]
mod scratch;
mod trial;
mod tries;

#[cfg(feature = "testing-library")]
pub use scratch::{MS, Scratch, insert};

pub use program::{GO, Outcome, Program, lines};
pub use trial::{
    EXECUTORS, count, file, inspect_request, param, pragmas, role, select, statement, transaction, trial, uniform,
};
pub use tries::{timely, tries};
