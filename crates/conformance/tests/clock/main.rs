//! Tests of the suite and of trials that depend on the clock. They are a separate program, because the other tests
//! would delay them.

#[path = "../it/common/mod.rs"]
mod common;
mod engine_trials;
mod liars;
mod stall;
mod suite;
mod window;
