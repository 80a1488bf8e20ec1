//! The integration tests of this package in one program.

mod api;
mod asynchronous;
mod attached;
mod common;
mod disk;
mod kill;
mod leftovers;
mod limits;
mod promises;
mod random;
#[path = "../vfs/mod.rs"]
mod vfs;
mod wal;
mod writes;
