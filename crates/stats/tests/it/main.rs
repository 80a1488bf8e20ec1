//! All integration tests of this package in one program.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

mod common;
mod crossover;
mod fixtures;
mod negative_controls;
mod properties;
mod simulation;
