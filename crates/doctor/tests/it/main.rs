//! Tests of the rules and of the facts.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

mod damaged;
mod published;
mod rules;
