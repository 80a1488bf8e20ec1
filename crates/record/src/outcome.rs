//! Outcome of a trial.

use std::collections::BTreeMap;

use litelab_protocol::{ConnectionSettings, Tick, TrialResult};
use serde::{Deserialize, Serialize};

use litelab_observe::{Sample, Summary};

/// A completed trial, measured or failed.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialRecord {
    /// Round number, from 0.
    pub round: u32,
    /// Index of the variant in the plan.
    pub variant: usize,
    /// Position in the order of its round, from 0.
    pub position: u32,
    /// Start time in UTC, ISO 8601.
    pub started: String,
    /// Duration in seconds, from the copy of the database to the last check.
    pub seconds: f64,
    /// Outcome of the trial.
    pub outcome: Outcome,
}

/// Outcome of a trial.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The trial was completed and passed all checks.
    Measured(Box<Measurement>),
    /// The trial failed; only the reason is reported.
    Failed(Box<Failure>),
}

/// Failure of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// Kind of the failure.
    pub kind: FailureKind,
    /// Reason in one line.
    pub reason: String,
    /// End of the runner's standard error.
    pub stderr: String,
    /// Settings read back; empty if the trial failed before.
    pub settings: Vec<ConnectionSettings>,
    /// Result of the runner; `None` if the trial failed before.
    pub result: Option<TrialResult>,
}

/// Kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The database could not be copied or created.
    Preparation,
    /// The runner could not be started, died, hung, or broke the protocol.
    Runner,
    /// The runner reported that it could not continue.
    Refused,
    /// The settings in effect differ from the requested ones.
    Settings,
    /// The runner's counts are contradictory.
    Counts,
    /// A node that the trial should kill was not killed, or did not rejoin.
    Server,
    /// The disk was full, or SQLite met an I/O error or a corrupt file.
    Storage,
    /// The content of the database violates an invariant.
    Invariant,
    /// More transactions failed than the scenario permits.
    Transactions,
}

/// Evidence of a trial that succeeded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Counts and times reported by the runner; the sum over several processes.
    pub result: TrialResult,
    /// Settings in effect on every connection.
    pub settings: Vec<ConnectionSettings>,
    /// Summary of the external observation between `go` and the end.
    pub summary: Summary,
    /// CPU nanoseconds of all runner processes between `go` and their end.
    pub cpu_ns: u64,
    /// Size of all databases in bytes after the last connection was closed.
    pub database_bytes: u64,
    /// Size of their logs in bytes at that time; 0 if the last connection removed them.
    pub wal_after_bytes: u64,
    /// Hex SHA-256 of the content of each table that the workload names.
    pub content: BTreeMap<String, String>,
    /// Flags to print next to the numbers.
    pub flags: Vec<Flag>,
    /// Result of the search, if the variant has one; all other fields then belong to the last trial at the rate found.
    #[serde(default)]
    pub search: Option<SearchOutcome>,
    /// Whether the database was on a server: then its files were not observed, and CPU and memory are those of the
    /// runner.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_server: bool,
    /// Longest time in nanoseconds without a commit of any worker, with the resolution of a tick (100 ms); `None` in
    /// run files of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall_ns: Option<u64>,
    /// Observations by name, with units as in [`TrialResult::gauges`]. Of a killed node: `killed_ns` and `started_ns`,
    /// the times of its kill and restart since `go`; `rejoin_ns`, from the restart until it had rejoined its server (in
    /// a cluster, synced); `lost`, the largest number of acknowledged transactions that a node lacked, including the
    /// restarted one, if an invariant requires the committed count.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gauges: BTreeMap<String, f64>,
    /// Nanoseconds after the warm-up of each role that ends by time: see [`crate::measure::window`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub timed_ns: BTreeMap<String, u64>,
}

/// Result of a search for the highest sustainable rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchOutcome {
    /// Sustainable rate per second; 0 if no rate was sustained.
    pub sustainable: f64,
    /// All rates tried, in order.
    pub probes: Vec<Probe>,
}

/// One rate tried by a search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// Rate of arrivals per second.
    pub rate: f64,
    /// Number of trials that satisfied all conditions.
    pub kept: u32,
    /// Number of trials that violated a condition.
    pub broken: u32,
    /// Condition violated by the last such trial: a metric, or `arrivals` for an overload; empty if none was violated.
    pub condition: String,
    /// The same condition with its value.
    pub reason: String,
    /// Response times of the last trial; `None` in run files of older versions.
    #[serde(default)]
    pub response: Option<ResponseTimes>,
}

/// Response times of one trial over all served arrivals, in nanoseconds from the scheduled start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResponseTimes {
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
}

impl Probe {
    /// Whether most of its trials satisfied all conditions.
    #[must_use]
    pub fn held(&self) -> bool {
        self.kept > self.broken
    }
}

/// Time series of a trial, stored separately because of its length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Samples of the external observation; times are relative to the first sample.
    pub samples: Vec<Sample>,
    /// Time of `go` on the clock of the samples, in nanoseconds.
    pub go_ns: u64,
    /// Ticks reported by the runner; several processes one after the other.
    pub ticks: Vec<Tick>,
}

/// A failed self-check, or a condition that qualifies the numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Flag {
    /// Little's law is violated: mean number in flight over workers deviates, (X·R − L) / L.
    LittlesLaw {
        /// Relative difference.
        difference: f64,
    },
    /// The offered rate was not achieved.
    Overloaded {
        /// Name of the role.
        role: String,
        /// Achieved rate divided by the offered rate.
        achieved: f64,
        /// Number of arrivals that were never started.
        unserved: u64,
    },
    /// The trial is too short to judge: shorter than ten transactions, or fewer than a hundred transactions.
    Short {
        /// Length of the longest window in seconds.
        seconds: f64,
        /// Number of transactions that ended in the windows of all roles.
        ended: u64,
        /// Median duration of a transaction in seconds; `None` without a measured transaction.
        median: Option<f64>,
    },
    /// Transactions were still in progress after the drain: their times are lower bounds.
    Unfinished {
        /// Number of these transactions.
        count: u64,
    },
    /// Transactions failed after the last retry.
    Failures {
        /// Number of failed transactions.
        failed: u64,
        /// Number of all transactions.
        of: u64,
    },
    /// A transaction had no effect in the whole trial: each execution ended for lack of a row, or read and changed
    /// none.
    Idle {
        /// Name of the role.
        role: String,
        /// Name of the transaction.
        transaction: String,
        /// Number of executions.
        count: u64,
        /// Whether all executions ended for lack of a row; otherwise they committed.
        empty: bool,
    },
    /// Samples were late, because the machine was busy with other work.
    LateSamples {
        /// Share of late samples, 0 to 1.
        share: f64,
    },
}
