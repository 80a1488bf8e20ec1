//! Wall clock and monotonic clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// One moment on both clocks. Externally visible times (timers, delayed retries) use the wall clock and survive a
/// restart; leases use the monotonic clock.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Wall clock time in milliseconds since 1970.
    pub wall: i64,
    /// Monotonic time, used for leases.
    pub mono: Instant,
}

impl Moment {
    pub fn now() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { wall: millis(wall), mono: Instant::now() }
    }

    /// Expiry of a lease of this length that starts now. Limited to a century, so that the time can be represented.
    pub fn lease(&self, time: Duration) -> Instant {
        const CENTURY: Duration = Duration::from_secs(100 * 365 * 86_400);
        self.mono + time.min(CENTURY)
    }

    /// Wall clock time at which a message with this delay becomes visible.
    pub fn visible(&self, delay: Option<Duration>) -> i64 {
        self.wall.saturating_add(millis(delay.unwrap_or_default()))
    }

    /// Monotonic time at which the wall clock shows `wall`, if it is not adjusted.
    pub fn of_wall(&self, wall: i64) -> Instant {
        let wait = u64::try_from(wall.saturating_sub(self.wall)).unwrap_or_default();
        self.lease(Duration::from_millis(wait))
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
