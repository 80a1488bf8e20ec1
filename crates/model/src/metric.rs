//! Metrics: names, units, and the better direction. The engine computes their values from a trial.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::unknown;

/// A statistic of a latency histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Quantile {
    /// The median.
    P50,
    /// The 95 % quantile.
    P95,
    /// The 99 % quantile.
    P99,
    /// The 99.9 % quantile.
    P999,
    /// The maximum.
    Max,
    /// The arithmetic mean.
    Mean,
}

/// The latency that a histogram holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timing {
    /// Time from before the worker requests a connection until the commit returns.
    Service,
    /// Time from the scheduled start until the commit returns.
    Response,
    /// Time from the scheduled to the actual start.
    Lag,
    /// Wait for the connection or lock of the sharing.
    Wait,
    /// Time until the call that executes the query returned.
    Query,
    /// Time until the client has read the first row.
    FirstRow,
    /// Lateness of a timer of the host program.
    Probe,
    /// Wait of a trivial job in the runtime's blocking pool.
    PoolWait,
    /// A timer of the driver or runtime, which the metric names in the place of a transaction.
    Timer,
}

/// A measurable property of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Measure {
    /// Committed transactions per second.
    Throughput,
    /// Time between two commits on average, in nanoseconds: the inverse of the throughput.
    Period,
    /// Rows written or fetched per second.
    RowsPerSecond,
    /// Nanoseconds per row: total service time divided by rows.
    RowTime,
    /// A statistic of a latency, in nanoseconds.
    Latency(Timing, Quantile),
    /// CPU nanoseconds of the runner per committed transaction.
    Cpu,
    /// Largest observed size of the WAL in bytes.
    WalPeak,
    /// Size of the WAL in bytes after the last connection was closed.
    WalAfter,
    /// Size of the database in bytes after the trial.
    DatabaseSize,
    /// Bytes of storage writes caused by the runner, per committed transaction.
    Written,
    /// Peak memory use of the runner in bytes.
    Memory,
    /// Failed transactions as a share of all transactions.
    FailedShare,
    /// Transactions that ended without a row that they require, as a share of all transactions.
    EmptyShare,
    /// Errors per transaction, including those cured by a retry.
    ErrorShare,
    /// Arrivals of an open load that were started before the end, as a share of all that were due.
    Served,
    /// Commits of the slowest worker divided by the mean of its role.
    Fairness,
    /// Highest arrival rate at which the conditions of the scenario's search hold.
    Sustainable,
    /// Number of restarts of the WAL from its beginning after a checkpoint.
    WalRestarts,
    /// Share of time during which the event loop was busy.
    Utilization,
    /// Sum of a timer in nanoseconds per committed transaction. The metric names the timer in the place of a
    /// transaction.
    TimerTime,
    /// Number of values of that timer per committed transaction.
    TimerCalls,
    /// A number that the driver or the engine names, as the metric does in the place of a transaction. The name's
    /// suffix is the unit: `_ns`, `_bytes`, `_share`, otherwise a count.
    Gauge,
    /// Longest time without a commit of any worker, in nanoseconds.
    Stall,
    /// Longest time without a commit of one worker, in nanoseconds; the maximum over all workers.
    WorkerStall,
}

/// A measure of one transaction, or of all transactions together.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Metric {
    /// The measured property.
    pub measure: Measure,
    /// Name of the transaction, or of the timer or gauge for a measure of these; `None` for all transactions.
    pub transaction: Option<String>,
}

/// The unit of a metric's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A rate per second.
    PerSecond,
    /// A duration in nanoseconds.
    Nanos,
    /// A size in bytes.
    Bytes,
    /// A share from 0 to 1.
    Share,
    /// A number of events.
    Count,
    /// A number of events per transaction, which can exceed 1.
    PerTransaction,
}

