//! Time series of trials: windows of equal length, each with medians over trials.

use litelab_model::study::Location;
use litelab_protocol::Tick;
use litelab_record::outcome::{Measurement, Series};
use litelab_stats::{Confidence, Estimate, median};
use serde::{Serialize, Serializer};

/// Time series of one variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timeline {
    /// Index of the variant.
    pub variant: usize,
    /// Windows in order, of equal length.
    pub windows: Vec<Window>,
}

/// Values of one window, as medians over trials.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Window {
    /// Beginning and end, in seconds from `go`.
    pub seconds: (f64, f64),
    /// Values in the order of [`QUANTITIES`]; `None` if no trial has the quantity.
    #[serde(serialize_with = "quantities")]
    pub values: [Option<Estimate>; QUANTITIES.len()],
}

/// Quantities of each window with their units: committed transactions and errors per second, the largest log and
/// database, pages checkpointed from the log into the database per second, and the number of restarts of the log.
pub const QUANTITIES: [(&str, litelab_model::metric::Unit); 6] = {
    use litelab_model::metric::Unit::{Bytes, Count, PerSecond};
    [
        ("throughput", PerSecond),
        ("errors", PerSecond),
        ("wal", Bytes),
        ("database", Bytes),
        ("pages checkpointed", PerSecond),
        ("wal restarts", Count),
    ]
};

/// Serialises a map by the names of [`QUANTITIES`], without those that no trial has.
fn quantities<S: Serializer>(of: &[Option<Estimate>; QUANTITIES.len()], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(QUANTITIES.iter().zip(of).filter_map(|((name, _), value)| Some((name, value.as_ref()?))))
}

/// Trials of one variant: the length of each in seconds, and its windows.
pub(super) type Trials = Vec<(f64, Vec<[f64; QUANTITIES.len()]>)>;

/// Spreads the counts of each tick evenly over its interval: calls `add` with each of `count` windows of `step` seconds
/// that the interval touches, and the share of the interval in it. Counts after the last window belong to it.
pub(crate) fn spread(series: &Series, step: f64, count: usize, mut add: impl FnMut(usize, f64, &Tick)) {
    let mut before = 0.0;
    for tick in &series.ticks {
        let at = tick.t_ms as f64 / 1000.0;
        // The ticks of several processes are stored one process after the other.
        let from = if at > before { before } else { 0.0 };
        before = at;
        let length = (at - from).max(f64::EPSILON);
        let place = |seconds: f64| ((seconds / step) as usize).min(count - 1);
        for window in place(from)..=place(at) {
            let (low, high) = (window as f64 * step, (window + 1) as f64 * step);
            let high = if window + 1 == count { high.max(at) } else { high };
            add(window, ((at.min(high) - from.max(low)) / length).max(0.0), tick);
        }
    }
}

/// Divides one trial into windows.
pub(super) fn windows(
    measurement: &Measurement,
    series: &Series,
    location: Location,
    count: usize,
) -> (f64, Vec<[f64; QUANTITIES.len()]>) {
    let length = measurement.result.elapsed_ns.max(1);
    let seconds = length as f64 / 1e9 / count as f64;
    let place = |nanos: u64| ((u128::from(nanos) * count as u128 / u128::from(length)) as usize).min(count - 1);
    // Sizes are unknown until a sample falls into the window, and what is of files always for a server and in memory.
    let has_files = !measurement.on_server && location == Location::File;
    let of_files = if has_files { 0.0 } else { f64::NAN };
    let mut windows = vec![[0.0, 0.0, f64::NAN, f64::NAN, of_files, of_files]; count];
    spread(series, seconds, count, |window, share, tick| {
        for counts in &tick.counts {
            windows[window][0] += counts.committed as f64 * share / seconds;
            windows[window][1] += counts.errors as f64 * share / seconds;
        }
    });
    let mut before = None;
    for sample in series.samples.iter().filter(|sample| sample.at_ns >= series.go_ns) {
        let window = &mut windows[place(sample.at_ns - series.go_ns)];
        if has_files {
            window[2] = window[2].max(sample.wal_bytes as f64);
            window[3] = window[3].max(sample.database_bytes as f64);
        }
        let (frames, restarts) = before.unwrap_or((sample.frames_backfilled, sample.wal_restarts));
        window[4] += sample.frames_backfilled.saturating_sub(frames) as f64 / seconds;
        window[5] += sample.wal_restarts.saturating_sub(restarts) as f64;
        before = Some((sample.frames_backfilled, sample.wal_restarts));
    }
    (length as f64 / 1e9, windows)
}

