//! A provider that forwards every call to another one and measures it, so that all providers are measured in the same
//! way.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use duroxide::providers::{
    DispatcherCapabilityFilter, ExecutionMetadata, OrchestrationItem, Provider, ProviderAdmin, ProviderError,
    ScheduledActivityIdentifier, SessionFetchConfig, TagFilter, WorkItem,
};
use duroxide::{Event, SystemStats};
use litelab_protocol::histogram::Histogram;
use tokio::sync::oneshot;

/// Kinds of calls of a provider.
#[derive(Clone, Copy)]
enum Call {
    /// Fetches that found an item.
    Fetch,
    /// Fetches that found no item. A provider that waits for work does so inside these calls and inside `Fetch`.
    Look,
    /// Sleep of a dispatcher after a fetch without an item, computed from `dispatcher_min_poll_interval`.
    Idle,
    /// Acknowledgements and abandoned items.
    Ack,
    /// Enqueued items.
    Enqueue,
    /// Reads of histories and statuses, by which a client waits.
    Read,
    /// Renewals of leases, and all other calls.
    Other,
    /// From the commit that ends an orchestration until the client has seen the end.
    Notice,
}

/// Names of the kinds, in the same order.
const NAMES: [&str; 8] = ["fetch", "look", "idle", "ack", "enqueue", "read", "other", "notice"];

/// Orchestrations that a client waits for.
#[derive(Default)]
struct Waiting {
    /// Clients by instance.
    clients: HashMap<String, Client>,
    /// Instances by the token of their current lease.
    leases: HashMap<String, String>,
}

/// A waiting client.
#[derive(Default)]
struct Client {
    /// When the end of the orchestration was committed.
    ended: Option<Instant>,
    tell: Option<oneshot::Sender<()>>,
}

/// The measuring provider.
pub struct Meter {
    inner: Arc<dyn Provider>,
    min_poll_interval: Duration,
    /// Durations of the calls of each kind, in nanoseconds.
    timers: [Mutex<Histogram>; NAMES.len()],
    waiting: Mutex<Waiting>,
}

impl Meter {
    /// Wraps a provider. `min_poll_interval` must be that of the runtime.
    pub fn new(inner: Arc<dyn Provider>, min_poll_interval: Duration) -> Self {
        Self { inner, min_poll_interval, timers: Default::default(), waiting: Mutex::default() }
    }

    /// Discards all durations.
    pub fn begin(&self) {
        self.timers.iter().for_each(|timer| *locked(timer) = Histogram::new());
    }

    /// Returns the durations of each kind of call that was made.
    pub fn timers(&self) -> BTreeMap<String, Histogram> {
        let timers = NAMES.iter().zip(&self.timers).map(|(name, timer)| ((*name).to_owned(), locked(timer).clone()));
        timers.filter(|(_, timer)| timer.count() > 0).collect()
    }

