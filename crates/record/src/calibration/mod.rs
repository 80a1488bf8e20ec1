//! What a host and a disk can show at all: measured by `litelab calibrate`, kept for the host, stored with its runs.

mod clock;
mod host;
mod runner;
mod store;
mod sync;

use litelab_model::Metric;
use litelab_stats::{Estimate, Spread};
use serde::{Deserialize, Serialize};

pub use clock::Clock;
pub use host::Host;
pub use runner::RunnerCost;
pub use store::{newest, save};
pub use sync::{SyncDistribution, SyncQuantiles};

use litelab_observe::environment::LoadWindow;

/// The calibration of a host. Holds no host name and no path: it is stored with runs, which people publish.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostCalibration {
    /// Version of litelab that made it.
    pub litelab: String,
    /// When, UTC, ISO 8601.
    pub made: String,
    /// When, in seconds since 1970.
    pub made_unix: u64,
    /// Whether it was made with `--quick`.
    pub quick: bool,
    /// How long it took.
    pub seconds: f64,
    /// What it holds for.
    pub host: Host,
    /// The driver of the A/A experiments.
    pub driver: String,
    /// Differences of identical arms, for each kind of work and metric.
    pub noise: Vec<Noise>,
    /// Cost and resolution of the clock.
    pub clock: Clock,
    /// What each runner costs without a database.
    pub runners: Vec<RunnerCost>,
    /// What a synchronous write takes; none where nothing could be written.
    pub sync: Option<SyncDistribution>,
    /// The machine's load before anything of litelab's ran.
    pub rest: LoadWindow,
    /// The block of the A/A experiments in which most time was stolen.
    pub worst: LoadWindow,
}

/// The kind of work of an A/A experiment; the names of the scenarios in the study `calibrate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Transactions of microseconds that only read what is cached: bound by the processor, and over before the system
    /// takes it away.
    Reads,
    /// The same, of a millisecond or so: on a busy machine some of them are interrupted.
    Queries,
    /// Transactions that sync as they commit: bound by the disk.
    Commits,
}

impl Work {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Reads, Self::Queries, Self::Commits];

    /// By the name of its scenario.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|work| work.name() == name)
    }

    /// The name of its scenario.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Queries => "queries",
            Self::Commits => "commits",
        }
    }
}

/// By how much two identical arms differ in one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// What both arms did.
    pub work: Work,
    /// In what they were compared.
    pub metric: Metric,
    /// Blocks that had a value of both.
    pub blocks: u32,
    /// Twin over arm over all blocks; a host without bias has 1 in the intervals of all rows together, with 95 %.
    pub ratio: Estimate,
    /// Spread of the log-ratio between blocks.
    pub spread: Spread,
    /// Blocks of each experiment.
    pub experiment_blocks: u32,
    /// Experiments: disjoint groups of blocks, each judged as a comparison of its own.
    pub experiments: u32,
    /// Experiments whose interval excluded 1 although there is nothing to find.
    pub false_differences: u32,
    /// Their share with Clopper and Pearson's interval at 95 %; none without an experiment.
    pub false_rate: Option<Estimate>,
    /// The smallest difference that so many blocks are likely to show.
    pub effects: Vec<Effect>,
}

/// What so many blocks can show.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Blocks.
    pub blocks: u32,
    /// Relative difference found with 80 % at 95 % confidence, a fraction; none where so few blocks give no interval or
    /// the noise is beyond all use.
    pub effect: Option<f64>,
}

/// A calibration as a run holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredCalibration {
    /// Its age when the run began, in seconds.
    pub age_seconds: u64,
    /// The calibration.
    pub calibration: HostCalibration,
}

impl StoredCalibration {
    /// As of now.
    #[must_use]
    pub fn now(calibration: HostCalibration) -> Self {
        Self { age_seconds: unix_now().saturating_sub(calibration.made_unix), calibration }
    }
}

/// Seconds since 1970.
#[must_use]
pub fn unix_now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
pub(crate) mod testkit {
    use litelab_stats::{Bounds, Confidence, Interval, proportion};

    use super::*;

    pub fn calibration(host: Host, made_unix: u64) -> HostCalibration {
        let ratio = Estimate {
            value: 1.002,
            n: 60,
            bounds: Bounds::Interval(Interval::new(0.991, 1.0105, 0.951).expect("an interval")),
        };
        let quantiles = SyncQuantiles::of(&mut [5, 4, 3]);
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
                blocks: 60,
                ratio,
                spread: Spread::normal(0.031),
                experiment_blocks: 6,
                experiments: 10,
                false_differences: 1,
                false_rate: proportion(1, 10, Confidence::P95).ok(),
                effects: vec![Effect { blocks: 6, effect: Some(0.08) }, Effect { blocks: 5, effect: None }],
            }],
            clock: Clock { cost_ns: 21.5, resolution_ns: 10 },
            runners: vec![],
            sync: Some(SyncDistribution { overwrite: quantiles, append: quantiles }),
            rest: LoadWindow::default(),
            worst: LoadWindow { steal_share: Some(0.25), ..LoadWindow::default() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calibration_survives_json() {
        let before = testkit::calibration(Host::default(), 1_767_323_045);
        let text = serde_json::to_string(&before).expect("written");
        assert_eq!(serde_json::from_str::<HostCalibration>(&text).expect("read"), before);
    }

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
        // A clock that was set back since.
        assert_eq!(of(unix_now() + 1000), 0);
    }
}
