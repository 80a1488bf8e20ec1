//! Activities that are to be executed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use duroxide::providers::{ScheduledActivityIdentifier, TagFilter, WorkItem};

use crate::core::early::Note;
use crate::core::moment::Moment;
use crate::core::token::Claim;

/// One activity.
#[derive(Debug)]
pub struct Work {
    /// As it was enqueued.
    pub item: Arc<WorkItem>,
    identity: Identity,
    /// Where it waits.
    pub lane: Lane,
    /// Milliseconds since 1970.
    pub visible: i64,
    /// How often it has been fetched.
    pub attempts: u32,
    /// The same as its row says.
    pub recorded: u32,
    /// Whether a process that has ended may have fetched it, too.
    pub recovered: bool,
    /// Who has it.
    pub lease: Option<WorkLease>,
}

/// Who has it, and until when.
#[derive(Debug)]
pub struct WorkLease {
    /// The lease's number.
    pub lease: u64,
    /// Its end.
    pub until: Instant,
    /// What its holder said last is on its way to the disk: nobody else may have it before that is decided.
    pub committing: bool,
    /// Whether that stands in line already.
    pub in_line: bool,
    /// What it has come to, where that stands in line and no turn may have it yet.
    pub note: Option<Note>,
}

impl WorkLease {
    /// Somebody's who has said nothing yet.
    pub fn new(lease: u64, until: Instant) -> Self {
        Self { lease, until, committing: false, in_line: false, note: None }
    }
}

/// Instance, execution and activity.
type Identity = (Arc<str>, u64, u64);

/// Where it waits: with others of the same session and tag.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lane {
    /// Only for the owner of this session.
    pub session: Option<Arc<str>>,
    /// Only for workers that take this tag.
    pub tag: Option<Arc<str>>,
}

/// All of them, by their numbers, which rise in the order in which they were enqueued.
#[derive(Debug, Default)]
pub struct WorkQueue {
    items: HashMap<i64, Work>,
    /// Those that can be taken now.
    lanes: BTreeMap<Lane, BTreeSet<i64>>,
    identities: BTreeSet<(Identity, i64)>,
    visible_due: BTreeSet<(i64, i64)>,
    lease_due: BTreeSet<(Instant, i64)>,
    of_session: HashMap<Arc<str>, usize>,
    leased: usize,
}

impl Work {
    /// None where it is not an activity.
    pub fn new(item: Arc<WorkItem>, visible: i64) -> Option<Self> {
        let WorkItem::ActivityExecute { instance, execution_id, id, session_id, tag, .. } = &*item else { return None };
        let identity = (Arc::from(instance.as_str()), *execution_id, *id);
        let lane = Lane { session: session_id.as_deref().map(Arc::from), tag: tag.as_deref().map(Arc::from) };
        Some(Self { item, identity, lane, visible, attempts: 0, recorded: 0, recovered: false, lease: None })
    }

    /// Whether this is the activity.
    pub fn is(&self, activity: &ScheduledActivityIdentifier) -> bool {
        let (instance, execution, id) = &self.identity;
        (&**instance, *execution, *id) == (&*activity.instance, activity.execution_id, activity.activity_id)
    }
}

impl WorkQueue {
    /// One by its number.
    pub fn get(&self, id: i64) -> Option<&Work> {
        self.items.get(&id)
    }

    /// One by the claim of whoever has it or had it last.
    pub fn claimed(&self, claim: Claim) -> Option<&Work> {
        self.items.get(&claim.id).filter(|work| work.lease.as_ref().is_some_and(|lease| lease.lease == claim.lease))
    }

    /// Puts one in. Whether it can be taken now.
    pub fn insert(&mut self, id: i64, work: Work, now: Moment) -> bool {
        self.identities.insert((work.identity.clone(), id));
        if let Some(session) = &work.lane.session {
            *self.of_session.entry(Arc::clone(session)).or_default() += 1;
        }
        self.leased += usize::from(work.lease.is_some());
        self.items.insert(id, work);
        self.schedule(id, now)
    }

    /// Takes one out for good, whoever has it.
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

    /// The first that can be taken by whom these fit.
    pub fn first(&self, tags: &TagFilter, may_take: impl Fn(&str) -> bool) -> Option<i64> {
        let lanes = self.lanes.iter().filter(|(lane, _)| tags.matches(lane.tag.as_deref()));
        let lanes = lanes.filter(|(lane, _)| lane.session.as_deref().is_none_or(&may_take));
        lanes.filter_map(|(_, ids)| ids.first().copied()).min()
    }

    /// The lanes in which something can be taken now.
    pub fn lanes(&self) -> impl Iterator<Item = &Lane> {
        self.lanes.keys()
    }

    /// Gives it to somebody, prolongs that, or takes it back; then it is scheduled anew. Whether it can be taken now.
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

    /// Those whose time has come, by either clock.
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

    /// When the time of the next one comes.
    pub fn next_due(&self, now: Moment) -> Option<Instant> {
        let visible = self.visible_due.first().map(|(visible, _)| now.of_wall(*visible));
        let lease = self.lease_due.first().map(|(until, _)| *until);
        visible.into_iter().chain(lease).min()
    }

    /// The rows of one activity.
    pub fn of_activity(&self, activity: &ScheduledActivityIdentifier) -> Vec<i64> {
        let identity: Identity = (Arc::from(&*activity.instance), activity.execution_id, activity.activity_id);
        let range = (identity.clone(), i64::MIN)..=(identity, i64::MAX);
        self.identities.range(range).map(|(_, id)| *id).collect()
    }

    /// All of one instance.
    pub fn of_instance(&self, instance: &Arc<str>) -> Vec<i64> {
        self.ids_of(instance).collect()
    }

    fn ids_of(&self, instance: &Arc<str>) -> impl Iterator<Item = i64> + Clone {
        let first = ((Arc::clone(instance), 0, 0), i64::MIN);
        let range = first..=((Arc::clone(instance), u64::MAX, u64::MAX), i64::MAX);
        self.identities.range(range).map(|(_, id)| *id)
    }

    /// What its holder said stands in line for the disk.
    pub fn stand_in_line(&mut self, claim: Claim, note: Option<Note>) {
        let Some(work) = self.items.get_mut(&claim.id) else { return };
        if let Some(lease) = work.lease.as_mut().filter(|lease| lease.lease == claim.lease) {
            (lease.in_line, lease.note) = (true, note);
        }
    }

    /// What the work of the same instance has come to, of which no turn has heard, where what the holders of all of it said
    /// stands in line; each is given once.
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

    /// Whether something refers to the session.
    pub fn has_session(&self, session: &str) -> bool {
        self.of_session.contains_key(session)
    }

    /// How many nobody has.
    pub fn unleased(&self) -> usize {
        self.items.len() - self.leased
    }
}

/// `pop_first`, if the first is so.
trait PopFirstIf<T> {
    fn pop_first_if(&mut self, is: impl Fn(&T) -> bool) -> Option<T>;
}

impl<T: Ord> PopFirstIf<T> for BTreeSet<T> {
    fn pop_first_if(&mut self, is: impl Fn(&T) -> bool) -> Option<T> {
        if self.first().is_some_and(is) { self.pop_first() } else { None }
    }
}
