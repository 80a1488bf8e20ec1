//! Tests of the rules and of the facts.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

mod published;
mod rules;
