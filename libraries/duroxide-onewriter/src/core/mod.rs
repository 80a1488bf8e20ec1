//! The scheduling: what there is to do, who may do it, and who does. In memory, without I/O, and never waiting.
//!
//! A call that changes what must survive has two halves. The first checks the call, decides everything, and marks what it
//! touches as being committed; its rows then go to the disk while the lock is free. The second half makes the change visible,
//! or takes the mark away where the disk refused. So nobody ever sees what is not durable, but turns where the caller has them
//! see messages that stand in line ([`early`]).

pub mod abandon;
pub mod ack;
pub mod admin;
pub mod body;
pub mod early;
pub mod history;
pub mod instance;
pub mod moment;
pub mod promises;
pub mod record;
pub mod sessions;
pub mod token;
pub mod turns;
pub mod values;
pub mod waiters;
pub mod work;
pub mod workers;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use duroxide::providers::ProviderError;
use tokio::sync::Notify;

use crate::core::body::Cache;
use crate::core::instance::{Instance, Message, Replays};
use crate::core::moment::Moment;
use crate::core::promises::{Promises, Scope};
use crate::core::sessions::Sessions;
use crate::core::token::Tokens;
use crate::core::turns::Turns;
use crate::core::waiters::Waiters;
use crate::core::work::{Work, WorkQueue};
use crate::core::workers::Takes;
use crate::store::Recovered;

/// Everything that is scheduled.
#[derive(Debug)]
pub struct Core {
    instances: HashMap<i64, Instance>,
    names: HashMap<Arc<str>, i64>,
    /// The children of each instance that has some.
    children: HashMap<Arc<str>, BTreeSet<i64>>,
    last_instance: i64,
    last_message: i64,
    last_work: i64,
    tokens: Tokens,
    turns: Turns,
    work: WorkQueue,
    sessions: Sessions,
    cache: Cache,
    turn_waiters: Waiters<Replays>,
    work_waiters: Waiters<Takes>,
    /// Callers to be notified when the lock is released.
    woken: Vec<Arc<Notify>>,
    /// Callers that wait until something is no longer being committed or fetched.
    settled: Vec<Arc<Notify>>,
    /// Fetches that hold something and need the disk before they can return it: they may still let go of it.
    fetching: usize,
    promises: Promises,
    /// Messages that turns may have though the disk has not decided on them.
    early: HashSet<i64>,
    /// When the clock's thread looks next.
    alarm: Option<Instant>,
    /// Why memory may no longer be what the disk is.
    broken: Option<String>,
    /// Whether memory is the only place where anything is kept.
    alone: bool,
    /// Whether the clock's thread is to end.
    stopped: bool,
}

impl Core {
    /// From what the store has kept. `cache`: bytes of histories in memory, none where the store keeps nothing.
    pub fn new(recovered: Recovered, cache: Option<usize>, now: Moment) -> Self {
        let mut core = Self {
            instances: HashMap::new(),
            names: HashMap::new(),
            children: HashMap::new(),
            last_instance: 0,
            last_message: 0,
            last_work: 0,
            tokens: Tokens::new(),
            turns: Turns::default(),
            work: WorkQueue::default(),
            sessions: Sessions::default(),
            cache: Cache::new(cache),
            turn_waiters: Waiters::default(),
            work_waiters: Waiters::default(),
            woken: Vec::new(),
            settled: Vec::new(),
            fetching: 0,
            promises: Promises::default(),
            early: HashSet::new(),
            alarm: None,
            broken: None,
            alone: cache.is_none(),
            stopped: false,
        };
        core.recover(recovered, now);
        core
    }

    fn recover(&mut self, recovered: Recovered, now: Moment) {
        for (id, name, record) in recovered.instances {
            let name: Arc<str> = Arc::from(name);
            self.last_instance = self.last_instance.max(id);
            self.names.insert(Arc::clone(&name), id);
            if let Some(parent) = record.parent.clone().filter(|_| record.is_named()) {
                self.children.entry(parent).or_default().insert(id);
            }
            let mut instance = Instance::new(name);
            instance.record = Some(record);
            self.instances.insert(id, instance);
        }
        for kept in recovered.messages {
            self.last_message = self.last_message.max(kept.id);
            let mut message = Message::new(Arc::new(kept.item), kept.visible);
            (message.attempts, message.recorded, message.recovered) = (kept.attempts, kept.attempts, true);
            self.enqueue(kept.id, message, now);
        }
        for kept in recovered.work {
            self.last_work = self.last_work.max(kept.id);
            if let Some(mut work) = Work::new(Arc::new(kept.item), kept.visible) {
                (work.attempts, work.recorded, work.recovered) = (kept.attempts, kept.attempts, true);
                self.work.insert(kept.id, work, now);
            }
        }
    }

