//! The host probe: a thread with a timer, and how late it ran.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::park_timeout;
use std::time::Duration;

use litelab_protocol::histogram::Histogram;

use crate::clock::Clock;

/// Runs until `stop` is set and the thread unparked. A timer that is due while the last one is still late counts too, so a stall of ten periods
/// weighs as ten. Dues before `from` (the end of the warm-up) are not recorded.
pub fn run(clock: Clock, period_ms: u64, from: u64, stop: &AtomicBool) -> Histogram {
    let mut lateness = Histogram::new();
    let period = period_ms.saturating_mul(1_000_000);
    let mut due = period;
    loop {
        let now = clock.now();
        if stop.load(Ordering::Acquire) {
            return lateness;
        }
        if now < due {
            park_timeout(Duration::from_nanos(due - now));
            continue;
        }
        if due >= from {
            lateness.record(now - due);
        }
        due += period;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn a_timer_runs_about_as_often_as_it_should() {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let clock = Clock::start(None);
        let probe = std::thread::spawn(move || run(clock, 5, 50_000_000, &flag));
        std::thread::sleep(Duration::from_millis(150));
        stop.store(true, Ordering::Release);
        probe.thread().unpark();
        let lateness = probe.join().expect("probe");
        // Due at 50, 55, … 145 ms; the machine may have been busy at the end.
        assert!((10..=21).contains(&lateness.count()), "{}", lateness.count());
        assert!(lateness.quantile(0.5).is_some_and(|l| l < 20_000_000));
    }

    #[test]
    fn a_stall_is_seen_at_its_length() {
        // A clock that started 100 ms ago: ten timers of 10 ms are overdue at once.
        let clock = Clock::start(None);
        std::thread::sleep(Duration::from_millis(100));
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let probe = std::thread::spawn(move || run(clock, 10, 0, &flag));
        std::thread::sleep(Duration::from_millis(30));
        stop.store(true, Ordering::Release);
        probe.thread().unpark();
        let lateness = probe.join().expect("probe");
        assert!(lateness.max().is_some_and(|l| l >= 89_000_000), "{:?}", lateness.max());
    }
}
