//! The scheduler: queues, leases and waiters, in memory, without I/O, and never blocking.
//!
//! A call with durable effects has two phases. The first phase checks the call, computes all changes, and marks the
//! affected objects as being committed; the rows are then written while the lock is free. The second phase makes the
//! changes visible, or removes the marks if the commit failed. So no caller observes a change that is not durable. The
//! one exception: with [`Acks::Ordered`](crate::Acks::Ordered), turns receive messages that are queued for a commit
//! ([`early`]).

pub mod abandon;
pub mod ack;
pub mod admin;
pub mod body;
pub mod early;
pub mod ended;
pub mod history;
pub mod instance;
pub mod listing;
pub mod moment;
pub mod promises;
pub mod record;
pub mod recovered;
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
use crate::core::ended::Ended;
use crate::core::instance::{Instance, Message, Replays};
use crate::core::moment::Moment;
use crate::core::promises::{Promises, Scope};
use crate::core::recovered::Recovered;
use crate::core::sessions::Sessions;
use crate::core::token::Tokens;
use crate::core::turns::Turns;
use crate::core::waiters::Waiters;
use crate::core::work::{Work, WorkQueue};
use crate::core::workers::Takes;

/// State of the scheduler.
#[derive(Debug)]
pub struct Core {
    instances: HashMap<i64, Instance>,
    names: HashMap<Arc<str>, i64>,
    /// Children of each instance that has any.
    children: HashMap<Arc<str>, BTreeSet<i64>>,
    last_instance: i64,
    last_message: i64,
    last_work: i64,
    tokens: Tokens,
    turns: Turns,
    work: WorkQueue,
    sessions: Sessions,
    cache: Cache,
    ended: Ended,
    turn_waiters: Waiters<Replays>,
    work_waiters: Waiters<Takes>,
    /// Waiters to notify after the lock is released.
    woken: Vec<Arc<Notify>>,
    /// Waiters for the end of a commit or fetch in progress.
    settled: Vec<Arc<Notify>>,
    /// Number of fetches that hold a lease while they access the disk; they may still release it.
    fetching: usize,
    promises: Promises,
    /// Messages that turns may receive before their commit.
    early: HashSet<i64>,
    /// Next time at which the clock thread wakes.
    alarm: Option<Instant>,
    /// Reason for which memory and disk may differ. All further calls fail with it.
    broken: Option<String>,
    /// Whether the store keeps nothing, so that memory is the only copy.
    alone: bool,
    /// Whether the clock thread must end.
    stopped: bool,
    /// Number of stored rows that cannot be deserialised.
    quarantined: usize,
}