    /// A number for a new message.
    pub fn next_message(&mut self) -> i64 {
        self.last_message += 1;
        self.last_message
    }

    /// The number of the instance that is called so.
    pub fn find(&self, name: &str) -> Option<i64> {
        self.names.get(name).copied()
    }

    /// One by its number.
    pub fn get(&self, id: i64) -> Option<&Instance> {
        self.instances.get(&id)
    }

    /// Who waits for turns.
    pub fn turn_waiters(&mut self) -> &mut Waiters<Replays> {
        &mut self.turn_waiters
    }

    /// Who waits for work.
    pub fn work_waiters(&mut self) -> &mut Waiters<Takes> {
        &mut self.work_waiters
    }

    /// The lock tokens.
    pub fn tokens(&mut self) -> &mut Tokens {
        &mut self.tokens
    }

    /// Whether memory is the only place where anything is kept.
    pub fn is_alone(&self) -> bool {
        self.alone
    }

    /// Memory may no longer be what the disk is: refuses everything from now on, and wakes everybody to hear it.
    pub fn fail(&mut self, why: &str) {
        self.broken.get_or_insert_with(|| why.to_owned());
        self.woken.extend(self.turn_waiters.wake_all());
        self.woken.extend(self.work_waiters.wake_all());
        self.woken.append(&mut self.settled);
    }

    /// # Errors
    /// Where it has failed or is closed.
    pub fn usable(&self, operation: &str) -> Result<(), ProviderError> {
        self.broken.as_ref().map_or(Ok(()), |why| Err(ProviderError::permanent(operation, why.clone())))
    }

    /// Nobody schedules any more.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Whether nobody does.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// A fetch needs the disk before it can return what it holds.
    pub fn begin_fetching(&mut self) {
        self.fetching += 1;
    }

    /// It has returned it, or let go of it.
    pub fn end_fetching(&mut self) {
        self.fetching -= 1;
        self.settle();
    }

    /// Somebody who has found nothing, and will not wait for work, has to look again then: what a fetch holds that is still
    /// under way is neither taken nor free, and what a dispatcher was told before the first look will be there. `asked` is that
    /// look's moment, none in it.
    pub fn when_to_look_again(&mut self, asked: &mut Option<u64>) -> Option<Arc<Notify>> {
        let fetching = (self.fetching > 0).then(|| self.when_settled());
        fetching.or_else(|| self.when_decided(Scope::Everything, asked))
    }

    /// A caller is about to be told that something is kept on which the disk has not decided. Its number.
    pub fn promise(&mut self, of: Scope) -> u64 {
        self.promises.make(of)
    }

    /// The disk has decided, if it was one.
    pub fn decide(&mut self, promise: Option<u64>) {
        if let Some(number) = promise {
            self.promises.decide(number);
            self.settle();
        }
    }

    /// Where something is undecided that a caller was told of before the question: when to ask again. `asked` as in
    /// [`Core::when_to_look_again`].
    pub fn when_decided(&mut self, of: Scope, asked: &mut Option<u64>) -> Option<Arc<Notify>> {
        let asked = *asked.get_or_insert(self.promises.last());
        (self.broken.is_none() && self.promises.is_open(of, asked)).then(|| self.when_settled())
    }

    /// A caller that is to be notified as soon as something is no longer being committed or fetched.
    pub fn when_settled(&mut self) -> Arc<Notify> {
        let notify = Arc::new(Notify::new());
        self.settled.push(Arc::clone(&notify));
        notify
    }

    /// Something is no longer being committed or fetched.
    pub fn settle(&mut self) {
        self.woken.append(&mut self.settled);
    }

    /// Makes what is due visible, by either clock.
    pub fn tick(&mut self, now: Moment) {
        self.turns_due(now);
        self.work_due(now);
    }

    /// Those to be notified now, and whether the clock's thread has to look earlier than it meant to.
    pub fn leave(&mut self, now: Moment) -> (Vec<Arc<Notify>>, bool) {
        let next = self.next_due(now);
        let is_earlier = next.is_some_and(|next| self.alarm.is_none_or(|alarm| next < alarm));
        if is_earlier {
            self.alarm = next;
        }
        (std::mem::take(&mut self.woken), is_earlier)
    }

    /// For the clock's thread: when it has to look next.
    pub fn set_alarm(&mut self, now: Moment) -> Option<Instant> {
        self.alarm = self.next_due(now);
        self.alarm
    }

    fn next_due(&self, now: Moment) -> Option<Instant> {
        let due = [self.next_turn_due(now), self.work.next_due(now), self.sessions.next_due()];
        due.into_iter().flatten().min()
    }
}
