//! The integration tests of this package in one program.

mod asynchronous;
mod common;
mod kill;
mod leftovers;
mod limits;
mod promises;
mod random;
mod wal;
mod writes;
