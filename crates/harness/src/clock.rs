//! Time since `go`, and pauses.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// No such time: the end of what has not ended.
pub const NEVER: u64 = u64::MAX;

/// How long a pause may outlast the event that should end it.
const SLICE: u64 = 10_000_000;

/// Nanoseconds since `go`.
///
/// A point read takes one or two microseconds, four readings of the system's monotonic clock a tenth of one. So where
/// the kernel itself keeps time by the processor's time stamp counter (it has checked that the counter is constant and
/// the same on all processors), that counter is read directly, at a rate measured against the system's clock.
#[derive(Clone, Copy)]
pub struct Clock {
    go: Instant,
    ticks: u64,
    rate: Option<Rate>,
}

/// Nanoseconds per tick of the counter, times 2^32.
#[derive(Clone, Copy)]
pub struct Rate(u64);

/// Both clocks at one moment: the beginning of measuring the rate.
pub struct Tuning(Instant, u64);

/// How long the rate is measured at least. The two moments are each known to some 50 ns, so it is right to 5 parts in
/// a million; no histogram shows more than 1 in 2000.
const TUNING: Duration = Duration::from_millis(20);

impl Tuning {
    /// Begins; what has to be done anyway can be done meanwhile.
    pub fn begin() -> Self {
        let (instant, ticks) = both();
        Self(instant, ticks)
    }

    /// None where the counter cannot be used.
    pub fn finish(self) -> Option<Rate> {
        let source = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
        if !source.is_ok_and(|name| cfg!(target_arch = "x86_64") && name.trim() == "tsc") {
            return None;
        }
        std::thread::sleep(TUNING.saturating_sub(self.0.elapsed()));
        let (instant, ticks) = both();
        let nanos = instant.duration_since(self.0).as_nanos();
        u64::try_from((nanos << 32) / u128::from(ticks.checked_sub(self.1)?.max(1))).ok().map(Rate)
    }
}

/// The counter between two close readings of the clock, the closest of some.
fn both() -> (Instant, u64) {
    let pair = || {
        let before = Instant::now();
        let ticks = counter();
        let apart = before.elapsed();
        (apart, before + apart / 2, ticks)
    };
    let (_, instant, ticks) = (0..16).map(|_| pair()).min_by_key(|(apart, ..)| *apart).unwrap_or_else(pair);
    (instant, ticks)
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn counter() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and the systems this runs on allow it to programs.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> u64 {
    0
}

impl Clock {
    /// It is `go` now.
    pub(crate) fn start(rate: Option<Rate>) -> Self {
        let (go, ticks) = both();
        Self { go, ticks, rate }
    }

    /// `go` was then, by the system's clock.
    #[must_use]
    pub fn at(go: Instant) -> Self {
        Self { go, ticks: 0, rate: None }
    }

    /// When `go` was.
    pub(crate) fn go(self) -> Instant {
        self.go
    }

    /// Nanoseconds since `go`. 64 bits last 584 years.
    #[inline]
    #[must_use]
    pub fn now(self) -> u64 {
        match self.rate {
            Some(Rate(rate)) => {
                let ticks = counter().saturating_sub(self.ticks);
                ((u128::from(ticks) * u128::from(rate)) >> 32) as u64
            }
            None => self.go.elapsed().as_nanos() as u64,
        }
    }
}

/// When a role's last transaction may start: a time known beforehand, or the end of another role.
#[derive(Clone, Copy)]
pub struct End<'a> {
    /// Nanoseconds since `go`, or [`NEVER`].
    pub time: u64,
    /// When the other role ended, [`NEVER`] until it does.
    pub role: Option<&'a AtomicU64>,
}

impl End<'_> {
    /// Whether it is too late to start at `now`.
    #[inline]
    pub fn is_past(self, now: u64) -> bool {
        now > self.time || self.role.is_some_and(|ended| ended.load(Ordering::Acquire) != NEVER)
    }

    /// The time itself, once it is known.
    pub fn known(self) -> u64 {
        self.role.map_or(self.time, |ended| ended.load(Ordering::Acquire))
    }

    /// Sleeps until `due`, or until it is too late anyway.
    pub fn sleep(self, clock: Clock, due: u64) {
        while let Some(nanos) = self.next_pause(clock, due) {
            pause(nanos);
        }
    }

    /// How many nanoseconds to sleep before asking again; none once it is `due`, or too late anyway.
    pub fn next_pause(self, clock: Clock, due: u64) -> Option<u64> {
        let now = clock.now();
        if now >= due || self.is_past(now) {
            return None;
        }
        let left = due.min(self.time.saturating_add(1)) - now;
        Some(if self.role.is_some() { left.min(SLICE) } else { left })
    }
}

/// Sleeps so many nanoseconds.
pub fn pause(nanos: u64) {
    if nanos > 0 {
        std::thread::sleep(Duration::from_nanos(nanos));
    }
}

/// Sleeps so many microseconds; most pauses are none, and cost nothing.
#[inline]
pub fn pause_us(micros: u64) {
    if micros > 0 {
        pause(micros.saturating_mul(1_000));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_keeps_the_systems_time() {
        let rate = Tuning::begin().finish();
        let before = Instant::now();
        let clock = Clock::start(rate);
        let after = Instant::now();
        pause(200_000_000);
        // It was started and is read between two readings of the system's clock: its time is between theirs, to a
        // thousandth, however long a busy machine takes from one reading to the next.
        let least = after.elapsed().as_nanos() as f64;
        let counted = clock.now() as f64;
        let most = before.elapsed().as_nanos() as f64;
        assert!((least * 0.999..most * 1.001).contains(&counted), "{least} {counted} {most}");
    }

    #[test]
    fn without_a_rate_it_is_the_systems_time() {
        let clock = Clock::start(None);
        pause(5_000_000);
        assert!(clock.now() >= 5_000_000);
    }
}
