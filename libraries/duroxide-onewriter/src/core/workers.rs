//! Assignment of activities to workers.

use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::{ProviderError, SessionFetchConfig, TagFilter, WorkItem};

use crate::change::{Change, Row};
use crate::core::Core;
use crate::core::early::Note;
use crate::core::moment::Moment;
use crate::core::token::Claim;
use crate::core::work::{Lane, Work, WorkLease};

/// Filter of the activities that a worker takes.
#[derive(Debug, Clone)]
pub struct Takes {
    /// Accepted tags.
    pub tags: TagFilter,
    /// Session owner; `None` for a worker that takes no activities of sessions.
    pub session: Option<SessionFetchConfig>,
}

/// An activity given to a worker.
#[derive(Debug)]
pub struct Taken {
    pub claim: Claim,
    pub item: Arc<WorkItem>,
    /// Number of fetches.
    pub attempts: u32,
    /// Whether the number of fetches must be durable before the worker receives the activity.
    pub record: bool,
    /// Time from which the activity is visible, in milliseconds since 1970.
    pub visible: i64,
}

/// Effect of an acknowledgement or abandonment on an activity after the commit.
#[derive(Debug)]
pub enum Fate {
    /// The activity has been executed. The message is its completion.
    Done(Option<Note>),
    /// The activity will be fetched again.
    Retry {
        /// Time from which the activity is visible, in milliseconds since 1970.
        visible: i64,
        /// New number of fetches.
        attempts: u32,
    },
}

impl Fate {
    /// Returns the completion message.
    pub fn note(&self) -> Option<Note> {
        if let Self::Done(note) = self { note.clone() } else { None }
    }
}

impl Core {
    /// Assigns an activity number.
    pub fn next_work(&mut self) -> i64 {
        self.last_work += 1;
        self.last_work
    }

    /// Inserts an activity and wakes a worker that can take it.
    pub fn insert_work(&mut self, id: i64, work: Work, now: Moment) {
        let lane = work.lane.clone();
        if self.work.insert(id, work, now) {
            self.wake_worker(&lane, now);
        }
    }

    fn wake_worker(&mut self, lane: &Lane, now: Moment) {
        let sessions = &self.sessions;
        let woken = self.work_waiters.wake(|takes| {
            takes.tags.matches(lane.tag.as_deref())
                && match (&lane.session, &takes.session) {
                    (None, _) => true,
                    (Some(_), None) => false,
                    (Some(session), Some(by)) => sessions.may_take(session, &by.owner_id, now.mono),
                }
        });
        self.woken.extend(woken);
    }

    /// Wakes another worker after a woken one has stopped waiting.
    pub fn wake_another_for_work(&mut self, now: Moment) {
        let lanes: Vec<Lane> = self.work.lanes().cloned().collect();
        for lane in lanes {
            self.wake_worker(&lane, now);
        }
    }

    /// Makes the activities available that are due on either clock.
    pub fn work_due(&mut self, now: Moment) {
        for id in self.work.due(now) {
            self.change_work(id, now, |_| {});
        }
        if self.sessions.ended(now.mono) {
            self.wake_another_for_work(now);
        }
    }

    /// Changes an activity, and wakes a worker if it is available afterwards.
    pub fn change_work(&mut self, id: i64, now: Moment, change: impl FnOnce(&mut Work)) {
        let Some(lane) = self.work.get(id).map(|work| work.lane.clone()) else { return };
        if self.work.change(id, now, change) {
            self.wake_worker(&lane, now);
        }
    }

    /// Leases the first available activity that matches the filter.
    pub fn take_work(&mut self, takes: &Takes, now: Moment, time: Duration) -> Option<Taken> {
        self.work_due(now);
        let sessions = &self.sessions;
        let id = self.work.first(&takes.tags, |session| {
            takes.session.as_ref().is_some_and(|by| sessions.may_take(session, &by.owner_id, now.mono))
        })?;
        let claim = self.tokens.claim(id);
        let alone = self.alone;
        let mut record = false;
        self.work.change(id, now, |work| {
            work.attempts += 1;
            record = !alone && (work.attempts > 1 || work.recovered) && work.attempts != work.recorded;
            work.lease = Some(WorkLease { committing: record, ..WorkLease::new(claim.lease, now.lease(time)) });
        });
        let work = self.work.get(id)?;
        if let (Some(session), Some(by)) = (&work.lane.session, &takes.session) {
            self.sessions.take(session, by, now.mono, now.lease(by.lock_timeout));
        }
        let item = Arc::clone(&work.item);
        Some(Taken { claim, item, attempts: work.attempts, record, visible: work.visible })
    }

