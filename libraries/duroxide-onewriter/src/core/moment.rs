//! The two clocks.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// One moment on both clocks. Promises to the outside (a timer's time, a delayed retry) are kept by the wall clock and
/// survive a restart; leases end by the clock that nobody sets.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Milliseconds since 1970.
    pub wall: i64,
    /// For leases.
    pub mono: Instant,
}

impl Moment {
    /// Now.
    pub fn now() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { wall: millis(wall), mono: Instant::now() }
    }

    /// The end of a lease taken now. One that no clock can show ends in a century.
    pub fn lease(&self, time: Duration) -> Instant {
        const CENTURY: Duration = Duration::from_secs(100 * 365 * 86_400);
        self.mono + time.min(CENTURY)
    }

    /// When a message that is delayed by this can be seen.
    pub fn visible(&self, delay: Option<Duration>) -> i64 {
        self.wall.saturating_add(millis(delay.unwrap_or_default()))
    }

    /// When the wall clock will show `wall`, if nobody sets it.
    pub fn of_wall(&self, wall: i64) -> Instant {
        let wait = u64::try_from(wall.saturating_sub(self.wall)).unwrap_or_default();
        self.lease(Duration::from_millis(wait))
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
