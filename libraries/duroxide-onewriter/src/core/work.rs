//! The queue of activities.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use duroxide::providers::{ScheduledActivityIdentifier, TagFilter, WorkItem};

use crate::core::early::Note;
use crate::core::moment::Moment;
use crate::core::token::Claim;

#[derive(Debug)]
pub struct Work {
    /// Content of the activity.
    pub item: Arc<WorkItem>,
    identity: Identity,
    pub lane: Lane,
    /// Time from which the activity is visible, in milliseconds since 1970.
    pub visible: i64,
    /// Number of fetches.
    pub attempts: u32,
    /// Number of fetches in the stored row.
    pub recorded: u32,
    /// Whether an earlier process may have fetched it too.
    pub recovered: bool,
    pub lease: Option<WorkLease>,
}

/// Holder and end of the lease of an activity.
#[derive(Debug)]
pub struct WorkLease {
    /// Number of the lease.
    pub lease: u64,
    /// Expiry of the lease.
    pub until: Instant,
    /// Whether the holder's acknowledgement is being committed, or the holder has not received the activity because the
    /// fetch still accesses the disk. Until that is decided, the activity cannot be leased again.
    pub committing: bool,
    /// Whether the acknowledgement is already queued for the commit.
    pub in_line: bool,
    /// Completion that is queued for the commit and not yet available to turns.
    pub note: Option<Note>,
}

impl WorkLease {
    /// Creates a lease without an acknowledgement.
    pub fn new(lease: u64, until: Instant) -> Self {
        Self { lease, until, committing: false, in_line: false, note: None }
    }
}

/// Instance, execution and activity.
type Identity = (Arc<str>, u64, u64);

/// Activities with the same session and tag wait in the same lane.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lane {
    /// Session whose owner alone may take the activity.
    pub session: Option<Arc<str>>,
    /// Tag that a worker must accept.
    pub tag: Option<Arc<str>>,
}

/// All activities by number. Numbers ascend in the order of enqueueing.
#[derive(Debug, Default)]
pub struct WorkQueue {
    items: HashMap<i64, Work>,
    /// Activities available now.
    lanes: BTreeMap<Lane, BTreeSet<i64>>,
    identities: BTreeSet<(Identity, i64)>,
    visible_due: BTreeSet<(i64, i64)>,
    lease_due: BTreeSet<(Instant, i64)>,
    of_session: HashMap<Arc<str>, usize>,
    leased: usize,
}

impl Work {
    /// Creates an activity, or returns `None` if the item is not an activity.
    pub fn new(item: Arc<WorkItem>, visible: i64) -> Option<Self> {
        let WorkItem::ActivityExecute { instance, execution_id, id, session_id, tag, .. } = &*item else { return None };
        let identity = (Arc::from(instance.as_str()), *execution_id, *id);
        let lane = Lane { session: session_id.as_deref().map(Arc::from), tag: tag.as_deref().map(Arc::from) };
        Some(Self { item, identity, lane, visible, attempts: 0, recorded: 0, recovered: false, lease: None })
    }

    /// Whether this is the identified activity.
    pub fn is(&self, activity: &ScheduledActivityIdentifier) -> bool {
        let (instance, execution, id) = &self.identity;
        (&**instance, *execution, *id) == (&*activity.instance, activity.execution_id, activity.activity_id)
    }
}

impl WorkQueue {
    pub fn get(&self, id: i64) -> Option<&Work> {
        self.items.get(&id)
    }

    /// Returns the activity if its lease is the one of this claim. An expired lease still counts.
    pub fn claimed(&self, claim: Claim) -> Option<&Work> {
        self.items.get(&claim.id).filter(|work| work.lease.as_ref().is_some_and(|lease| lease.lease == claim.lease))
    }

    /// Inserts an activity. Returns whether it is available now.
    pub fn insert(&mut self, id: i64, work: Work, now: Moment) -> bool {
        self.identities.insert((work.identity.clone(), id));
        if let Some(session) = &work.lane.session {
            *self.of_session.entry(Arc::clone(session)).or_default() += 1;
        }
        self.leased += usize::from(work.lease.is_some());
        self.items.insert(id, work);
        self.schedule(id, now)
    }

    /// Removes an activity, leased or not.
    pub fn remove(&mut self, id: i64) -> Option<Work> {
        self.unschedule(id);
        let work = self.items.remove(&id)?;
        self.identities.remove(&(work.identity.clone(), id));
        self.leased -= usize::from(work.lease.is_some());
        if let Some(session) = &work.lane.session
            && let Some(count) = self.of_session.get_mut(session)
        {
            *count -= 1;
            if *count == 0 {
                self.of_session.remove(session);
            }
        }
        Some(work)
    }

    /// Returns the first available activity that matches the tags, and whose session passes `may_take`.
    pub fn first(&self, tags: &TagFilter, may_take: impl Fn(&str) -> bool) -> Option<i64> {
        let lanes = self.lanes.iter().filter(|(lane, _)| tags.matches(lane.tag.as_deref()));
        let lanes = lanes.filter(|(lane, _)| lane.session.as_deref().is_none_or(&may_take));
        lanes.filter_map(|(_, ids)| ids.first().copied()).min()
    }

