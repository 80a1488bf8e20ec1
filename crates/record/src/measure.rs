//! Computation of each metric from a trial. Values are in base units: per second, nanoseconds, bytes, fractions of 1.
//!
//! A trial has counts of three kinds. Counts of the whole trial: `committed`, `failed`, errors, CPU, bytes written.
//! Counts of transactions that ended within the window, from the end of the warm-up to the end of the role (`ended`):
//! throughput. Counts of transactions that began there, followed to their end (`measured`, `rows`, histograms,
//! `unfinished`): latency.

use std::borrow::Cow;
use std::collections::BTreeMap;

use litelab_model::metric::{Measure, Metric, Quantile, Timing};
use litelab_protocol::histogram::Histogram;
use litelab_protocol::{TransactionResult, TrialResult, Unfinished};

use crate::outcome::Measurement;

type Merged<'a> = ((Timing, Option<String>), Option<Cow<'a, Histogram>>);

/// Computes metrics of one trial. Caches merged histograms, so that all quantiles share one merge.
pub struct Meter<'a> {
    measurement: &'a Measurement,
    merged: Vec<Merged<'a>>,
}

impl<'a> Meter<'a> {
    /// Creates a meter of a trial.
    #[must_use]
    pub fn new(measurement: &'a Measurement) -> Self {
        Self { measurement, merged: Vec::new() }
    }

    /// Value of a metric, always finite. `None` if the trial has none, such as a latency without observations, or one
    /// transaction's share of a quantity that only the whole process has (CPU, memory, bytes, files).
    pub fn value(&mut self, metric: &Metric) -> Option<f64> {
        let value = match metric.measure {
            Measure::Latency(timing, quantile) => self.latency(timing, quantile, metric.transaction.as_deref()),
            _ => self.count(metric),
        };
        value.filter(|value| value.is_finite())
    }

    fn count(&self, metric: &Metric) -> Option<f64> {
        let result = &self.measurement.result;
        let summary = &self.measurement.summary;
        let total = |of: fn(&TransactionResult) -> u64| sum(operations(result, metric.transaction.as_deref()).map(of));
        let whole = |value: Option<f64>| value.filter(|_| metric.transaction.is_none());
        // litelab does not observe the files of a server.
        let of_files = |value: Option<f64>| whole(value).filter(|_| !self.measurement.on_server);
        let per = |value: u64, by: u64| (by > 0).then(|| value as f64 / by as f64);
        match metric.measure {
            Measure::Throughput => self.rate(metric, |o| o.ended as f64),
            Measure::Period => self.rate(metric, |o| o.ended as f64).filter(|rate| *rate > 0.0).map(|rate| 1e9 / rate),
            // Rows are counted for transactions that began in the window.
            Measure::RowsPerSecond => self.rate(metric, |o| o.rows as f64 * o.ended as f64 / o.measured.max(1) as f64),
            Measure::RowTime => {
                let time = |o: &TransactionResult| o.service.mean().unwrap_or(0.0) * o.measured as f64;
                let time: f64 = operations(result, metric.transaction.as_deref()).map(time).sum();
                let rows = total(|o| o.rows);
                (rows > 0).then(|| time / rows as f64)
            }
            Measure::Cpu => whole(per(self.measurement.cpu_ns, total(|o| o.committed))),
            Measure::WalPeak => of_files(Some(summary.wal_peak_bytes as f64)),
            Measure::WalAfter => of_files(Some(self.measurement.wal_after_bytes as f64)),
            Measure::DatabaseSize => of_files(Some(self.measurement.database_bytes as f64)),
            Measure::Written => of_files(summary.written_bytes.and_then(|bytes| per(bytes, total(|o| o.committed)))),
            Measure::Memory => whole(summary.rss_peak_bytes.map(|bytes| bytes as f64)),
            Measure::FailedShare | Measure::EmptyShare | Measure::ErrorShare | Measure::Served => {
                self.events(metric).and_then(|(count, of)| per(count, of))
            }
            Measure::Fairness => whole(fairness(result)),
            Measure::Sustainable => whole(self.measurement.search.as_ref().map(|search| search.sustainable)),
            Measure::Utilization => whole(result.gauges.get("utilization").copied()),
            Measure::WalRestarts => of_files(Some(summary.wal_restarts as f64)),
            Measure::TimerTime => self.timer(metric, Histogram::sum),
            Measure::TimerCalls => self.timer(metric, |timer| timer.count() as f64),
            Measure::Gauge => {
                let name = metric.transaction.as_ref()?;
                self.measurement.gauges.get(name).or_else(|| result.gauges.get(name)).copied()
            }
            Measure::Stall => whole(self.measurement.stall_ns.map(|ns| ns as f64)),
            Measure::WorkerStall => whole(result.workers.iter().map(|w| w.stall_ns).max().map(|ns| ns as f64)),
            Measure::Latency(..) => None,
        }
    }

