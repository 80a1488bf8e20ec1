//! Progress reports at regular intervals.

use std::time::{Duration, Instant};

/// Phase of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Rows are being inserted.
    Insert,
    /// All rows are inserted; `data.then` is being executed.
    Then,
    /// All rows are inserted; the file is being rewritten.
    Vacuum,
    /// Rows are being verified.
    Verify,
}

/// One progress report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Current phase.
    pub phase: Phase,
    /// Number of rows done: committed, or verified.
    pub rows: u64,
    /// Total number of rows. In a verification an estimate from the range of IDs, which gaps make too large.
    pub total: u64,
    /// Time since the beginning.
    pub elapsed: Duration,
    /// Rows per second since the beginning.
    pub rows_per_second: f64,
    /// Remaining time at that rate; `None` until a row is done.
    pub remaining: Option<Duration>,
}

impl Progress {
    pub(crate) fn new(phase: Phase, rows: u64, total: u64, elapsed: Duration) -> Self {
        let rows_per_second = rate(rows, elapsed);
        let left = total.saturating_sub(rows) as f64 / rows_per_second;
        let remaining = Duration::try_from_secs_f64(left).ok();
        Self { phase, rows, total, elapsed, rows_per_second, remaining }
    }

    /// Share done in percent, 0 to 100.
    #[must_use]
    pub fn percent(&self) -> f64 {
        if self.total == 0 { 100.0 } else { (100.0 * self.rows as f64 / self.total as f64).min(100.0) }
    }
}

/// Rows per second; 0 if no time has passed.
pub(crate) fn rate(rows: u64, elapsed: Duration) -> f64 {
    let seconds = elapsed.as_secs_f64();
    if seconds > 0.0 { rows as f64 / seconds } else { 0.0 }
}

/// Schedule of the reports.
pub(crate) struct Pace {
    pub(crate) start: Instant,
    every: Duration,
    due: Duration,
}

impl Pace {
    pub(crate) fn new(every: Duration) -> Self {
        Self { start: Instant::now(), every, due: every }
    }

    /// Time since the beginning if a report is due; the next one is due one interval later.
    pub(crate) fn due(&mut self) -> Option<Duration> {
        let elapsed = self.start.elapsed();
        (elapsed >= self.due).then(|| {
            self.due = elapsed + self.every;
            elapsed
        })
    }

    /// Time until the next report.
    pub(crate) fn until_due(&self) -> Duration {
        self.due.saturating_sub(self.start.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_and_rest_follow_from_rows_and_time() {
        let half = Progress::new(Phase::Insert, 500, 2000, Duration::from_secs(2));
        assert_eq!((half.percent(), half.rows_per_second), (25.0, 250.0));
        assert_eq!(half.remaining, Some(Duration::from_secs(6)));
        let begun = Progress::new(Phase::Insert, 0, 2000, Duration::from_secs(2));
        assert_eq!((begun.percent(), begun.remaining), (0.0, None));
        assert_eq!(Progress::new(Phase::Verify, 7, 0, Duration::ZERO).percent(), 100.0);
    }

    #[test]
    fn a_report_is_due_once_per_interval() {
        // Far longer than a busy machine takes between two lines.
        let interval = Duration::from_secs(1);
        let mut pace = Pace::new(interval);
        assert_eq!(pace.due(), None);
        std::thread::sleep(pace.until_due());
        assert!(pace.due().is_some_and(|elapsed| elapsed >= interval));
        assert_eq!(pace.due(), None);
    }
}