/// Medians over a variant's trials; `None` without trials.
pub(super) fn timeline(variant: usize, trials: &Trials) -> Option<Timeline> {
    let count = trials.iter().map(|(_, windows)| windows.len()).min().filter(|count| *count > 0)?;
    let estimate = |values: Vec<f64>| {
        let known: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        median(&known, Confidence::P95).ok()
    };
    let length = estimate(trials.iter().map(|(seconds, _)| *seconds).collect())?.value / count as f64;
    let windows = (0..count).map(|at| Window {
        seconds: (length * at as f64, length * (at + 1) as f64),
        values: std::array::from_fn(|q| estimate(trials.iter().map(|(_, windows)| windows[at][q]).collect())),
    });
    Some(Timeline { variant, windows: windows.collect() })
}

#[cfg(test)]
mod tests {
    use litelab_protocol::{TickCount, TrialResult};
    use litelab_record::Sample;

    use super::*;

    #[test]
    fn ticks_and_samples_fall_into_their_windows() {
        let tick = |t_ms, committed| Tick {
            t_ms,
            counts: vec![TickCount { committed, ..TickCount::default() }],
            ..Tick::default()
        };
        let sample = |ms: u64, wal_bytes, frames_backfilled, wal_restarts| Sample {
            at_ns: 500_000_000 + ms * 1_000_000,
            wal_bytes,
            frames_backfilled,
            wal_restarts,
            ..Sample::default()
        };
        let series = Series {
            samples: vec![sample(0, 10, 5, 1), sample(900, 40, 5, 1), sample(1100, 20, 25, 2), sample(2500, 30, 25, 2)],
            go_ns: 500_000_000,
            ticks: vec![tick(100, 7), tick(1000, 3), tick(1001, 5), tick(2000, 1)],
        };
        let result = TrialResult { elapsed_ns: 2_000_000_000, ..TrialResult::default() };
        let measurement = Measurement { result, ..Measurement::default() };
        let (seconds, windows) = windows(&measurement, &series, Location::File, 2);
        assert_eq!((seconds, windows.len()), (2.0, 2));
        // Seven and three in the first second; events after the end belong to the last window.
        assert_eq!([windows[0][0], windows[1][0]], [10.0, 6.0]);
        assert_eq!([windows[0][2], windows[1][2]], [40.0, 30.0]);
        assert_eq!([windows[0][4], windows[1][4]], [0.0, 20.0]);
        assert_eq!([windows[0][5], windows[1][5]], [0.0, 1.0]);
        let timeline = timeline(3, &vec![(seconds, windows)]).expect("one trial");
        assert_eq!(timeline.windows[1].seconds, (1.0, 2.0));
        assert_eq!(timeline.windows[0].values[0].map(|e| e.value), Some(10.0));
    }

    #[test]
    fn a_window_shorter_than_the_interval_of_a_tick_has_its_share() {
        let tick = |t_ms| Tick {
            t_ms,
            counts: vec![TickCount { committed: 10, errors: 5, ..TickCount::default() }],
            ..Tick::default()
        };
        let series = Series { ticks: (1..=10).map(|at| tick(at * 100)).collect(), ..Series::default() };
        let result = TrialResult { elapsed_ns: 1_000_000_000, ..TrialResult::default() };
        let measurement = Measurement { result, ..Measurement::default() };
        let (_, windows) = windows(&measurement, &series, Location::File, 40);
        assert_eq!(windows.len(), 40);
        for window in windows {
            assert!((window[0] - 100.0).abs() < 1e-9 && (window[1] - 50.0).abs() < 1e-9, "{window:?}");
        }
    }
}
