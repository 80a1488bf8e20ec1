//! Integration tests of this package, in one program.

mod common;
mod conversation;
mod errors;
mod inspect;
mod library;
mod sharing;
mod work;
