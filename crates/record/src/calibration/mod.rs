//! Precision of a host and a disk: measured by `litelab calibrate`, kept for the host, stored with its runs.

mod host;
mod store;

use litelab_model::Metric;
use litelab_stats::{Estimate, Spread};
use serde::{Deserialize, Serialize};

pub use host::Host;
pub use store::{newest, save};

use litelab_observe::environment::{FsyncProbe, LoadWindow};

/// Calibration of a host. Contains no host name and no path, because it is stored in run files, which users publish.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostCalibration {
    /// Version of litelab that measured it.
    pub litelab: String,
    /// Time of the calibration in UTC, ISO 8601.
    pub made: String,
    /// Time of the calibration in seconds since 1970.
    pub made_unix: u64,
    /// Whether it was measured with `--quick`.
    pub quick: bool,
    /// Duration in seconds.
    pub seconds: f64,
    /// Host and disk that it applies to.
    pub host: Host,
    /// Driver of the A/A experiments.
    pub driver: String,
    /// Differences between identical variants, per kind of work and metric.
    pub noise: Vec<Noise>,
    /// Cost and resolution of the clock.
    pub clock: Clock,
    /// Cost of each runner without a database.
    pub runners: Vec<RunnerCost>,
    /// Durations of synchronous writes; `None` if the disk was not writable.
    pub sync: Option<FsyncProbe>,
    /// Load of the machine before litelab started any work.
    pub rest: LoadWindow,
    /// Load during the round of the A/A experiments with the most CPU time stolen.
    pub worst: LoadWindow,
}

/// Kind of work of an A/A experiment; each is a scenario of the study `calibrate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Transactions of microseconds that read cached data only: CPU-bound, and too short to be preempted often.
    Reads,
    /// The same work in transactions of about a millisecond: on a busy machine some of them are preempted.
    Queries,
    /// Transactions that sync at commit: disk-bound.
    Commits,
}

impl Work {
    /// All kinds of work.
    pub const ALL: [Self; 3] = [Self::Reads, Self::Queries, Self::Commits];

    /// The kind of work with this scenario name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|work| work.name() == name)
    }

    /// Name of the scenario.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Queries => "queries",
            Self::Commits => "commits",
        }
    }
}

/// Cost and resolution of the clock, measured in litelab itself. Runners in Rust read the same clock in the same way;
/// the cost of other clocks is part of [`RunnerCost`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// Nanoseconds per reading: smallest mean of several rounds, because disturbances only increase it.
    pub cost_ns: f64,
    /// Smallest step between two readings in nanoseconds. At least the cost of a reading, if that is longer than the
    /// step of the clock.
    pub resolution_ns: u64,
}

/// Cost of a runner itself, without a database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunnerCost {
    /// Name of the runner.
    pub runner: String,
    /// Programming language.
    pub language: String,
    /// Version of its language runtime.
    pub runtime: String,
    /// Nanoseconds per transaction of one insert, inside and between transactions: median, minimum and maximum of
    /// trials.
    pub nanos: (f64, f64, f64),
    /// Number of trials.
    pub trials: u32,
}

/// Difference between two identical variants in one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Work of both variants.
    pub work: Work,
    /// Metric compared.
    pub metric: Metric,
    /// Number of rounds with a value of both variants.
    pub rounds: u32,
    /// Ratio of twin to variant over all rounds. On a host without bias the intervals of all rows together contain 1
    /// with 95 %.
    pub ratio: Estimate,
    /// Spread of the log-ratio between rounds.
    pub spread: Spread,
    /// Number of rounds of each experiment.
    pub experiment_rounds: u32,
    /// Number of experiments: disjoint groups of rounds, each judged as a separate comparison.
    pub experiments: u32,
    /// Number of experiments whose interval excludes 1: false positives.
    pub false_differences: u32,
    /// Rate of false positives with the 95 % interval of Clopper and Pearson; `None` without experiments.
    pub false_rate: Option<Estimate>,
    /// Smallest detectable difference by number of rounds.
    pub effects: Vec<DetectableEffect>,
}

/// Smallest difference that a number of rounds can detect.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DetectableEffect {
    /// Number of rounds.
    pub rounds: u32,
    /// Relative difference, as a fraction, detected with 80 % probability at 95 % confidence; `None` if there are too
    /// few rounds for an interval or the noise is too large.
    pub effect: Option<f64>,
}

/// A calibration as stored in a run file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredCalibration {
    /// Age of the calibration at the start of the run, in seconds.
    pub age_seconds: u64,
    /// The calibration itself.
    pub calibration: HostCalibration,
}

impl StoredCalibration {
    /// Attaches the current age.
    #[must_use]
    pub fn now(calibration: HostCalibration) -> Self {
        Self { age_seconds: unix_now().saturating_sub(calibration.made_unix), calibration }
    }
}

/// Current Unix time in seconds.
#[must_use]
pub fn unix_now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
pub(crate) mod testkit {
    use litelab_observe::environment::SyncLatency;
    use litelab_stats::{Bounds, Confidence, Interval, proportion};

    use super::*;

    pub fn calibration(host: Host, made_unix: u64) -> HostCalibration {
        let ratio = Estimate {
            value: 1.002,
            n: 60,
            bounds: Bounds::Interval(Interval::new(0.991, 1.0105, 0.951).expect("an interval")),
        };
        let latency = SyncLatency { writes: 3, p50_ns: 4, ..SyncLatency::default() };
        HostCalibration {
            litelab: "0.1.0".into(),
            made: "2026-01-02T03:04:05.000Z".into(),
            made_unix,
            quick: false,
            seconds: 98.5,
            host,
            driver: "rusqlite".into(),
            noise: vec![Noise {
                work: Work::Reads,
                metric: "p50".parse().expect("a metric"),
                rounds: 60,
                ratio,
                spread: Spread::normal(0.031),
                experiment_rounds: 6,
                experiments: 10,
                false_differences: 1,
                false_rate: proportion(1, 10, Confidence::P95).ok(),
                effects: vec![
                    DetectableEffect { rounds: 6, effect: Some(0.08) },
                    DetectableEffect { rounds: 5, effect: None },
                ],
            }],
            clock: Clock { cost_ns: 21.5, resolution_ns: 10 },
            runners: vec![],
            sync: Some(FsyncProbe { overwrite: latency, append: latency }),
            rest: LoadWindow::default(),
            worst: LoadWindow { steal_share: Some(0.25), ..LoadWindow::default() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_work_are_named_like_their_scenarios() {
        for work in Work::ALL {
            assert_eq!(Work::named(work.name()), Some(work));
            assert_eq!(serde_json::to_value(work).expect("written"), work.name());
        }
        assert_eq!(Work::named("writers"), None);
    }

    #[test]
    fn the_age_is_counted_from_when_it_was_made_and_never_below_nothing() {
        let of = |made| StoredCalibration::now(testkit::calibration(Host::default(), made)).age_seconds;
        let hour = of(unix_now() - 3600);
        assert!((3600..3700).contains(&hour), "{hour}");
        // The clock was set back after the calibration.
        assert_eq!(of(unix_now() + 1000), 0);
    }
}
