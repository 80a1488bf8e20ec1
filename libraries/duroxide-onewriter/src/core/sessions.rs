//! Which worker owns which session.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use duroxide::providers::SessionFetchConfig;

/// Sessions with an owner. They are leases: those of a process that ended are nobody's, so they are in no table.
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
    /// Whether `owner` may take work of this session: it is its own, or nobody's.
    pub fn may_take(&self, session: &str, owner: &str, now: Instant) -> bool {
        self.sessions.get(session).is_none_or(|s| s.until <= now || s.owner == owner)
    }

    /// It takes work of this session, and thereby the session.
    pub fn take(&mut self, session: &Arc<str>, by: &SessionFetchConfig, now: Instant, until: Instant) {
        let taken = Session { owner: by.owner_id.clone(), until, active: now };
        if let Some(before) = self.sessions.insert(Arc::clone(session), taken) {
            self.due.remove(&(before.until, Arc::clone(session)));
        }
        self.due.insert((until, Arc::clone(session)));
    }

    /// Its work goes on.
    pub fn touch(&mut self, session: &str, now: Instant) {
        if let Some(session) = self.sessions.get_mut(session).filter(|s| s.until > now) {
            session.active = now;
        }
    }

    /// Prolongs the sessions of these owners that are not idle. How many.
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

    /// Forgets those that ended and that no work refers to. How many.
    pub fn forget(&mut self, now: Instant, has_work: impl Fn(&str) -> bool) -> usize {
        let before = self.sessions.len();
        self.sessions.retain(|name, session| session.until >= now || has_work(name));
        before - self.sessions.len()
    }

    /// When the next one ends.
    pub fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(until, _)| *until)
    }

    /// Whether sessions have ended since this was last asked: their work may be taken by others.
    pub fn ended(&mut self, now: Instant) -> bool {
        let mut some = false;
        while self.due.first().is_some_and(|(until, _)| *until <= now) {
            self.due.pop_first();
            some = true;
        }
        some
    }
}
