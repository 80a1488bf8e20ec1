//! What can be compared: names, units, and which direction is better. How each is computed from a trial stands in the
//! engine.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::unknown;

/// A quantity of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantile {
    /// Median.
    P50,
    /// 95 %.
    P95,
    /// 99 %.
    P99,
    /// 99.9 %.
    P999,
    /// The longest.
    Max,
    /// The mean, no quantile.
    Mean,
}

/// Which histogram a quantile is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timing {
    /// From the wish to start to the answer of the commit.
    Service,
    /// From the scheduled start.
    Response,
    /// From the scheduled to the actual start.
    Lag,
    /// Waiting for a connection or lock of the access.
    Wait,
    /// Until the query's call returned.
    Query,
    /// Until the first row was in hand.
    FirstRow,
    /// How late a timer of the host program ran.
    Probe,
    /// Waiting of a trivial job in the runtime's blocking pool.
    PoolWait,
    /// Waiting of the runtime's runnable tasks for a processor.
    Scheduler,
}

/// What a metric measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Committed transactions per second.
    Throughput,
    /// Rows written or fetched per second.
    RowsPerSecond,
    /// Nanoseconds per row: total service time over rows.
    RowTime,
    /// A latency.
    Latency(Timing, Quantile),
    /// CPU nanoseconds of the runner per committed transaction.
    Cpu,
    /// Largest size of the WAL seen, in bytes.
    WalPeak,
    /// Size of the WAL after the last connection was closed, in bytes.
    WalAfter,
    /// Size of the database after the trial, in bytes.
    DatabaseSize,
    /// Bytes the runner caused to be written per committed transaction.
    Written,
    /// Peak memory of the runner in bytes.
    Memory,
    /// Failed transactions as a share of all.
    FailedShare,
    /// Transactions that ended without the row they needed, as a share of all.
    EmptyShare,
    /// Errors seen (cured ones included) per transaction.
    ErrorShare,
    /// Arrivals of a fixed rate that were served before the end, as a share of all that were due.
    Served,
    /// The slowest worker's committed transactions over the mean of its role.
    Fairness,
    /// The highest rate of arrivals at which the conditions of the scenario's search were kept.
    Sustainable,
    /// How often the log was begun anew after a checkpoint.
    WalRestarts,
    /// Share of time that the event loop was busy.
    Utilization,
    /// Nanoseconds per committed transaction in a part of what the driver's library does; the part stands where other
    /// metrics have a transaction.
    PartTime,
    /// How often per committed transaction it did that part.
    PartCalls,
    /// Longest time in which no worker committed anything, in nanoseconds.
    Stall,
    /// Longest time in which one worker committed nothing, in nanoseconds; of the worker that had the longest.
    WorkerStall,
    /// Nanoseconds from the start of a killed node until it was part of its cluster again.
    Rejoin,
    /// Acknowledged transactions that a database no longer had after a node was killed, as a share of all.
    Lost,
}

/// A measure, of one transaction or of all.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Metric {
    /// What is measured.
    pub measure: Measure,
    /// Of this transaction only; of a measure of parts, the part.
    pub transaction: Option<String>,
}

/// The unit of a metric's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Per second.
    PerSecond,
    /// Nanoseconds.
    Nanos,
    /// Bytes.
    Bytes,
    /// 0 to 1.
    Share,
    /// A number of things.
    Count,
    /// Of a thing that may happen several times in a transaction.
    PerTransaction,
}