    fn add(&self, call: Call, duration: Duration) {
        locked(&self.timers[call as usize]).record(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Registers a client that waits for this instance. The receiver resolves when the end of the instance is
    /// committed.
    pub fn expect(&self, instance: &str) -> oneshot::Receiver<()> {
        let (tell, told) = oneshot::channel();
        self.waiting().clients.insert(instance.into(), Client { ended: None, tell: Some(tell) });
        told
    }

    /// Removes the client: it has seen the end of the instance or given up.
    pub fn seen(&self, instance: &str) {
        let client = self.waiting().clients.remove(instance);
        if let Some(ended) = client.and_then(|client| client.ended) {
            self.add(Call::Notice, ended.elapsed());
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        locked(&self.waiting)
    }

    /// Counts a fetch and returns its result.
    fn fetched<T>(&self, begun: Instant, found: Result<Option<T>, ProviderError>) -> Result<Option<T>, ProviderError> {
        match &found {
            Ok(None) => {
                self.add(Call::Look, begun.elapsed());
                let left = self.min_poll_interval.saturating_sub(begun.elapsed());
                if !left.is_zero() {
                    self.add(Call::Idle, left);
                }
            }
            Ok(Some(_)) => self.add(Call::Fetch, begun.elapsed()),
            Err(_) => self.add(Call::Look, begun.elapsed()),
        }
        found
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Awaits a call of the provider and adds its duration to a timer.
macro_rules! timed {
    ($self:ident.$kind:ident, $call:expr) => {{
        let begun = Instant::now();
        let answer = $call.await;
        $self.add(Call::$kind, begun.elapsed());
        answer
    }};
}

#[async_trait]
impl Provider for Meter {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn version(&self) -> &str {
        self.inner.version()
    }

    async fn fetch_orchestration_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> Result<Option<(OrchestrationItem, String, u32)>, ProviderError> {
        let begun = Instant::now();
        let found = self.inner.fetch_orchestration_item(lock_timeout, poll_timeout, filter).await;
        if let Ok(Some((item, token, _))) = &found {
            let mut waiting = self.waiting();
            if waiting.clients.contains_key(&item.instance) {
                waiting.leases.insert(token.clone(), item.instance.clone());
            }
        }
        self.fetched(begun, found)
    }

    async fn ack_orchestration_item(
        &self,
        lock_token: &str,
        execution_id: u64,
        history_delta: Vec<Event>,
        worker_items: Vec<WorkItem>,
        orchestrator_items: Vec<WorkItem>,
        metadata: ExecutionMetadata,
        cancelled_activities: Vec<ScheduledActivityIdentifier>,
    ) -> Result<(), ProviderError> {
        let ends = matches!(metadata.status.as_deref(), Some("Completed" | "Failed"));
        let answer = timed!(
            self.Ack,
            self.inner.ack_orchestration_item(
                lock_token,
                execution_id,
                history_delta,
                worker_items,
                orchestrator_items,
                metadata,
                cancelled_activities,
            )
        );
        if answer.is_ok() {
            let mut waiting = self.waiting();
            let instance = waiting.leases.remove(lock_token);
            if let Some(client) = instance.filter(|_| ends).and_then(|i| waiting.clients.get_mut(&i)) {
                client.ended = Some(Instant::now());
                // The client may be waiting by polling, without the receiver.
                let _told = client.tell.take().map(|tell| tell.send(()));
            }
        }
        answer
    }

    async fn abandon_orchestration_item(
        &self,
        lock_token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        self.waiting().leases.remove(lock_token);
        timed!(self.Ack, self.inner.abandon_orchestration_item(lock_token, delay, ignore_attempt))
    }

    async fn read(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
        timed!(self.Read, self.inner.read(instance))
    }

    async fn read_with_execution(&self, instance: &str, execution_id: u64) -> Result<Vec<Event>, ProviderError> {
        timed!(self.Read, self.inner.read_with_execution(instance, execution_id))
    }

    async fn append_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
        new_events: Vec<Event>,
    ) -> Result<(), ProviderError> {
        timed!(self.Other, self.inner.append_with_execution(instance, execution_id, new_events))
    }

    async fn enqueue_for_worker(&self, item: WorkItem) -> Result<(), ProviderError> {
        timed!(self.Enqueue, self.inner.enqueue_for_worker(item))
    }

    async fn fetch_work_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        session: Option<&SessionFetchConfig>,
        tag_filter: &TagFilter,
    ) -> Result<Option<(WorkItem, String, u32)>, ProviderError> {
        let begun = Instant::now();
        let found = self.inner.fetch_work_item(lock_timeout, poll_timeout, session, tag_filter).await;
        self.fetched(begun, found)
    }

    async fn ack_work_item(&self, token: &str, completion: Option<WorkItem>) -> Result<(), ProviderError> {
        timed!(self.Ack, self.inner.ack_work_item(token, completion))
    }

    async fn renew_work_item_lock(&self, token: &str, extend_for: Duration) -> Result<(), ProviderError> {
        timed!(self.Other, self.inner.renew_work_item_lock(token, extend_for))
    }

    async fn renew_session_lock(
        &self,
        owner_ids: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Result<usize, ProviderError> {
        timed!(self.Other, self.inner.renew_session_lock(owner_ids, extend_for, idle_timeout))
    }

    async fn cleanup_orphaned_sessions(&self, idle_timeout: Duration) -> Result<usize, ProviderError> {
        timed!(self.Other, self.inner.cleanup_orphaned_sessions(idle_timeout))
    }

    async fn abandon_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        timed!(self.Ack, self.inner.abandon_work_item(token, delay, ignore_attempt))
    }

    async fn renew_orchestration_item_lock(&self, token: &str, extend_for: Duration) -> Result<(), ProviderError> {
        timed!(self.Other, self.inner.renew_orchestration_item_lock(token, extend_for))
    }

    async fn enqueue_for_orchestrator(&self, item: WorkItem, delay: Option<Duration>) -> Result<(), ProviderError> {
        timed!(self.Enqueue, self.inner.enqueue_for_orchestrator(item, delay))
    }

    fn as_management_capability(&self) -> Option<&dyn ProviderAdmin> {
        self.inner.as_management_capability()
    }

    async fn get_custom_status(
        &self,
        instance: &str,
        last_seen_version: u64,
    ) -> Result<Option<(Option<String>, u64)>, ProviderError> {
        timed!(self.Read, self.inner.get_custom_status(instance, last_seen_version))
    }

    async fn get_kv_value(&self, instance: &str, key: &str) -> Result<Option<String>, ProviderError> {
        timed!(self.Other, self.inner.get_kv_value(instance, key))
    }

    async fn get_kv_all_values(&self, instance: &str) -> Result<HashMap<String, String>, ProviderError> {
        timed!(self.Other, self.inner.get_kv_all_values(instance))
    }

    async fn get_instance_stats(&self, instance: &str) -> Result<Option<SystemStats>, ProviderError> {
        timed!(self.Other, self.inner.get_instance_stats(instance))
    }
}