impl Core {
    /// Creates the scheduler from the stored state. `cache` is the capacity for histories in bytes, `None` if the store
    /// keeps nothing. `ended` is the number of ended instances that stay in memory if it does.
    pub fn new(recovered: Recovered, cache: Option<usize>, ended: usize, now: Moment) -> Self {
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
            ended: Ended::new(cache.map(|_| ended), recovered.elsewhere),
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
            quarantined: 0,
        };
        core.recover(recovered, now);
        core
    }

    fn recover(&mut self, recovered: Recovered, now: Moment) {
        self.last_instance = recovered.last_instance;
        for (id, name, record) in recovered.instances {
            self.restore(id, Arc::from(name), record);
        }
        (self.last_message, self.last_work) = (recovered.messages.last, recovered.work.last);
        self.quarantined = recovered.messages.quarantined + recovered.work.quarantined;
        for kept in recovered.messages.items {
            let mut message = Message::new(Arc::new(kept.item), kept.visible);
            (message.attempts, message.recorded, message.recovered) = (kept.attempts, kept.attempts, true);
            self.enqueue(kept.id, message, now);
        }
        for kept in recovered.work.items {
            if let Some(mut work) = Work::new(Arc::new(kept.item), kept.visible) {
                (work.attempts, work.recorded, work.recovered) = (kept.attempts, kept.attempts, true);
                self.work.insert(kept.id, work, now);
            }
        }
    }

    /// Assigns a message number.
    pub fn next_message(&mut self) -> i64 {
        self.last_message += 1;
        self.last_message
    }

    /// Returns the number of the instance with this name.
    pub fn find(&self, name: &str) -> Option<i64> {
        self.names.get(name).copied()
    }

    pub fn get(&self, id: i64) -> Option<&Instance> {
        self.instances.get(&id)
    }

    /// Dispatchers waiting for turns.
    pub fn turn_waiters(&mut self) -> &mut Waiters<Replays> {
        &mut self.turn_waiters
    }

    /// Workers waiting for activities.
    pub fn work_waiters(&mut self) -> &mut Waiters<Takes> {
        &mut self.work_waiters
    }

    pub fn tokens(&mut self) -> &mut Tokens {
        &mut self.tokens
    }

    /// Whether the store keeps nothing, so that memory is the only copy.
    pub fn is_alone(&self) -> bool {
        self.alone
    }

    /// Marks the scheduler as broken, because memory and disk may differ: all further calls fail. Wakes all waiters so
    /// that they return the error.
    pub fn fail(&mut self, why: &str) {
        self.broken.get_or_insert_with(|| why.to_owned());
        self.woken.extend(self.turn_waiters.wake_all());
        self.woken.extend(self.work_waiters.wake_all());
        self.woken.append(&mut self.settled);
    }

    /// Checks that the scheduler is neither broken nor closed.
    ///
    /// # Errors
    /// If the scheduler is broken or closed.
    pub fn usable(&self, operation: &str) -> Result<(), ProviderError> {
        self.broken.as_ref().map_or(Ok(()), |why| Err(ProviderError::permanent(operation, why.clone())))
    }

    /// Number of stored rows that could not be deserialised when the provider was opened.
    pub fn quarantined(&self) -> usize {
        self.quarantined
    }

    /// Ends the clock thread.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Whether the clock thread must end.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Records that a fetch holds a lease while it accesses the disk.
    pub fn begin_fetching(&mut self) {
        self.fetching += 1;
    }

    /// Records that such a fetch has returned or released its lease.
    pub fn end_fetching(&mut self) {
        self.fetching -= 1;
        self.settle();
    }

    /// For a fetch that found nothing and does not wait for work: returns what to wait for before it retries, or `None`
    /// to give up.
    ///
    /// What another fetch is about to return or release is neither taken nor free, and the effects of acknowledgements
    /// returned before the first attempt must be visible. `asked` is the promise number at the first attempt; `None` at
    /// the first call.
    pub fn when_to_look_again(&mut self, asked: &mut Option<u64>) -> Option<Arc<Notify>> {
        let fetching = (self.fetching > 0).then(|| self.when_settled());
        fetching.or_else(|| self.when_decided(Scope::Everything, asked))
    }

    /// Records that an acknowledgement is about to return before its commit. Returns the number of the promise.
    pub fn promise(&mut self, of: Scope) -> u64 {
        self.promises.make(of)
    }

    /// Records that the commit of a promise has succeeded or failed.
    pub fn decide(&mut self, promise: Option<u64>) {
        if let Some(number) = promise {
            self.promises.decide(number);
            self.settle();
        }
    }

    /// If promises in this scope that were made before the question are still open, returns what to wait for before
    /// asking again. `asked` as in [`Core::when_to_look_again`].
    pub fn when_decided(&mut self, of: Scope, asked: &mut Option<u64>) -> Option<Arc<Notify>> {
        let asked = *asked.get_or_insert(self.promises.last());
        (self.broken.is_none() && self.promises.is_open(of, asked)).then(|| self.when_settled())
    }

    /// Registers a waiter for the end of any commit or fetch in progress.
    pub fn when_settled(&mut self) -> Arc<Notify> {
        let notify = Arc::new(Notify::new());
        self.settled.push(Arc::clone(&notify));
        notify
    }

    /// Wakes the waiters for the end of a commit or fetch.
    pub fn settle(&mut self) {
        self.woken.append(&mut self.settled);
    }

    /// Makes everything visible that is due on either clock.
    pub fn tick(&mut self, now: Moment) {
        self.turns_due(now);
        self.work_due(now);
    }

    /// Returns the waiters to notify, and whether the clock thread must wake earlier than planned.
    pub fn leave(&mut self, now: Moment) -> (Vec<Arc<Notify>>, bool) {
        let next = self.next_due(now);
        let is_earlier = next.is_some_and(|next| self.alarm.is_none_or(|alarm| next < alarm));
        if is_earlier {
            self.alarm = next;
        }
        (std::mem::take(&mut self.woken), is_earlier)
    }

    /// Sets and returns the next wake time of the clock thread.
    pub fn set_alarm(&mut self, now: Moment) -> Option<Instant> {
        self.alarm = self.next_due(now);
        self.alarm
    }

    fn next_due(&self, now: Moment) -> Option<Instant> {
        let due = [self.next_turn_due(now), self.work.next_due(now), self.sessions.next_due()];
        due.into_iter().flatten().min()
    }
}
