//! The host probe: a periodic timer and its delays.

use std::collections::BTreeMap;

use litelab_protocol::histogram::Histogram;

/// Measurements of the probe, by the names of [`litelab_protocol::TrialResult`]; empty without a probe.
#[derive(Default)]
pub struct Probed {
    pub timers: BTreeMap<String, Histogram>,
    pub gauges: BTreeMap<String, f64>,
}

/// A timer that is due every period from `go`. Each due time counts, even if the previous one is still late, so that a
/// stall of ten periods counts as ten.
pub struct Prober {
    lateness: Histogram,
    period: u64,
    due: u64,
    from: u64,
    longest: u64,
}

impl Prober {
    /// Due times before `from`, the end of the warm-up in nanoseconds from `go`, are not recorded.
    pub fn new(period_ms: u64, from: u64) -> Self {
        let period = period_ms.max(1).saturating_mul(1_000_000);
        Self { lateness: Histogram::new(), period, due: period, from, longest: 0 }
    }

    /// Next due time of the timer, in nanoseconds from `go`.
    pub fn due(&self) -> u64 {
        self.due
    }

    /// Counts all due times until `now`.
    pub fn note(&mut self, now: u64) {
        self.longest = self.longest.max(now.saturating_sub(self.due));
        while self.due <= now {
            if self.due >= self.from {
                self.lateness.record(now - self.due);
            }
            self.due += self.period;
        }
    }

    /// Longest delay of the timer since the last call, including the warm-up.
    pub fn take_longest(&mut self) -> u64 {
        std::mem::take(&mut self.longest)
    }

    /// Delays until `now`, including that of a timer that has not run.
    pub fn into_lateness(mut self, now: u64) -> Histogram {
        self.note(now);
        self.lateness
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn every_due_after_the_warm_up_counts_once() {
        let mut prober = Prober::new(5, 50 * MS);
        while prober.due() < 150 * MS {
            prober.note(prober.due() + MS);
        }
        let lateness = prober.into_lateness(149 * MS);
        // Due at 50, 55, … 145 ms, each a millisecond late.
        assert_eq!(lateness.count(), 20);
        assert!(lateness.quantile(0.5).is_some_and(|l| l.abs_diff(MS) < MS / 500));
    }

    #[test]
    fn a_stall_is_seen_at_its_length() {
        let mut prober = Prober::new(10, 0);
        prober.note(109 * MS);
        let lateness = prober.into_lateness(109 * MS);
        // Ten timers were overdue at once, the first by 99 ms and the last by 9.
        assert_eq!(lateness.count(), 10);
        assert!(lateness.max().is_some_and(|l| l.abs_diff(99 * MS) < MS));
        assert!(lateness.quantile(0.05).is_some_and(|l| l.abs_diff(9 * MS) < MS));
    }

    #[test]
    fn the_longest_is_told_once_and_in_the_warm_up_too() {
        let mut prober = Prober::new(10, 1_000 * MS);
        prober.note(13 * MS);
        prober.note(20 * MS);
        assert_eq!([prober.take_longest(), prober.take_longest()], [3 * MS, 0]);
        prober.note(35 * MS);
        assert_eq!(prober.take_longest(), 5 * MS);
    }

    #[test]
    fn a_trial_that_ends_in_a_stall_shows_it() {
        assert_eq!(Prober::new(10, 0).into_lateness(35 * MS).count(), 3);
    }
}
