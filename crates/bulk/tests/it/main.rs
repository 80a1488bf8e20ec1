//! Integration tests of this package, in one program.

mod common;
mod content;
mod refusals;
mod verify;
mod workloads;