/// Names of measures, in the order documentation lists them.
const NAMES: [(&str, Measure); 56] = {
    use Measure::{
        Cpu, DatabaseSize, EmptyShare, ErrorShare, FailedShare, Fairness, Latency, Lost, Memory, PartCalls, PartTime,
        Rejoin, RowTime, RowsPerSecond, Served, Stall, Sustainable, Throughput, Utilization, WalAfter, WalPeak,
        WalRestarts, WorkerStall, Written,
    };
    use Quantile::{Max, Mean, P50, P95, P99, P999};
    use Timing::{FirstRow, Lag, PoolWait, Probe, Query, Response, Scheduler, Service, Wait};
    [
        ("throughput", Throughput),
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
        ("query", Latency(Query, P50)),
        ("query_p99", Latency(Query, P99)),
        ("first_row", Latency(FirstRow, P50)),
        ("first_row_p99", Latency(FirstRow, P99)),
        ("probe_p50", Latency(Probe, P50)),
        ("probe_p99", Latency(Probe, P99)),
        ("probe_max", Latency(Probe, Max)),
        ("pool_wait_p50", Latency(PoolWait, P50)),
        ("pool_wait_p99", Latency(PoolWait, P99)),
        ("pool_wait_max", Latency(PoolWait, Max)),
        ("scheduler_p50", Latency(Scheduler, P50)),
        ("scheduler_p99", Latency(Scheduler, P99)),
        ("scheduler_max", Latency(Scheduler, Max)),
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
        ("part_time", PartTime),
        ("part_calls", PartCalls),
        ("stall", Stall),
        ("worker_stall", WorkerStall),
        ("rejoin", Rejoin),
        ("lost", Lost),
    ]
};

/// Names that other benchmarks have, and what stands for them here.
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

    /// Unit of its values.
    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            Self::Throughput | Self::RowsPerSecond | Self::Sustainable => Unit::PerSecond,
            Self::RowTime
            | Self::Latency(..)
            | Self::Cpu
            | Self::PartTime
            | Self::Stall
            | Self::WorkerStall
            | Self::Rejoin => Unit::Nanos,
            Self::WalPeak | Self::WalAfter | Self::DatabaseSize | Self::Written | Self::Memory => Unit::Bytes,
            Self::FailedShare | Self::EmptyShare | Self::Served | Self::Fairness | Self::Utilization | Self::Lost => {
                Unit::Share
            }
            Self::ErrorShare => Unit::PerTransaction,
            Self::WalRestarts | Self::PartCalls => Unit::Count,
        }
    }

    /// Whether its value is made of single transactions, so that a few of them say little.
    #[must_use]
    pub fn is_of_transactions(self) -> bool {
        match self {
            Self::Throughput | Self::RowsPerSecond | Self::RowTime | Self::Cpu | Self::Written | Self::Fairness => true,
            Self::PartTime | Self::PartCalls => true,
            Self::Latency(timing, _) => !matches!(timing, Timing::Probe | Timing::Scheduler),
            _ => false,
        }
    }

    /// Whether more of it is better.
    #[must_use]
    pub fn more_is_better(self) -> bool {
        matches!(self, Self::Throughput | Self::RowsPerSecond | Self::Served | Self::Fairness | Self::Sustainable)
    }
}

impl Metric {
    /// The transaction that it is of, if it is of one: what a workload must have.
    #[must_use]
    pub fn of_transaction(&self) -> Option<&str> {
        let of_part = matches!(self.measure, Measure::PartTime | Measure::PartCalls);
        self.transaction.as_deref().filter(|_| !of_part)
    }

    /// All measures' names.
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
    /// `p99` or `p99:claim`.
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
            assert_eq!(name.parse(), Ok(Metric::from(measure)));
            assert_eq!(measure.name(), name);
        }
        let m: Metric = "p99:claim".parse().expect("valid");
        assert_eq!((m.to_string().as_str(), m.of_transaction()), ("p99:claim", Some("claim")));
        let part: Metric = "part_time:back-off".parse().expect("valid");
        assert_eq!((part.to_string().as_str(), part.of_transaction()), ("part_time:back-off", None));
        let tps = "unknown metric `tps`: it is `throughput` here";
        assert_eq!("tps:claim".parse::<Metric>(), Err(tps.to_owned()));
        assert!(ELSEWHERE.iter().all(|(_, ours)| ours.parse::<Metric>().is_ok()));
        assert!("p98".parse::<Metric>().is_err_and(|e| e.contains("did you mean `p9")));
    }
}
