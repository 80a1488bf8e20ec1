//! One trial over time, in windows of equal length.

use litelab_record::outcome::Series;

use crate::analysis::timeline::spread;

/// Largest number of lines of a chart; more are hard to follow.
pub(super) const MOST_VARIANTS: usize = 4;
/// Largest number of points of a line, for which a chart has room.
const MOST_WINDOWS: f64 = 120.0;
/// Smallest number of windows of a chart.
const LEAST_WINDOWS: usize = 5;
/// Length of the shortest window in seconds: the interval between two ticks of a runner.
const SHORTEST: f64 = 0.1;

/// Time series of a trial in windows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Course {
    /// Round of the trial, counted from 0.
    pub(super) round: u32,
    /// Length of a window in seconds.
    pub(super) step: f64,
    /// Committed transactions per second.
    pub(super) throughput: Vec<f64>,
    /// Errors per second, including those that a retry resolved: busy errors, and all others.
    pub(super) busy: Vec<f64>,
    pub(super) other: Vec<f64>,
    /// Longest lateness of a timer of the host program, in nanoseconds; NaN without a probe.
    pub(super) lag: Vec<f64>,
    /// Largest size of the log in bytes; NaN without a sample.
    pub(super) wal: Vec<f64>,
    /// Windows in which pages were moved from the log into the database.
    pub(super) checkpoints: Vec<usize>,
}

impl Course {
    /// Divides a trial into windows; `None` if it is too short or has no ticks.
    pub(super) fn new(round: u32, series: &Series) -> Option<Self> {
        let end = series.ticks.iter().map(|tick| tick.t_ms as f64 / 1000.0).fold(0.0, f64::max);
        let step = (end / MOST_WINDOWS).max(SHORTEST);
        let count = (end / step).round() as usize;
        if count < LEAST_WINDOWS {
            return None;
        }
        let mut course = Self {
            round,
            step,
            throughput: vec![0.0; count],
            busy: vec![0.0; count],
            other: vec![0.0; count],
            lag: vec![f64::NAN; count],
            wal: vec![f64::NAN; count],
            checkpoints: Vec::new(),
        };
        course.count(series);
        course.watch(series);
        Some(course)
    }

    /// Seconds from `go` to the middle of each window.
    pub(super) fn seconds(&self) -> impl Iterator<Item = f64> + '_ {
        (0..self.throughput.len()).map(|at| self.middle(at))
    }

    /// Seconds from `go` to the middle of a window.
    pub(super) fn middle(&self, window: usize) -> f64 {
        (window as f64 + 0.5) * self.step
    }

    fn count(&mut self, series: &Series) {
        let (step, count) = (self.step, self.throughput.len());
        spread(series, step, count, |window, share, tick| {
            for counts in &tick.counts {
                self.throughput[window] += counts.committed as f64 * share / step;
                self.busy[window] += counts.busy as f64 * share / step;
                self.other[window] += counts.errors.saturating_sub(counts.busy) as f64 * share / step;
            }
        });
        for tick in &series.ticks {
            // The lag belongs to the window in which the tick was emitted, at the end of its interval.
            if let Some(lag) = tick.lag_ns {
                let window = ((tick.t_ms as f64 / 1000.0 / step) as usize).min(count - 1);
                self.lag[window] = self.lag[window].max(lag as f64);
            }
        }
    }

    fn watch(&mut self, series: &Series) {
        let mut before = None;
        for sample in series.samples.iter().filter(|sample| sample.at_ns >= series.go_ns) {
            let at = (sample.at_ns - series.go_ns) as f64 / 1e9;
            let window = (at / self.step) as usize;
            if window >= self.wal.len() {
                break;
            }
            self.wal[window] = self.wal[window].max(sample.wal_bytes as f64);
            if before.is_some_and(|frames| sample.frames_backfilled > frames)
                && self.checkpoints.last() != Some(&window)
            {
                self.checkpoints.push(window);
            }
            before = Some(sample.frames_backfilled);
        }
    }
}

#[cfg(test)]
mod tests {
    use litelab_protocol::{Tick, TickCount};
    use litelab_record::Sample;

    use super::*;

    fn tick(t_ms: u64, committed: u64) -> Tick {
        Tick {
            t_ms,
            counts: vec![TickCount { committed, errors: committed / 10, busy: committed / 14, ..TickCount::default() }],
            lag_ns: Some(t_ms),
        }
    }

    #[test]
    fn no_transaction_is_lost_or_counted_twice() {
        // Two processes, whose ticks do not end with the windows.
        let ticks = [150, 250, 333, 501, 690, 870, 1000].map(|ms| tick(ms, 70));
        let series = Series { ticks: [ticks.clone(), ticks].concat(), ..Series::default() };
        let course = Course::new(3, &series).unwrap();
        let sum = |of: &[f64]| of.iter().map(|rate| rate * course.step).sum::<f64>();
        assert!((sum(&course.throughput) - 980.0).abs() < 1e-6, "{course:?}");
        assert!((sum(&course.busy) - 70.0).abs() < 1e-6);
        assert!((sum(&course.other) - 28.0).abs() < 1e-6);
        // The longest of the window's ticks; the first window has none.
        assert_eq!((course.lag[3], course.lag[9]), (333.0, 1000.0));
        assert!(course.lag[0].is_nan());
        assert_eq!((course.round, course.throughput.len()), (3, 10));
        // 70 in the first 150 ms, from each of two processes.
        assert!((course.throughput[0] - 2.0 * 70.0 / 0.15).abs() < 1e-6);
    }

    #[test]
    fn samples_give_the_largest_log_and_the_windows_with_checkpoints() {
        let sample = |ms: u64, wal_bytes, frames_backfilled| Sample {
            at_ns: 1_000_000_000 + ms * 1_000_000,
            wal_bytes,
            frames_backfilled,
            ..Sample::default()
        };
        let samples =
            vec![sample(0, 10, 5), sample(50, 40, 5), sample(110, 20, 9), sample(120, 0, 12), sample(480, 8, 12)];
        let series = Series { samples, go_ns: 1_000_000_000, ticks: vec![tick(500, 1)] };
        let course = Course::new(0, &series).unwrap();
        assert_eq!((course.wal[0], course.wal[1], course.wal[4]), (40.0, 20.0, 8.0));
        assert!(course.wal[2].is_nan());
        assert_eq!(course.checkpoints, [1]);
    }

    #[test]
    fn a_trial_too_short_has_no_course_and_a_long_one_few_points() {
        assert_eq!(Course::new(0, &Series { ticks: vec![tick(300, 1)], ..Series::default() }), None);
        assert_eq!(Course::new(0, &Series::default()), None);
        let long = Course::new(0, &Series { ticks: vec![tick(3_600_000, 1)], ..Series::default() }).unwrap();
        assert_eq!((long.throughput.len(), long.step), (120, 30.0));
    }
}
