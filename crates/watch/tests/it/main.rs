//! Tests of the crate from outside.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

mod rules;
