//! Integration tests of this package, in one program.

mod common;
mod conversation;
mod errors;
mod inspect;
mod library;
mod runtime;
mod sharing;
mod work;
