//! All integration tests of this package in one program.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod asked_for;
mod built_in;
mod claims;
mod conditions;
mod coverage;
mod crossovers;
mod defaults;
mod dialects;
mod documentation;
mod drivers;
mod no_panic;
mod node_kills;
mod options;
mod scale;
mod support;