    /// Returns the lanes with available activities.
    pub fn lanes(&self) -> impl Iterator<Item = &Lane> {
        self.lanes.keys()
    }

    /// Changes an activity and reschedules it. Returns whether it is available now.
    pub fn change(&mut self, id: i64, now: Moment, change: impl FnOnce(&mut Work)) -> bool {
        self.unschedule(id);
        let Some(work) = self.items.get_mut(&id) else { return false };
        self.leased -= usize::from(work.lease.is_some());
        change(work);
        self.leased += usize::from(work.lease.is_some());
        self.schedule(id, now)
    }

    fn unschedule(&mut self, id: i64) {
        let Some(work) = self.items.get(&id) else { return };
        if let Some(lease) = &work.lease {
            self.lease_due.remove(&(lease.until, id));
        }
        self.visible_due.remove(&(work.visible, id));
        if let Some(lane) = self.lanes.get_mut(&work.lane) {
            lane.remove(&id);
            if lane.is_empty() {
                self.lanes.remove(&work.lane);
            }
        }
    }

    fn schedule(&mut self, id: i64, now: Moment) -> bool {
        let Some(work) = self.items.get(&id) else { return false };
        match &work.lease {
            Some(lease) if lease.committing => false,
            Some(lease) if lease.until > now.mono => {
                self.lease_due.insert((lease.until, id));
                false
            }
            _ if work.visible > now.wall => {
                self.visible_due.insert((work.visible, id));
                false
            }
            _ => self.lanes.entry(work.lane.clone()).or_default().insert(id),
        }
    }

    /// Removes and returns the activities that are due on either clock.
    pub fn due(&mut self, now: Moment) -> Vec<i64> {
        let mut due = Vec::new();
        while let Some((_, id)) = self.visible_due.pop_first_if(|(visible, _)| *visible <= now.wall) {
            due.push(id);
        }
        while let Some((_, id)) = self.lease_due.pop_first_if(|(until, _)| *until <= now.mono) {
            due.push(id);
        }
        due
    }

    /// Time at which the next activity is due.
    pub fn next_due(&self, now: Moment) -> Option<Instant> {
        let visible = self.visible_due.first().map(|(visible, _)| now.of_wall(*visible));
        let lease = self.lease_due.first().map(|(until, _)| *until);
        visible.into_iter().chain(lease).min()
    }

    /// Returns the rows of one activity.
    pub fn of_activity(&self, activity: &ScheduledActivityIdentifier) -> Vec<i64> {
        let identity: Identity = (Arc::from(&*activity.instance), activity.execution_id, activity.activity_id);
        let range = (identity.clone(), i64::MIN)..=(identity, i64::MAX);
        self.identities.range(range).map(|(_, id)| *id).collect()
    }

    /// Returns all activities of one instance.
    pub fn of_instance(&self, instance: &Arc<str>) -> Vec<i64> {
        self.ids_of(instance).collect()
    }

    fn ids_of(&self, instance: &Arc<str>) -> impl Iterator<Item = i64> + Clone {
        let first = ((Arc::clone(instance), 0, 0), i64::MIN);
        let range = first..=((Arc::clone(instance), u64::MAX, u64::MAX), i64::MAX);
        self.identities.range(range).map(|(_, id)| *id)
    }

    /// Records that the acknowledgement of the holder is queued for the commit.
    pub fn stand_in_line(&mut self, claim: Claim, note: Option<Note>) {
        let Some(work) = self.items.get_mut(&claim.id) else { return };
        if let Some(lease) = work.lease.as_mut().filter(|lease| lease.lease == claim.lease) {
            (lease.in_line, lease.note) = (true, note);
        }
    }

    /// If the acknowledgements of all activities of the instance are queued for the commit: returns the completions
    /// that no turn has received yet, each one once.
    pub fn take_notes(&mut self, id: i64) -> Vec<Note> {
        let Some((instance, ..)) = self.items.get(&id).map(|work| &work.identity) else { return Vec::new() };
        let ids = self.ids_of(instance);
        let is_said = |id: i64| self.items.get(&id).and_then(|work| work.lease.as_ref()).is_some_and(|l| l.in_line);
        if !ids.clone().all(is_said) {
            return Vec::new();
        }
        let ids: Vec<i64> = ids.collect();
        ids.into_iter().filter_map(|id| self.items.get_mut(&id)?.lease.as_mut()?.note.take()).collect()
    }

    /// Whether an activity belongs to the session.
    pub fn has_session(&self, session: &str) -> bool {
        self.of_session.contains_key(session)
    }

    /// Number of activities without a lease.
    pub fn unleased(&self) -> usize {
        self.items.len() - self.leased
    }
}

/// `pop_first`, if the first element matches.
trait PopFirstIf<T> {
    fn pop_first_if(&mut self, is: impl Fn(&T) -> bool) -> Option<T>;
}

impl<T: Ord> PopFirstIf<T> for BTreeSet<T> {
    fn pop_first_if(&mut self, is: impl Fn(&T) -> bool) -> Option<T> {
        if self.first().is_some_and(is) { self.pop_first() } else { None }
    }
}
