//! Abandoning and renewing turns, and dropping orphaned messages.

use std::time::Duration;

use duroxide::providers::ProviderError;

use crate::change::{Change, Row};
use crate::core::Core;
use crate::core::instance::Retry;
use crate::core::moment::Moment;
use crate::core::token::Claim;

impl Core {
    /// First phase of abandoning a turn.
    ///
    /// # Errors
    /// If the token no longer holds the instance. An expired lease is still valid until another dispatcher takes the
    /// instance.
    pub fn begin_abandon(
        &mut self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
        now: Moment,
    ) -> Result<(Claim, Change, Vec<Retry>), ProviderError> {
        let wrong = || ProviderError::permanent("abandon_orchestration_item", "Invalid lock token");
        let claim = self.tokens.read(token).ok_or_else(wrong)?;
        let instance = self.instances.get(&claim.id).ok_or_else(wrong)?;
        let lease = instance.lease(claim).filter(|lease| !lease.committing).ok_or_else(wrong)?;
        let mut change = Change::new(!self.alone);
        let mut retries = Vec::new();
        for id in &lease.messages {
            let Some(message) = instance.messages.get(id) else { continue };
            let visible = if delay.is_some() { now.visible(delay) } else { message.visible };
            let attempts = message.attempts.saturating_sub(u32::from(ignore_attempt));
            if visible != message.visible || attempts != message.recorded {
                change.row(|| Row::MessageRetry { id: *id, visible, attempts });
            }
            retries.push(Retry { id: *id, visible, attempts });
        }
        self.mark_turn(claim, true, now);
        Ok((claim, change, retries))
    }

    /// Second phase of abandoning a turn, after the commit.
    pub fn finish_abandon(&mut self, claim: Claim, retries: &[Retry], now: Moment) {
        if let Some(instance) = self.instances.get_mut(&claim.id) {
            for Retry { id, visible, attempts } in retries {
                if let Some(message) = instance.messages.get_mut(id) {
                    (message.visible, message.attempts, message.recorded) = (*visible, *attempts, *attempts);
                }
            }
        }
        self.change_lease(claim.id, now, |lease| *lease = None);
        self.settle();
    }

    /// Second phase of abandoning a turn, after a failed commit.
    pub fn refuse_abandon(&mut self, claim: Claim, now: Moment) {
        self.mark_turn(claim, false, now);
        self.settle();
    }

    /// Second phase of dropping messages that no orchestration will process.
    pub fn finish_orphans(&mut self, claim: Claim, messages: &[i64], now: Moment) {
        self.remove_messages(claim.id, messages);
        self.change_lease(claim.id, now, |lease| *lease = None);
        self.settle();
    }

    /// Renews a lease that has not expired.
    ///
    /// # Errors
    /// If there is no such lease.
    pub fn renew_turn(&mut self, token: &str, now: Moment, time: Duration) -> Result<(), ProviderError> {
        let wrong = || ProviderError::permanent("renew_orchestration_item_lock", "invalid or expired lock token");
        let claim = self.tokens.read(token).ok_or_else(wrong)?;
        let instance = self.instances.get(&claim.id).ok_or_else(wrong)?;
        instance.lease(claim).filter(|lease| !lease.committing && lease.until > now.mono).ok_or_else(wrong)?;
        self.change_lease(claim.id, now, |lease| {
            if let Some(lease) = lease {
                lease.until = now.lease(time);
            }
        });
        Ok(())
    }
}
