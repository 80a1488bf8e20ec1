//! A trial without a database: what the harness itself costs.

use std::time::Duration;

use litelab_model::plan::Arm;
use litelab_protocol::{Connection, Dialect, Until};

use crate::trial::Patience;

/// The driver, in every runner, that calls no database.
pub(crate) const DRIVER: &str = "noop";

/// How long such a trial runs, in milliseconds, and how many transactions at most.
const MS: u64 = 200;
const COUNT: u64 = 20_000;

/// The same work without a database and without its pauses: closed loop, a fifth of a second at most.
pub(crate) fn arm(arm: &Arm, runner: &str) -> Arm {
    let mut arm = arm.clone();
    arm.driver = format!("{runner}:{DRIVER}");
    arm.trial.driver = DRIVER.into();
    // They are the other driver's, and refused by one that does not know them.
    arm.trial.connection.options.clear();
    arm.invariants.clear();
    arm.content.clear();
    (arm.search, arm.kill, arm.ceiling, arm.failed_at_most) = (None, None, None, 1.0);
    if arm.server.take().is_some() {
        // It calls no database, and so needs none: an empty file takes the place of the server.
        (arm.dialect, arm.data) = (Dialect::Sqlite, None);
        arm.schema.clear();
        arm.settings.clear();
        arm.trial.connection = Connection::default();
        // Its errors are the server's, and unknown to a driver of none.
        arm.trial.retry = litelab_model::profile::no_retry();
    }
    arm.trial.warmup_ms = 0;
    for role in &mut arm.trial.roles {
        role.load = litelab_protocol::Load::Closed { think_us: 0 };
        match &mut role.until {
            Until::Count { transactions } => *transactions = (*transactions).min(COUNT),
            Until::Time { ms } => *ms = (*ms).min(MS),
            Until::Role { .. } => {}
        }
    }
    for transaction in &mut arm.trial.transactions {
        transaction.hold_us = 0;
        transaction.statements.iter_mut().for_each(|s| s.hold_us = 0);
    }
    arm
}

/// Deadlines: a trial so short that hangs is given up early.
pub(crate) fn patience(patience: Patience) -> Patience {
    Patience { trial: Duration::from_secs(60), ..patience }
}