/// Names of measures in the order of the documentation.
const NAMES: [(&str, Measure); 61] = {
    use Measure::{
        Cpu, DatabaseSize, EmptyShare, ErrorShare, FailedShare, Fairness, Gauge, Latency, Memory, Period, RowTime,
        RowsPerSecond, Served, Stall, Sustainable, Throughput, TimerCalls, TimerTime, Utilization, WalAfter, WalPeak,
        WalRestarts, WorkerStall, Written,
    };
    use Quantile::{Max, Mean, P50, P95, P99, P999};
    use Timing::{FirstRow, Lag, PoolWait, Probe, Query, Response, Service, Timer, Wait};
    [
        ("throughput", Throughput),
        ("period", Period),
        ("rows_per_second", RowsPerSecond),
        ("row_time", RowTime),
        ("mean", Latency(Service, Mean)),
        ("p50", Latency(Service, P50)),
        ("p95", Latency(Service, P95)),
        ("p99", Latency(Service, P99)),
        ("p999", Latency(Service, P999)),
        ("max", Latency(Service, Max)),
        ("response_mean", Latency(Response, Mean)),
        ("response_p50", Latency(Response, P50)),
        ("response_p95", Latency(Response, P95)),
        ("response_p99", Latency(Response, P99)),
        ("response_p999", Latency(Response, P999)),
        ("response_max", Latency(Response, Max)),
        ("lag_p50", Latency(Lag, P50)),
        ("lag_p99", Latency(Lag, P99)),
        ("lag_max", Latency(Lag, Max)),
        ("wait_mean", Latency(Wait, Mean)),
        ("wait_p50", Latency(Wait, P50)),
        ("wait_p95", Latency(Wait, P95)),
        ("wait_p99", Latency(Wait, P99)),
        ("wait_max", Latency(Wait, Max)),
        ("query_mean", Latency(Query, Mean)),
        ("query", Latency(Query, P50)),
        ("query_p99", Latency(Query, P99)),
        ("first_row_mean", Latency(FirstRow, Mean)),
        ("first_row", Latency(FirstRow, P50)),
        ("first_row_p99", Latency(FirstRow, P99)),
        ("probe_p50", Latency(Probe, P50)),
        ("probe_p99", Latency(Probe, P99)),
        ("probe_max", Latency(Probe, Max)),
        ("pool_wait_p50", Latency(PoolWait, P50)),
        ("pool_wait_p99", Latency(PoolWait, P99)),
        ("pool_wait_max", Latency(PoolWait, Max)),
        ("utilization", Utilization),
        ("cpu", Cpu),
        ("wal_peak", WalPeak),
        ("wal_after", WalAfter),
        ("database_size", DatabaseSize),
        ("written", Written),
        ("memory", Memory),
        ("failed", FailedShare),
        ("empty", EmptyShare),
        ("errors", ErrorShare),
        ("served", Served),
        ("fairness", Fairness),
        ("sustainable", Sustainable),
        ("wal_restarts", WalRestarts),
        ("stall", Stall),
        ("worker_stall", WorkerStall),
        ("timer_mean", Latency(Timer, Mean)),
        ("timer_p50", Latency(Timer, P50)),
        ("timer_p95", Latency(Timer, P95)),
        ("timer_p99", Latency(Timer, P99)),
        ("timer_p999", Latency(Timer, P999)),
        ("timer_max", Latency(Timer, Max)),
        ("timer_time", TimerTime),
        ("timer_calls", TimerCalls),
        ("gauge", Gauge),
    ]
};

/// Metric names of other benchmarks, with the name of the equivalent.
const ELSEWHERE: [(&str, &str); 9] = [
    ("tps", "throughput"),
    ("qps", "throughput"),
    ("rps", "throughput"),
    ("ops", "throughput"),
    ("latency", "p50"),
    ("median", "p50"),
    ("avg", "mean"),
    ("average", "mean"),
    ("p90", "p95"),
];

impl Measure {
    /// The name used in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, m)| *m == self).map_or("?", |(name, _)| name)
    }

    /// Whether the metric names something other than a transaction.
    fn is_named(self) -> bool {
        matches!(self, Self::Latency(Timing::Timer, _) | Self::TimerTime | Self::TimerCalls | Self::Gauge)
    }

    /// Whether the value is computed from single transactions, so that it is unreliable with only a few of them.
    #[must_use]
    pub fn is_of_transactions(self) -> bool {
        match self {
            Self::Throughput | Self::Period | Self::RowsPerSecond | Self::RowTime | Self::Cpu | Self::Written => true,
            Self::Fairness | Self::TimerTime | Self::TimerCalls => true,
            Self::Latency(timing, _) => !matches!(timing, Timing::Probe | Timing::PoolWait | Timing::Timer),
            _ => false,
        }
    }

    /// Whether only a whole trial has a value, and not one of its transactions.
    fn is_of_trial(self) -> bool {
        match self {
            Self::Cpu | Self::WalPeak | Self::WalAfter | Self::DatabaseSize | Self::Written | Self::Memory => true,
            Self::Fairness | Self::Sustainable | Self::WalRestarts | Self::Utilization => true,
            Self::Stall | Self::WorkerStall => true,
            Self::Latency(timing, _) => matches!(timing, Timing::Probe | Timing::PoolWait),
            _ => false,
        }
    }

    /// Whether a higher value is better.
    #[must_use]
    pub fn more_is_better(self) -> bool {
        matches!(self, Self::Throughput | Self::RowsPerSecond | Self::Served | Self::Fairness | Self::Sustainable)
    }
}

