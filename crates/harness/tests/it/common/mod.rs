//! Trials of the runner without a database.
#![allow(dead_code)]

pub use litelab_harness::testing::*;
use litelab_protocol::{Begin, Database, Fetch, Role, Statement, Transaction, Trial};

pub const RUNNER: Program = Program(env!("CARGO_BIN_EXE_litelab-runner-scripted"));

/// A scripted statement of which all rows are read.
pub fn told(script: &str) -> Statement {
    select(script, &[], Fetch::All)
}

/// A transaction that pauses for `hold_us` after its begin.
pub fn one(name: &str, begin: Begin, statement: Statement, hold_us: u64) -> Transaction {
    Transaction { hold_us, ..transaction(name, begin, vec![], vec![statement]) }
}

pub fn nowhere() -> Database {
    file(std::path::Path::new("/no/such/file"))
}

pub fn scripted(transactions: Vec<Transaction>, roles: Vec<Role>) -> Trial {
    trial("scripted", vec![nowhere()], transactions, roles)
}
