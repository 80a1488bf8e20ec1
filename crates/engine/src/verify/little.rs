//! Check of a result by Little's law, and that the workers' times account for the whole trial.

use litelab_model::Variant;
use litelab_protocol::histogram::Histogram;
use litelab_protocol::{TransactionResult, TrialResult, Until};

/// Relative tolerance. The law is exact; the rest is the harness's own work and the precision of the histogram.
const TOLERANCE: f64 = 0.05;
/// Smallest number of transactions: with fewer, the edges of the window dominate.
const FEWEST: u64 = 10;

/// Checks Little's law for a closed loop, `L = X·R`. Returns the relative difference of the role that deviates most, if
/// it exceeds the tolerance.
///
/// X is the printed rate: transactions that ended in the window, divided by its length. R is the mean service time of
/// those that began in the window, and L the mean number of workers in a transaction, from the workers' own sums of
/// time. A runner that loses or invents transactions or latencies contradicts its workers. A role that ends by time has
/// workers until then, so that sums which are too small contradict the wall clock.
///
/// At each edge of the window every worker has at most one transaction that lies partly outside. At the end it is a
/// measured one, so that those of `W` workers take no longer than the `W` longest; at the start it is no longer than
/// its worker's time without a commit. The share of these transactions in the total time widens the tolerance, on the
/// side that each shifts.
pub(super) fn little(variant: &Variant, result: &TrialResult) -> Option<f64> {
    let differences = variant.trial.roles.iter().filter_map(|role| of_role(result, &role.name));
    differences.max_by(|a, b| a.abs().total_cmp(&b.abs())).or_else(|| absent(variant, result))
}

fn of_role(result: &TrialResult, role: &str) -> Option<f64> {
    let operations = || result.operations.iter().filter(|o| o.role == role);
    let workers = || result.workers.iter().filter(|w| w.role == role);
    let sum = |of: fn(&TransactionResult) -> u64| operations().map(of).sum::<u64>();
    let (measured, failed) = (sum(|o| o.measured), sum(|o| o.failed + o.empty));
    let mut services = Histogram::new();
    operations().for_each(|o| services.merge(&o.service));
    let inside: f64 = workers().map(|w| w.inside_ns as f64).sum();
    let edges = longest(&services, workers().count() as u64) / inside;
    // The service histogram holds successes only, so R is undefined in a trial with many failed or empty transactions.
    // A few of them, each of which may take seconds, can only reduce the sum of its times, not increase it. The same
    // applies to transactions that never ended.
    if measured < FEWEST || failed * 20 > measured || edges > 0.5 {
        return None;
    }
    // X·R and L, both times the length of the window.
    let service: f64 = operations().filter_map(|o| Some(o.service.mean()? * o.ended as f64)).sum();
    let difference = (service - inside) / inside;
    let waits: f64 = workers().map(|w| w.stall_ns.min(w.inside_ns) as f64).sum();
    let starts = waits / inside;
    let excused = failed > 0 || operations().any(|o| !o.unfinished.is_empty());
    if !difference.is_finite() {
        // The law does not apply without any time at work.
        return Some(-1.0);
    }
    let tolerance = TOLERANCE + edges;
    let fits = difference.abs() <= tolerance || difference < 0.0 && (excused || -difference <= tolerance + starts);
    (!fits).then_some(difference)
}

/// Sum of the `count` longest values.
fn longest(values: &Histogram, count: u64) -> f64 {
    let mut before = values.count().saturating_sub(count);
    let rest = values.recorded().map(|(value, times)| {
        let skipped = times.min(before);
        before -= skipped;
        value as f64 * (times - skipped) as f64
    });
    rest.sum()
}

/// Relative difference between the time that the workers account for and the wall-clock time, if it exceeds the
/// tolerance: negative if roles ending by time lack time, positive if workers report more time than there was.
fn absent(variant: &Variant, result: &TrialResult) -> Option<f64> {
    let mut due = 0.0;
    let mut spent = 0.0;
    for role in &variant.trial.roles {
        let Until::Time { ms } = role.until else { continue };
        for worker in result.workers.iter().filter(|w| w.role == role.name) {
            due += ms.saturating_sub(variant.trial.warmup_ms) as f64 * 1e6;
            spent += (worker.inside_ns + worker.outside_ns) as f64;
        }
    }
    let most = result.measured_ns as f64 * result.workers.len() as f64;
    let all: f64 = result.workers.iter().map(|w| (w.inside_ns + w.outside_ns) as f64).sum();
    match (spent / due - 1.0, all / most - 1.0) {
        (missing, _) if due > 0.0 && missing < -TOLERANCE => Some(missing),
        (over, _) if due > 0.0 && over > TOLERANCE => Some(over),
        (_, over) if most > 0.0 && over > TOLERANCE => Some(over),
        _ => None,
    }
}
