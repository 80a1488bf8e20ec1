//! A lease on its way to a caller, while the disk is asked.

use crate::core::Core;
use crate::core::moment::Moment;
use crate::core::token::Claim;
use crate::provider::shared::Shared;

/// A lease that ends with its caller, should that go away before it has it in hand.
pub struct Held<'a> {
    shared: &'a Shared,
    claim: Claim,
    release: fn(&mut Core, Claim, Moment),
    is_handed_over: bool,
}

impl<'a> Held<'a> {
    /// One for which [`Core::begin_fetching`] has been called, and that ends by `release`.
    pub fn new(shared: &'a Shared, claim: Claim, release: fn(&mut Core, Claim, Moment)) -> Self {
        Self { shared, claim, release, is_handed_over: false }
    }

    /// The caller has it in hand.
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