    /// Number of rare events and of transactions in which they could happen: for failures, empty ends, errors and
    /// served arrivals. `None` for any other metric, and without transactions.
    #[must_use]
    pub fn events(&self, metric: &Metric) -> Option<(u64, u64)> {
        let operations = || operations(&self.measurement.result, metric.transaction.as_deref());
        let total = |of: fn(&TransactionResult) -> u64| sum(operations().map(of));
        let (count, of) = match metric.measure {
            Measure::FailedShare => (total(|o| o.failed), total(finished)),
            Measure::EmptyShare => (total(|o| o.empty), total(finished)),
            Measure::ErrorShare => (total(|o| sum(o.errors.values().map(|e| e.seen))), total(finished)),
            Measure::Served => served(operations()),
            _ => return None,
        };
        (of > 0).then_some((count, of))
    }

    /// Number of observations behind a quantile, and the largest. `None` for any other metric, and without
    /// observations.
    pub fn observations(&mut self, metric: &Metric) -> Option<(u64, f64)> {
        let Measure::Latency(timing, quantile) = metric.measure else { return None };
        least_observations(quantile)?;
        let histogram = self.histogram(timing, metric.transaction.as_deref())?;
        Some((histogram.count(), histogram.max()? as f64))
    }

    fn rate(&self, metric: &Metric, of: fn(&TransactionResult) -> f64) -> Option<f64> {
        let mut operations = operations(&self.measurement.result, metric.transaction.as_deref()).peekable();
        operations.peek()?;
        operations.map(|o| rate(self.measurement, o, of(o))).sum()
    }

    /// A total of the timer that the metric names, per committed transaction; both over the whole trial.
    fn timer(&self, metric: &Metric, of: fn(&Histogram) -> f64) -> Option<f64> {
        let result = &self.measurement.result;
        let timer = result.timers.get(metric.transaction.as_ref()?)?;
        let committed = sum(result.operations.iter().map(|o| o.committed));
        (committed > 0).then(|| of(timer) / committed as f64)
    }

    fn latency(&mut self, timing: Timing, quantile: Quantile, transaction: Option<&str>) -> Option<f64> {
        let histogram = self.histogram(timing, transaction)?;
        match quantile {
            Quantile::P50 => histogram.quantile(0.5).map(|ns| ns as f64),
            Quantile::P95 => histogram.quantile(0.95).map(|ns| ns as f64),
            Quantile::P99 => histogram.quantile(0.99).map(|ns| ns as f64),
            Quantile::P999 => histogram.quantile(0.999).map(|ns| ns as f64),
            Quantile::Max => histogram.max().map(|ns| ns as f64),
            Quantile::Mean => histogram.mean(),
        }
    }

    /// Latencies of one transaction, or of all with `None`. Returns `None` instead of an empty histogram.
    pub fn histogram(&mut self, timing: Timing, transaction: Option<&str>) -> Option<&Histogram> {
        let at = match self.merged.iter().position(|((t, x), _)| *t == timing && x.as_deref() == transaction) {
            Some(at) => at,
            None => {
                let merged = merge(&self.measurement.result, timing, transaction);
                self.merged.push(((timing, transaction.map(str::to_owned)), merged));
                self.merged.len() - 1
            }
        };
        self.merged.get(at).and_then(|(_, histogram)| histogram.as_deref())
    }
}

/// Nanoseconds per transaction inside and outside of it: the cost of a worker of the harness in a no-op trial.
#[must_use]
pub fn cost(result: &TrialResult) -> Option<f64> {
    let done = sum(result.operations.iter().map(|o| o.measured));
    let inside: f64 = result.operations.iter().filter_map(|o| Some(o.service.mean()? * o.measured as f64)).sum();
    let outside: f64 = result.workers.iter().map(|w| w.outside_ns as f64).sum();
    (done > 0).then(|| (inside + outside) / done as f64)
}

fn operations<'a>(result: &'a TrialResult, transaction: Option<&str>) -> impl Iterator<Item = &'a TransactionResult> {
    result.operations.iter().filter(move |o| transaction.is_none_or(|name| o.transaction == name))
}

/// Saturating sum: counts come from a file, and a damaged one must not abort the report.
fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// Fewest observations of a trial for a quantile q: 10 / (1 − q), so that ten are expected beyond it. With fewer, the
/// estimate is close to the maximum.
#[must_use]
pub fn least_observations(quantile: Quantile) -> Option<u64> {
    match quantile {
        Quantile::P50 => Some(20),
        Quantile::P95 => Some(200),
        Quantile::P99 => Some(1_000),
        Quantile::P999 => Some(10_000),
        Quantile::Max | Quantile::Mean => None,
    }
}