    /// Records that the number of fetches is stored. The time of the lease, and of a session, starts again, because the
    /// worker receives the activity now: what the disk took is not part of it.
    pub fn begin_work(&mut self, claim: Claim, takes: &Takes, now: Moment, time: Duration) {
        self.work.change(claim.id, now, |work| {
            work.recorded = work.attempts;
            if let Some(lease) = work.lease.as_mut().filter(|lease| lease.lease == claim.lease) {
                (lease.committing, lease.until) = (false, now.lease(time));
            }
        });
        let session = self.work.get(claim.id).and_then(|work| work.lane.session.clone());
        if let (Some(session), Some(by)) = (session, &takes.session)
            && self.sessions.may_take(&session, &by.owner_id, now.mono)
        {
            self.sessions.take(&session, by, now.mono, now.lease(by.lock_timeout));
        }
    }

    /// Ends a lease and makes the activity available again.
    pub fn release_work(&mut self, claim: Claim, now: Moment) {
        if self.work.claimed(claim).is_some() {
            self.change_work(claim.id, now, |work| work.lease = None);
        }
    }

    /// Ends the lease of a fetch that its caller has not received: it was no attempt.
    pub fn give_back_work(&mut self, claim: Claim, now: Moment) {
        if self.work.claimed(claim).is_some() {
            self.change_work(claim.id, now, |work| {
                (work.lease, work.attempts) = (None, work.attempts.saturating_sub(1));
            });
        }
    }

    /// Returns the activity held by this token, unless an acknowledgement of it is being committed. With `now`, the
    /// lease must also not have expired.
    fn held(&self, token: &str, now: Option<Moment>) -> Option<(Claim, &Work)> {
        let claim = self.tokens.read(token)?;
        let work = self.work.claimed(claim)?;
        let lease = work.lease.as_ref()?;
        let is_over = now.is_some_and(|now| lease.until <= now.mono);
        (!lease.committing && !is_over).then_some((claim, work))
    }

    /// Renews a lease that has not expired.
    ///
    /// # Errors
    /// If the activity was cancelled or acknowledged, or its lease has expired.
    pub fn renew_work(&mut self, token: &str, now: Moment, time: Duration) -> Result<(), ProviderError> {
        let gone = "the activity was cancelled or acknowledged, or its lock has expired";
        let (claim, work) =
            self.held(token, Some(now)).ok_or_else(|| ProviderError::permanent("renew_work_item_lock", gone))?;
        if let Some(session) = work.lane.session.clone() {
            self.sessions.touch(&session, now.mono);
        }
        self.change_work(claim.id, now, |work| {
            if let Some(lease) = &mut work.lease {
                lease.until = now.lease(time);
            }
        });
        Ok(())
    }

    /// First phase of acknowledging an activity.
    ///
    /// # Errors
    /// If the activity was cancelled, or its lease has expired.
    pub fn begin_ack_work(
        &mut self,
        token: &str,
        completion: Option<(WorkItem, String)>,
        now: Moment,
    ) -> Result<(Claim, Change, Fate), ProviderError> {
        let gone = "the activity was cancelled, or its lock has expired";
        let (claim, work) =
            self.held(token, Some(now)).ok_or_else(|| ProviderError::permanent("ack_work_item", gone))?;
        if let Some(session) = work.lane.session.clone() {
            self.sessions.touch(&session, now.mono);
        }
        let mut change = Change::new(!self.alone);
        change.row(|| Row::WorkDone { id: claim.id });
        let note = completion.map(|(item, json)| {
            let id = self.next_message();
            change.row(|| Row::Message { id, visible: now.wall, item: json });
            Note { id, item: Arc::new(item), visible: now.wall }
        });
        self.mark_work(claim, true, now);
        Ok((claim, change, Fate::Done(note)))
    }

    /// First phase of abandoning an activity. The change is empty if the stored row already has these values.
    ///
    /// # Errors
    /// If the token no longer holds the activity. An expired lease is still valid until another worker takes the
    /// activity.
    pub fn begin_abandon_work(
        &mut self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
        now: Moment,
    ) -> Result<(Claim, Change, Fate), ProviderError> {
        let (claim, work) = self
            .held(token, None)
            .ok_or_else(|| ProviderError::permanent("abandon_work_item", "Invalid lock token"))?;
        let visible = if delay.is_some() { now.visible(delay) } else { work.visible };
        let attempts = work.attempts.saturating_sub(u32::from(ignore_attempt));
        let mut change = Change::new(!self.alone);
        if visible != work.visible || attempts != work.recorded {
            change.row(|| Row::WorkRetry { id: claim.id, visible, attempts });
        }
        self.mark_work(claim, true, now);
        Ok((claim, change, Fate::Retry { visible, attempts }))
    }

