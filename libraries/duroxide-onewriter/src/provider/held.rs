//! Leases that a fetch holds while it accesses the disk.

use crate::core::Core;
use crate::core::moment::Moment;
use crate::core::token::Claim;
use crate::provider::shared::Shared;

/// A lease that is released on drop, unless it has been handed over to the caller of the fetch.
pub struct Held<'a> {
    shared: &'a Shared,
    claim: Claim,
    release: fn(&mut Core, Claim, Moment),
    is_handed_over: bool,
}

impl<'a> Held<'a> {
    /// Guards a lease after [`Core::begin_fetching`]. `release` ends the lease.
    pub fn new(shared: &'a Shared, claim: Claim, release: fn(&mut Core, Claim, Moment)) -> Self {
        Self { shared, claim, release, is_handed_over: false }
    }

    /// Marks the lease as received by the caller.
    pub fn hand_over(mut self) {
        self.is_handed_over = true;
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.shared.with(|core, now| {
            if !self.is_handed_over {
                (self.release)(core, self.claim, now);
            }
            core.end_fetching();
        });
    }
}
