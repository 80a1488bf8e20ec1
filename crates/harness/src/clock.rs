//! Time since `go`, ends of roles, and pauses.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A time that is never reached, such as the end of a role that has not ended.
pub const NEVER: u64 = u64::MAX;

/// Longest delay in nanoseconds between the end of another role and the end of a pause.
const SLICE: u64 = 10_000_000;

/// Nanoseconds since `go`, by the system's monotonic clock.
#[derive(Clone, Copy)]
pub struct Clock(Instant);

impl Clock {
    /// Starts the clock at `go`, which is now.
    #[must_use]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Instant of `go`.
    pub(crate) fn go(self) -> Instant {
        self.0
    }

    /// Nanoseconds since `go`; 64 bits last 584 years.
    #[inline]
    #[must_use]
    pub fn now(self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
}

/// Latest start of a role's transactions: a time known beforehand, or the end of another role.
#[derive(Clone, Copy)]
pub struct End {
    /// Nanoseconds since `go`, or [`NEVER`].
    pub time: u64,
    /// Time at which the other role ended, [`NEVER`] until it has ended.
    pub role: Option<&'static AtomicU64>,
}

impl End {
    /// Whether it is too late to start at `now`.
    #[inline]
    pub fn is_past(self, now: u64) -> bool {
        now > self.time || self.role.is_some_and(|ended| ended.load(Ordering::Acquire) != NEVER)
    }

    /// The end, or [`NEVER`] if another role decides it and has not ended.
    pub fn known(self) -> u64 {
        self.role.map_or(self.time, |ended| ended.load(Ordering::Acquire))
    }

    /// Sleeps until `due`, or until it is too late to start.
    pub fn sleep(self, clock: Clock, due: u64) {
        while let Some(nanos) = self.next_pause(clock, due) {
            pause(nanos);
        }
    }

    /// Nanoseconds to sleep before the next call; `None` if `due` has come or it is too late to start.
    pub fn next_pause(self, clock: Clock, due: u64) -> Option<u64> {
        let now = clock.now();
        if now >= due || self.is_past(now) {
            return None;
        }
        let left = due.min(self.time.saturating_add(1)) - now;
        Some(if self.role.is_some() { left.min(SLICE) } else { left })
    }
}

/// Sleeps for this number of nanoseconds.
pub fn pause(nanos: u64) {
    if nanos > 0 {
        std::thread::sleep(Duration::from_nanos(nanos));
    }
}

/// Sleeps for this number of microseconds; 0, the most common argument, makes no system call.
#[inline]
pub fn pause_us(micros: u64) {
    if micros > 0 {
        pause(micros.saturating_mul(1_000));
    }
}