    fn mark_work(&mut self, claim: Claim, committing: bool, now: Moment) {
        self.change_work(claim.id, now, |work| {
            if let Some(lease) = &mut work.lease {
                lease.committing = committing;
            }
        });
    }

    /// Second phase of acknowledging or abandoning an activity, after the commit.
    pub fn finish_work(&mut self, claim: Claim, fate: Fate, now: Moment) {
        match fate {
            Fate::Done(note) => {
                self.work.remove(claim.id);
                if let Some(note) = note {
                    self.settle_note(note, true, now);
                }
            }
            Fate::Retry { visible, attempts } => self.change_work(claim.id, now, |work| {
                (work.visible, work.attempts, work.recorded, work.lease) = (visible, attempts, attempts, None);
            }),
        }
        self.settle();
    }

    /// Second phase of acknowledging or abandoning an activity, after a failed commit.
    pub fn refuse_work(&mut self, claim: Claim, now: Moment) {
        self.mark_work(claim, false, now);
        self.settle();
    }

    /// Like [`Core::refuse_work`], for a worker that has already received success: releases the activity for another
    /// execution.
    pub fn undo_work(&mut self, claim: Claim, fate: Fate, now: Moment) {
        if let Fate::Done(Some(note)) = fate {
            self.settle_note(note, false, now);
        }
        self.release_work(claim, now);
        self.settle();
    }

    /// Renews the sessions of these owners that are not idle. Returns their number.
    pub fn renew_sessions(&mut self, owners: &[&str], now: Moment, time: Duration, idle: Duration) -> usize {
        self.sessions.renew(owners, now.mono, now.lease(time), idle)
    }

    /// Removes expired sessions without work. Returns their number.
    pub fn forget_sessions(&mut self, now: Moment) -> usize {
        let work = &self.work;
        self.sessions.forget(now.mono, |session| work.has_session(session))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use duroxide::providers::{SessionFetchConfig, TagFilter, WorkItem};

    use super::{Taken, Takes};
    use crate::core::Core;
    use crate::core::moment::Moment;
    use crate::core::recovered::Recovered;
    use crate::core::work::Work;

    const LEASE: Duration = Duration::from_secs(5);

    fn takes(owner: &str) -> Takes {
        let session = SessionFetchConfig { owner_id: owner.into(), lock_timeout: LEASE };
        Takes { tags: TagFilter::Any, session: Some(session) }
    }

    #[test]
    fn a_lease_and_a_session_begin_when_the_disk_is_done() {
        let now = Moment::now();
        let at = |leases: u32, early: Duration| Moment { wall: now.wall, mono: now.mono + leases * LEASE - early };
        let mut core = Core::new(Recovered::default(), Some(0), 0, now);
        let insert = |core: &mut Core, id| {
            let item = WorkItem::ActivityExecute {
                instance: "one".into(),
                execution_id: 1,
                id,
                name: "Activity".into(),
                input: String::new(),
                session_id: Some("session".into()),
                tag: None,
            };
            let number = core.next_work();
            core.insert_work(number, Work::new(Arc::new(item), now.wall).unwrap(), now);
        };
        let take =
            |core: &mut Core, owner: &str, now: Moment| -> Option<Taken> { core.take_work(&takes(owner), now, LEASE) };
        insert(&mut core, 1);
        let first = take(&mut core, "me", now).unwrap();
        assert!(!first.record, "a crash ends the attempt without a trace");
        core.release_work(first.claim, now);
        let second = take(&mut core, "me", now).unwrap();
        assert_eq!((second.attempts, second.record), (2, true));
        let slow = at(3, Duration::ZERO);
        assert!(take(&mut core, "me", slow).is_none(), "nobody else may have it");
        core.begin_work(second.claim, &takes("me"), slow, LEASE);
        insert(&mut core, 2);
        let early = at(4, Duration::from_nanos(1));
        assert!(take(&mut core, "you", early).is_none(), "the session is mine");
        assert_eq!(take(&mut core, "me", early).unwrap().attempts, 1, "the other activity");
        assert_eq!(take(&mut core, "me", at(4, Duration::ZERO)).unwrap().attempts, 3);
    }
}
