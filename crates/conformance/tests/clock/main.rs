//! Tests of the suite and of trials that read a clock, apart from the other tests, which would make them late.

#[path = "../it/common/mod.rs"]
mod common;
mod engine_trials;
mod liars;
mod stall;
mod suite;
mod window;
