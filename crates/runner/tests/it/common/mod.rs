//! Trials of the runner.
#![allow(dead_code)]

pub use litelab_harness::testing::*;
use litelab_protocol::{Connection, Database, Role, Transaction, Trial};

pub const RUNNER: Program = Program(env!("CARGO_BIN_EXE_litelab-runner-rusqlite"));

/// Makes two tests of each of these functions: one for each driver with a session of the harness.
macro_rules! on_each_driver {
    ($($name:ident)+) => {
        mod on_rusqlite {
            $(#[test]
            fn $name() {
                super::$name("rusqlite");
            })+
        }
        mod on_c {
            $(#[test]
            fn $name() {
                super::$name("c");
            })+
        }
    };
}
pub(crate) use on_each_driver;

/// One connection for each worker, WAL, no sync, 5 s busy timeout (rusqlite's default), no retry, no warm-up, no probe.
pub fn trial(driver: &str, databases: Vec<Database>, transactions: Vec<Transaction>, roles: Vec<Role>) -> Trial {
    let settings = pragmas(&[("busy_timeout", "5000"), ("journal_mode", "WAL"), ("synchronous", "OFF")]);
    let connection = Connection { settings, ..Connection::default() };
    Trial { connection, ..litelab_harness::testing::trial(driver, databases, transactions, roles) }
}
