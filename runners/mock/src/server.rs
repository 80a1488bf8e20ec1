//! Faults of drivers of database servers. The honest runner is `go`, whose driver `postgres` does the work.

use std::io::{BufRead, Write};

use litelab_protocol::{Begin, Message, Role, Statement, Step, Transaction, Trial, Until};

use crate::honest::{GO, server_target, start};

/// Driver that does the work.
pub const DRIVER: &str = "postgres";

/// Resets the settings of the connection before each transaction, after `ready` has reported them as in effect.
pub fn take_back_settings(trial: &mut Trial) {
    for transaction in &mut trial.transactions {
        transaction.statements.insert(0, Statement::new("RESET ALL", &[]));
    }
}

/// Deletes one row of the table that the trial's first transaction inserts into, after the result.
pub fn lose_row(asked: &Trial) -> Result<(), String> {
    let sql = asked.transactions.first().and_then(|t| t.statements.first()).map(|s| s.sql.as_str()).unwrap_or_default();
    let Some(table) = sql.strip_prefix("INSERT INTO ").and_then(|rest| rest.split([' ', '(']).next()) else {
        return Ok(());
    };
    let mut trial = asked.clone();
    trial.driver = DRIVER.into();
    trial.connection.settings.clear();
    let delete = format!("DELETE FROM {table} WHERE id = (SELECT max(id) FROM {table})");
    trial.transactions = vec![Transaction {
        name: "lose".into(),
        begin: Begin::None,
        writes: true,
        hold_us: 0,
        timed_rows: false,
        params: Vec::new(),
        statements: vec![Statement::new(delete, &[])],
    }];
    let Some(role) = trial.roles.first().cloned() else { return Ok(()) };
    let step = Step { transaction: 0, weight: 1, stride: 1, offset: 0 };
    trial.roles = vec![Role {
        workers: 1,
        workers_in_role: 1,
        steps: vec![step],
        until: Until::Count { transactions: 1 },
        ..role
    }];
    run(&trial)
}

fn run(trial: &Trial) -> Result<(), String> {
    let (mut child, mut to, from) = start(&server_target(), trial)?;
    let _sent = to.write_all(GO);
    let lines = from.lines().map_while(Result::ok);
    let last = lines.filter_map(|line| serde_json::from_str(&line).ok()).last();
    child.wait().map_err(|e| e.to_string())?;
    match last {
        Some(Message::Result(_)) => Ok(()),
        other => Err(format!("no row could be lost: {other:?}")),
    }
}
