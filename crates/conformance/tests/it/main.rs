//! The integration tests of this package, in one program.

mod common;
mod ends;
mod kill;
mod killed;
mod optional;
mod run_file;
mod search;