fn finished(operation: &TransactionResult) -> u64 {
    operation.committed.saturating_add(operation.empty).saturating_add(operation.failed)
}

/// Rate per second for a count of an operation within its window; `None` if the window is empty.
#[must_use]
pub fn rate(measurement: &Measurement, operation: &TransactionResult, count: f64) -> Option<f64> {
    let window = window(measurement, &operation.role).filter(|nanos| *nanos > 0)?;
    Some(count / (window as f64 / 1e9))
}

/// Nanoseconds from the end of the warm-up to the end of a role: as planned for a role that ends by time, else the
/// longest time of its workers.
#[must_use]
pub fn window(measurement: &Measurement, role: &str) -> Option<u64> {
    let workers = measurement.result.workers.iter().filter(|w| w.role == role);
    let longest = workers.map(|w| w.inside_ns.saturating_add(w.outside_ns)).max();
    measurement.timed_ns.get(role).copied().or(longest)
}

/// Number of scheduled arrivals that were served, and of those due; unscheduled transactions cannot be missed.
fn served<'a>(operations: impl Iterator<Item = &'a TransactionResult>) -> (u64, u64) {
    let scheduled: Vec<_> = operations.filter(|o| o.timers.contains_key("response")).collect();
    let served = sum(scheduled.iter().map(|o| finished(o)));
    let missed = sum(scheduled.iter().map(|o| o.unserved.saturating_add(o.unfinished.len() as u64)));
    (served, served.saturating_add(missed))
}

/// Fairness of the least fair role. Roles of one worker are skipped, because they are always fair.
fn fairness(result: &TrialResult) -> Option<f64> {
    let mut roles: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for worker in &result.workers {
        roles.entry(&worker.role).or_default().push(worker.ended);
    }
    let of_role = |ended: &Vec<u64>| {
        let least = *ended.iter().min()? as f64;
        let mean = ended.iter().map(|n| *n as f64).sum::<f64>() / ended.len() as f64;
        (ended.len() > 1 && mean > 0.0).then(|| least / mean)
    };
    roles.values().filter_map(of_role).min_by(f64::total_cmp)
}

fn merge<'a>(result: &'a TrialResult, timing: Timing, transaction: Option<&str>) -> Option<Cow<'a, Histogram>> {
    let of_trial = |name: &str| result.timers.get(name).map(Cow::Borrowed);
    match timing {
        Timing::Probe | Timing::PoolWait if transaction.is_some() => return None,
        Timing::Probe => return of_trial("probe"),
        Timing::PoolWait => return of_trial("pool_wait"),
        Timing::Timer => return of_trial(transaction?),
        _ => {}
    }
    let mut merged: Option<Cow<'a, Histogram>> = None;
    for operation in operations(result, transaction) {
        let Some(histogram) = latencies(operation, timing) else { continue };
        match &mut merged {
            None => merged = Some(histogram),
            Some(into) => into.to_mut().merge(&histogram),
        }
    }
    merged
}

/// Histogram of an operation, including the lower bounds of unfinished transactions, so that an endless wait is not
/// dropped. `None` if it would be empty, and for a timing of no operation.
#[must_use]
pub fn latencies(operation: &TransactionResult, timing: Timing) -> Option<Cow<'_, Histogram>> {
    let timer = |name: &str| operation.timers.get(name);
    let unfinished = |bound: fn(&Unfinished) -> Option<u64>| operation.unfinished.iter().filter_map(bound);
    match timing {
        Timing::Service => with(Some(&operation.service), unfinished(|u| Some(u.service_ns))),
        Timing::Response => with(timer("response"), unfinished(|u| u.response_ns)),
        Timing::Lag => with(timer("lag"), std::iter::empty()),
        Timing::Wait => with(timer("wait"), std::iter::empty()),
        Timing::Query => with(timer("query"), std::iter::empty()),
        Timing::FirstRow => with(timer("first_row"), std::iter::empty()),
        Timing::Probe | Timing::PoolWait | Timing::Timer => None,
    }
}

fn with(histogram: Option<&Histogram>, bounds: impl Iterator<Item = u64>) -> Option<Cow<'_, Histogram>> {
    let mut histogram = Cow::Borrowed(histogram?);
    for nanos in bounds {
        histogram.to_mut().record(nanos);
    }
    (histogram.count() > 0).then_some(histogram)
}

#[cfg(test)]
mod tests;
