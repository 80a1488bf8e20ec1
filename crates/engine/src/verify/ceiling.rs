//! Upper bounds on the work of a scenario, whatever the database.

use litelab_model::Variant;
use litelab_protocol::{Load, Role, TransactionResult, TrialResult, Until};

/// Tolerance for differences between clocks and timers.
const TOLERANCE: f64 = 0.02;

/// Checks that a trial did no more work than the scenario's own pauses, its workers' pauses and the offered load
/// permit.
///
/// The bounds are on counts from `go` on, when no transaction is in progress: a worker's `n` transactions need at least
/// the sum of their times, without an allowance for the edges. Within the window each worker may also end one
/// transaction that began before it.
///
/// # Errors
/// The first bound that was exceeded.
pub fn ceiling(variant: &Variant, result: &TrialResult) -> Result<(), String> {
    let elapsed = result.elapsed_ns as f64 / 1e9;
    if let Some(ceiling) = variant.ceiling {
        let committed = sum(result, |_| true, |o| o.committed);
        at_most(committed, ceiling * elapsed, || {
            format!("in {elapsed:.3} s, and its pauses leave room for {ceiling:.1}/s")
        })?;
        let window = result.workers.iter().map(|w| w.inside_ns + w.outside_ns).max().unwrap_or_default() as f64 / 1e9;
        let ended = sum(result, |_| true, |o| o.ended);
        at_most(ended, ceiling * window + result.workers.len() as f64, || {
            format!("ended in {window:.3} s, and its pauses leave room for {ceiling:.1}/s")
        })?;
    }
    for role in &variant.trial.roles {
        let name = &role.name;
        let of_role = |o: &TransactionResult| o.role == *name;
        match role.load {
            Load::Closed { think_us } => {
                let pause = (held(variant, role) + think_us) as f64 / 1e6;
                let workers = f64::from(role.workers) * f64::from(variant.databases);
                let committed = sum(result, of_role, |o| o.committed);
                // No pause follows the last transaction of each worker.
                let room = if pause > 0.0 { (elapsed / pause + 1.0) * workers } else { f64::INFINITY };
                at_most(committed, room, || {
                    format!(
                        "by role `{name}` in {elapsed:.3} s, and each of its {workers} workers pauses {pause:.6} s for each"
                    )
                })?;
            }
            Load::Open { rate, .. } => {
                let Until::Time { ms } = role.until else { continue };
                let due = rate * ms as f64 / 1e3;
                let begun = sum(result, of_role, |o| o.committed + o.empty + o.failed + o.unfinished.len() as u64);
                // The number of arrivals varies: the margin is four standard deviations of a Poisson count.
                at_most(begun, due + 4.0 * due.sqrt() + 1.0, || {
                    format!("by role `{name}`, and {due:.0} arrivals are due in its time")
                })?;
            }
        }
    }
    Ok(())
}

fn sum(result: &TrialResult, which: impl Fn(&TransactionResult) -> bool, of: fn(&TransactionResult) -> u64) -> u64 {
    result.operations.iter().filter(|o| which(o)).map(of).sum()
}

fn at_most(count: u64, room: f64, what: impl FnOnce() -> String) -> Result<(), String> {
    if count as f64 <= room * (1.0 + TOLERANCE) {
        return Ok(());
    }
    Err(format!("{count} transactions {}: more than is possible", what()))
}

/// Shortest time in microseconds that a transaction of a role pauses while it is open.
fn held(variant: &Variant, role: &Role) -> u64 {
    let of_step = |transaction: u32| {
        let transaction = variant.trial.transactions.get(transaction as usize)?;
        // A required statement without a row may end the transaction before the later pauses.
        let required = transaction.statements.iter().any(|s| s.required);
        Some(if required { transaction.hold_us } else { transaction.paused_us() })
    };
    role.steps.iter().filter_map(|step| of_step(step.transaction)).min().unwrap_or_default()
}
