//! Trials without a database, which measure the cost of the harness itself.

use std::time::Duration;

use litelab_model::plan::Variant;
use litelab_protocol::{Connection, Description, Dialect, Until};

use crate::context::Patience;
use crate::runner::{NOOP, check_support};

/// Duration of such a trial in milliseconds, and its maximum number of transactions.
const MS: u64 = 200;
const COUNT: u64 = 20_000;

/// The work of a variant without a database and without pauses, in a closed loop of at most [`MS`]. `None` if the
/// runner has no no-op driver that supports it.
pub(crate) fn variant(variant: &Variant, runner: &str, description: &Description) -> Option<Variant> {
    let noop = description.drivers.iter().find(|driver| driver.name == NOOP)?;
    let mut variant = variant.clone();
    variant.driver = format!("{runner}:{NOOP}");
    variant.trial.driver = NOOP.into();
    // The options belong to the other driver; the no-op driver would refuse unknown ones.
    variant.trial.connection.options.clear();
    variant.invariants.clear();
    variant.content.clear();
    (variant.search, variant.kill, variant.ceiling, variant.failed_at_most) = (None, None, None, 1.0);
    if variant.server.take().is_some() {
        // The no-op driver needs no database: an empty file replaces the server.
        (variant.dialect, variant.data) = (Dialect::Sqlite, None);
        variant.schema.clear();
        variant.settings.clear();
        variant.trial.connection = Connection::default();
        // Error codes of the server are unknown to the no-op driver.
        variant.trial.retry = litelab_model::profile::no_retry();
    }
    variant.trial.warmup_ms = 0;
    for role in &mut variant.trial.roles {
        role.load = litelab_protocol::Load::Closed { think_us: 0 };
        match &mut role.until {
            Until::Count { transactions } => *transactions = (*transactions).min(COUNT),
            Until::Time { ms } => *ms = (*ms).min(MS),
            Until::Role { .. } => {}
        }
    }
    for transaction in &mut variant.trial.transactions {
        transaction.hold_us = 0;
        transaction.statements.iter_mut().for_each(|s| s.hold_us = 0);
    }
    check_support(noop, &mut variant).ok()?;
    Some(variant)
}

/// Deadlines of a no-op trial: 60 s, because it takes a fraction of a second.
pub(crate) fn patience(patience: Patience) -> Patience {
    Patience { trial: Duration::from_secs(60), ..patience }
}
