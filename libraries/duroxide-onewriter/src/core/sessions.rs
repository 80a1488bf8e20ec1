//! Ownership of sessions by workers.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use duroxide::providers::SessionFetchConfig;

/// Owned sessions. Ownership is a lease, which ends with the process, so it is in no table.
#[derive(Debug, Default)]
pub struct Sessions {
    sessions: HashMap<Arc<str>, Session>,
    due: BTreeSet<(Instant, Arc<str>)>,
}

#[derive(Debug)]
struct Session {
    owner: String,
    until: Instant,
    active: Instant,
}

impl Sessions {
    /// Whether `owner` may take work of this session: it owns the session, or no worker does.
    pub fn may_take(&self, session: &str, owner: &str, now: Instant) -> bool {
        self.sessions.get(session).is_none_or(|s| s.until <= now || s.owner == owner)
    }

    /// Makes the worker the owner of the session.
    pub fn take(&mut self, session: &Arc<str>, by: &SessionFetchConfig, now: Instant, until: Instant) {
        let taken = Session { owner: by.owner_id.clone(), until, active: now };
        if let Some(before) = self.sessions.insert(Arc::clone(session), taken) {
            self.due.remove(&(before.until, Arc::clone(session)));
        }
        self.due.insert((until, Arc::clone(session)));
    }

    /// Records activity in the session.
    pub fn touch(&mut self, session: &str, now: Instant) {
        if let Some(session) = self.sessions.get_mut(session).filter(|s| s.until > now) {
            session.active = now;
        }
    }

    /// Renews the sessions of these owners that are not idle. Returns their number.
    pub fn renew(&mut self, owners: &[&str], now: Instant, until: Instant, idle: Duration) -> usize {
        let mut renewed = 0;
        for (name, session) in &mut self.sessions {
            let is_idle = now.saturating_duration_since(session.active) >= idle;
            if session.until > now && !is_idle && owners.contains(&session.owner.as_str()) {
                self.due.remove(&(session.until, Arc::clone(name)));
                session.until = until;
                self.due.insert((until, Arc::clone(name)));
                renewed += 1;
            }
        }
        renewed
    }

    /// Removes expired sessions that no work refers to. Returns their number.
    pub fn forget(&mut self, now: Instant, has_work: impl Fn(&str) -> bool) -> usize {
        let before = self.sessions.len();
        self.sessions.retain(|name, session| session.until >= now || has_work(name));
        before - self.sessions.len()
    }

    /// Expiry of the next session.
    pub fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(until, _)| *until)
    }

    /// Whether sessions have expired since the last call, so that other workers may take their work.
    pub fn ended(&mut self, now: Instant) -> bool {
        let mut some = false;
        while self.due.first().is_some_and(|(until, _)| *until <= now) {
            self.due.pop_first();
            some = true;
        }
        some
    }
}
