//! Integration tests of this package, in one program.

mod access;
mod common;
mod conversation;
mod errors;
mod library;
mod runtime;
mod work;
