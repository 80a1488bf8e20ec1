//! The integration tests of this package, in one program.

mod admin;
mod common;
mod galera;
mod instance;