impl Metric {
    /// Name of the transaction that the workload must have; `None` for all transactions, or for a timer or gauge.
    #[must_use]
    pub fn of_transaction(&self) -> Option<&str> {
        self.transaction.as_deref().filter(|_| !self.measure.is_named())
    }

    /// Checks that a trial can have a value.
    ///
    /// # Errors
    /// If the metric names a transaction, and only the whole trial has a value.
    pub fn check_of_trial(&self) -> Result<(), String> {
        if self.measure.is_of_trial() && self.transaction.is_some() {
            let name = self.measure.name();
            return Err(format!(
                "metric `{self}`: one transaction has no `{name}`, only the whole trial: write `{name}`"
            ));
        }
        Ok(())
    }

    /// Unit of the values.
    #[must_use]
    pub fn unit(&self) -> Unit {
        use Measure::{
            Cpu, DatabaseSize, EmptyShare, ErrorShare, FailedShare, Fairness, Gauge, Latency, Memory, Period, RowTime,
            RowsPerSecond, Served, Stall, Sustainable, Throughput, TimerCalls, TimerTime, Utilization, WalAfter,
            WalPeak, WalRestarts, WorkerStall, Written,
        };
        let name = self.transaction.as_deref().unwrap_or_default();
        match self.measure {
            Throughput | RowsPerSecond | Sustainable => Unit::PerSecond,
            Period | RowTime | Latency(..) | Cpu | TimerTime | Stall | WorkerStall => Unit::Nanos,
            WalPeak | WalAfter | DatabaseSize | Written | Memory => Unit::Bytes,
            FailedShare | EmptyShare | Served | Fairness | Utilization => Unit::Share,
            ErrorShare => Unit::PerTransaction,
            Gauge if name.ends_with("_ns") => Unit::Nanos,
            Gauge if name.ends_with("_bytes") => Unit::Bytes,
            Gauge if name.ends_with("_share") => Unit::Share,
            WalRestarts | TimerCalls | Gauge => Unit::Count,
        }
    }

    /// Names of all measures.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }
}

impl From<Measure> for Metric {
    fn from(measure: Measure) -> Self {
        Self { measure, transaction: None }
    }
}

impl FromStr for Metric {
    type Err = String;
    /// Parses a name such as `p99`, with a transaction `p99:claim`, or with a timer `timer_p99:scheduler`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, transaction) = match text.split_once(':') {
            None => (text, None),
            Some((name, transaction)) => (name, Some(transaction.to_owned())),
        };
        let elsewhere = ELSEWHERE.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        if let Some((other, ours)) = elsewhere {
            return Err(format!("unknown metric `{other}`: it is `{ours}` here"));
        }
        let measure = NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, m)| *m)
            .ok_or_else(|| unknown("metric", name, Self::names()))?;
        if measure.is_named() && transaction.is_none() {
            return Err(format!("metric `{name}` needs a name: write `{name}:NAME`"));
        }
        Ok(Self { measure, transaction })
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.measure.name())?;
        match &self.transaction {
            Some(t) => write!(f, ":{t}"),
            None => Ok(()),
        }
    }
}

impl TryFrom<String> for Metric {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Metric> for String {
    fn from(metric: Metric) -> Self {
        metric.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for (name, measure) in NAMES {
            match measure.is_named() {
                false => assert_eq!(name.parse(), Ok(Metric::from(measure))),
                true => assert!(name.parse::<Metric>().is_err_and(|e| e.contains(&format!("write `{name}:NAME`")))),
            }
            assert_eq!(measure.name(), name);
        }
        let m: Metric = "p99:claim".parse().expect("valid");
        assert_eq!((m.to_string().as_str(), m.of_transaction()), ("p99:claim", Some("claim")));
        let timer: Metric = "timer_time:back-off".parse().expect("valid");
        assert_eq!((timer.to_string().as_str(), timer.of_transaction()), ("timer_time:back-off", None));
        let unit = |name: &str| format!("gauge:{name}").parse::<Metric>().map(|m| m.unit());
        let units = [Unit::Nanos, Unit::Bytes, Unit::Share, Unit::Count].map(Ok);
        assert_eq!(["rejoin_ns", "log_bytes", "hit_share", "lost"].map(unit), units);
        for (other, ours) in ELSEWHERE {
            let here = format!("unknown metric `{other}`: it is `{ours}` here");
            assert_eq!(format!("{other}:claim").parse::<Metric>(), Err(here));
            assert!(ours.parse::<Metric>().is_ok(), "{ours}");
        }
        assert!("p98".parse::<Metric>().is_err_and(|e| e.contains("did you mean `p9")));
    }
}
