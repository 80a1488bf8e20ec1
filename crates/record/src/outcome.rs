//! What became of a trial.

use std::collections::BTreeMap;

use litelab_protocol::{ConnectionSettings, Tick, TrialResult};
use serde::{Deserialize, Serialize};

use litelab_observe::{Sample, Summary};

/// A trial that was run, whatever came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialRecord {
    /// Block, from 0.
    pub block: u32,
    /// Index of the arm in the plan.
    pub arm: usize,
    /// Place in the order of its block, from 0.
    pub position: u32,
    /// UTC, ISO 8601.
    pub started: String,
    /// From the first copy to the last check, in seconds.
    pub seconds: f64,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a trial.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It was run and its results are right.
    Measured(Box<Measurement>),
    /// It counts for nothing but its reason.
    Failed(Box<Failure>),
}

/// Why a trial failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// One line.
    pub reason: String,
    /// The last of what the runner said on standard error.
    pub stderr: String,
    /// Settings read back, if it got so far.
    pub settings: Vec<ConnectionSettings>,
    /// The result, if it got so far.
    pub result: Option<TrialResult>,
}

/// The kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The database could not be copied or made.
    Preparation,
    /// The runner could not be started, died, hung, or broke the protocol.
    Runner,
    /// The runner said that it could not go on.
    Refused,
    /// Settings in effect were not those asked for.
    Settings,
    /// The runner's counts contradict each other.
    Counts,
    /// A node that the trial was to kill was not killed, or did not come back.
    Server,
    /// The disk was full, or SQLite met an I/O error or a damaged file.
    Storage,
    /// The database is not as it must be.
    Invariant,
    /// More transactions failed than the scenario allows.
    Transactions,
}

/// The evidence of a trial that succeeded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// What the runner counted and timed; of several processes, their sum.
    pub result: TrialResult,
    /// Settings in effect on every connection.
    pub settings: Vec<ConnectionSettings>,
    /// What was seen from outside between `go` and the end.
    pub summary: Summary,
    /// CPU nanoseconds of all runner processes between `go` and their end.
    pub cpu_ns: u64,
    /// Bytes of all databases after the last connection was closed.
    pub database_bytes: u64,
    /// Bytes of their logs then; 0 where the last connection removed them.
    pub wal_after_bytes: u64,
    /// Hex SHA-256 of the content of each table that the workload names.
    pub content: BTreeMap<String, String>,
    /// What is to be said beside the numbers.
    pub flags: Vec<Flag>,
    /// How the rate was found, where one was sought; everything else is of the last trial at that rate.
    #[serde(default)]
    pub search: Option<SearchOutcome>,
    /// Whether the database was a server's: then its files were not looked at, and CPU and memory are of the runner alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_server: bool,
    /// Longest time in nanoseconds in which no worker committed anything, to a tick (a tenth of a second); none of runs
    /// before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall_ns: Option<u64>,
    /// The node that was killed, where one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// Roles that lasted for a time and not for a number of transactions, and their nanoseconds after the warm-up:
    /// [`crate::measure::window`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub timed_ns: BTreeMap<String, u64>,
}

/// A node of a server that a trial killed and brought back. Times are in milliseconds from `go`; they may lie after the
/// trial's end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Which, from 1.
    pub node: u32,
    /// When it was killed.
    pub killed_ms: u64,
    /// When its start began.
    pub started_ms: u64,
    /// When it was part of its server again: of a cluster, synced.
    pub back_ms: u64,
    /// Acknowledged transactions that a node no longer had, the one that came back among them; none where no invariant
    /// asks for as much as was committed. Not 0 only in a trial that failed for it.
    pub lost: Option<u64>,
}

/// The outcome of a search for the highest rate that is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchOutcome {
    /// That rate, per second; 0 where none was kept.
    pub sustainable: f64,
    /// Every rate that was tried, in order.
    pub probes: Vec<Probe>,
}

/// One rate of a search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// Per second.
    pub rate: f64,
    /// Trials in which all conditions were kept.
    pub kept: u32,
    /// Trials in which one was not.
    pub broken: u32,
    /// Which one, the last time: a metric, or `arrivals` where the load was not served as it came; empty where none was.
    pub condition: String,
    /// The same with its figure.
    pub reason: String,
    /// Response times of the last of its trials; none where the run was made before they were kept.
    #[serde(default)]
    pub response: Option<ResponseTimes>,
}

/// Response times of one trial, in nanoseconds from the scheduled start, over all its arrivals that were served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResponseTimes {
    /// Median.
    pub p50: f64,
    /// 95 %.
    pub p95: f64,
    /// 99 %.
    pub p99: f64,
}

impl Probe {
    /// Whether most of its trials were kept.
    #[must_use]
    pub fn held(&self) -> bool {
        self.kept > self.broken
    }
}

/// The time series of a trial; stored apart, for they are long.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// From outside, times counted from the first sample.
    pub samples: Vec<Sample>,
    /// Time of `go` on the clock of the samples, in nanoseconds.
    pub go_ns: u64,
    /// From the runner; of several processes, one after the other.
    pub ticks: Vec<Tick>,
}

/// A self-check that did not pass, or a state that qualifies the numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Flag {
    /// Mean number in flight times rate does not give the number of workers: (X·R − L) / L.
    LittlesLaw {
        /// Relative difference.
        difference: f64,
    },
    /// The load could not be kept: share of the offered rate that was achieved, and arrivals never started.
    Overloaded {
        /// Role.
        role: String,
        /// Achieved over offered.
        achieved: f64,
        /// Arrivals never started.
        unserved: u64,
    },
    /// A trial too short to be judged: less than ten transactions long, or of fewer than a hundred.
    Short {
        /// Seconds of the longest window.
        seconds: f64,
        /// Transactions that ended in the windows of all roles.
        ended: u64,
        /// Median time of one, in seconds; none where none was measured.
        median: Option<f64>,
    },
    /// Transactions that were still under way when their drain had passed: their times are lower bounds.
    Unfinished {
        /// How many.
        count: u64,
    },
    /// Transactions that failed after the last retry.
    Failures {
        /// Failed.
        failed: u64,
        /// Of all.
        of: u64,
    },
    /// A transaction that did nothing in all of a trial: each ended for want of a row, or read and changed none.
    Idle {
        /// Role.
        role: String,
        /// Transaction.
        transaction: String,
        /// How often it was run.
        count: u64,
        /// Whether all ended for want of a row; else they committed.
        empty: bool,
    },
    /// The machine was busy with something else: share of samples that came late.
    LateSamples {
        /// 0 to 1.
        share: f64,
    },
}
