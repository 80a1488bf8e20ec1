//! The implementation of duroxide's provider traits. The submodules contain the bodies of the methods.

mod admin;
mod close;
mod finish;
mod held;
mod open;
mod pins;
mod reads;
mod shared;
mod turns;
mod wait;
mod work;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::Builder;
use std::time::Duration;

use async_trait::async_trait;
use duroxide::providers::{
    DispatcherCapabilityFilter, ExecutionMetadata, OrchestrationItem, Provider, ProviderAdmin, ProviderError,
    ScheduledActivityIdentifier, SessionFetchConfig, TagFilter, WorkItem,
};
use duroxide::{Event, SystemStats};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::change::Change;
use crate::core::Core;
use crate::core::moment::Moment;
use crate::error::Error;
use crate::options::{Acks, Options, Polling};
use crate::provider::pins::Pins;
use crate::provider::shared::Shared;
use crate::store::{Durable, Store};

/// A provider that schedules in memory and writes acknowledged changes to its store. The [crate] documents the
/// durability of each call.
pub struct OneWriter {
    shared: Arc<Shared>,
    polling: Polling,
    acks: Acks,
    durable: Option<Arc<Durable>>,
    /// Whether a call closes the store or has closed it.
    closes: AtomicBool,
}

impl OneWriter {
    fn new(options: &Options, store: Arc<dyn Store>) -> Result<Self, Error> {
        let cache = store.keeps().then_some(options.cache);
        let core = Core::new(store.recover()?, cache, options.ended, Moment::now());
        let shared = Arc::new(Shared::new(core, store));
        let clock = Arc::clone(&shared);
        let thread = Builder::new().name("duroxide-clock".into()).spawn(move || clock.run_clock());
        thread.map_err(|error| Error::Clock(error.to_string()))?;
        Ok(Self { shared, polling: options.polling, acks: options.acks, durable: None, closes: AtomicBool::new(false) })
    }

    /// Returns the database, for example to inspect the settings of its connections. `None` with another store.
    #[must_use]
    pub fn database(&self) -> Option<&onewriter::Database> {
        self.durable.as_ref().map(|durable| durable.database())
    }

    /// Returns the counters of the database: writes, commits, checkpoints. `None` with another store.
    #[must_use]
    pub fn counters(&self) -> Option<onewriter::Counters> {
        self.durable.as_ref().map(|durable| durable.counters())
    }

    /// Bytes of histories and values in memory, as limited by [`Options::cache`].
    #[must_use]
    pub fn cached(&self) -> usize {
        self.shared.with(|core, _| core.cached())
    }

    /// Number of instances in memory: those that are running or have messages, and of the ended ones those within
    /// [`Options::ended`]. All of them with another store that keeps nothing.
    #[must_use]
    pub fn instances(&self) -> usize {
        self.shared.with(|core, _| core.in_memory())
    }

    /// Removes all histories and values that are not under a lease from memory; they are read again on demand. Has no
    /// effect if the store keeps nothing.
    pub fn drop_cache(&self) {
        self.shared.with(|core, _| core.drop_bodies());
    }

    /// Number of queued messages and activities that this version could not deserialise when the file was opened, for
    /// example of a kind that a later version added. They stay in the file, where a version that can deserialise them
    /// schedules them. A `tracing` warning names each row.
    #[must_use]
    pub fn quarantined(&self) -> usize {
        self.shared.with(|core, _| core.quarantined())
    }

    /// Highest fetch count among the messages waiting for an instance, or `None` if there are none.
    #[must_use]
    pub fn most_attempts(&self, instance: &str) -> Option<u32> {
        self.shared.with(|core, _| {
            let instance = core.get(core.find(instance)?)?;
            instance.messages.values().map(|message| message.attempts).max()
        })
    }

    /// Acquires the place in line that [`Acks::Ordered`] requires before an acknowledgement.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        match self.acks {
            Acks::Awaited => None,
            Acks::Ordered => self.shared.place().await,
        }
    }

    /// Commits an acknowledgement of a dispatcher. With a place in line it calls `in_line` and returns as soon as the
    /// change is queued; without one it returns after the commit.
    async fn acknowledge(
        &self,
        operation: &'static str,
        change: Change,
        in_line: impl FnOnce(&mut Core, Moment),
        then: impl FnOnce(&mut Core, Moment, bool) + Send + 'static,
        place: Option<OwnedSemaphorePermit>,
    ) -> Result<(), ProviderError> {
        match place {
            None => self.shared.commit(operation, change, then).await,
            Some(place) => self.shared.commit_in_line(operation, change, in_line, then, place).await,
        }
    }

    /// Waits for the commits of all acknowledgements returned so far, so that a following read includes them.
    ///
    /// # Errors
    /// If the provider is closed, or memory and disk may differ.
    async fn catch_up(&self, operation: &str) -> Result<(), ProviderError> {
        if self.acks == Acks::Ordered {
            self.shared.decided(None).await;
        }
        self.shared.with(|core, _| core.usable(operation))
    }

    /// Like [`OneWriter::catch_up`] for one instance, which is then in memory until the result is dropped, if it exists.
    async fn instance(&self, operation: &str, name: &str) -> Result<Pins, ProviderError> {
        let pins = self.shared.pin(operation, [name]).await?;
        if self.acks == Acks::Ordered {
            self.shared.decided(Some(name)).await;
        }
        self.shared.with(|core, _| core.usable(operation))?;
        Ok(pins)
    }

    /// Deadline up to which a fetch waits, or `None` if it does not wait.
    fn deadline(&self, poll_timeout: Duration) -> Option<Instant> {
        let waits = self.polling == Polling::Long && !poll_timeout.is_zero();
        waits.then(|| Instant::now().checked_add(poll_timeout)).flatten()
    }
}

/// Serialises an item; empty if the store keeps nothing.
fn text(operation: &str, keeps: bool, item: &impl serde::Serialize) -> Result<String, ProviderError> {
    let text = if keeps { serde_json::to_string(item) } else { Ok(String::new()) };
    text.map_err(|error| ProviderError::permanent(operation, format!("cannot be serialised: {error}")))
}

#[async_trait]
impl Provider for OneWriter {
    fn name(&self) -> &str {
        if self.shared.store.keeps() { "onewriter" } else { "onewriter-volatile" }
    }

    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    async fn fetch_orchestration_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> Result<Option<(OrchestrationItem, String, u32)>, ProviderError> {
        self.fetch_turn(lock_timeout, poll_timeout, filter).await
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
        self.ack_turn(
            lock_token,
            execution_id,
            history_delta,
            worker_items,
            orchestrator_items,
            metadata,
            cancelled_activities,
        )
        .await
    }

    async fn abandon_orchestration_item(
        &self,
        lock_token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        self.abandon_turn(lock_token, delay, ignore_attempt).await
    }

    async fn read(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
        self.history("read", instance, None).await
    }

    async fn read_with_execution(&self, instance: &str, execution_id: u64) -> Result<Vec<Event>, ProviderError> {
        self.history("read_with_execution", instance, Some(execution_id)).await
    }

    async fn append_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
        new_events: Vec<Event>,
    ) -> Result<(), ProviderError> {
        self.append_history(instance, execution_id, new_events).await
    }

    async fn enqueue_for_worker(&self, item: WorkItem) -> Result<(), ProviderError> {
        self.enqueue_work(item).await
    }

    async fn fetch_work_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        session: Option<&SessionFetchConfig>,
        tag_filter: &TagFilter,
    ) -> Result<Option<(WorkItem, String, u32)>, ProviderError> {
        self.fetch_work(lock_timeout, poll_timeout, session, tag_filter).await
    }

    async fn ack_work_item(&self, token: &str, completion: Option<WorkItem>) -> Result<(), ProviderError> {
        self.ack_work(token, completion).await
    }

    async fn renew_work_item_lock(&self, token: &str, extend_for: Duration) -> Result<(), ProviderError> {
        self.shared.with(|core, now| {
            core.usable("renew_work_item_lock")?;
            core.renew_work(token, now, extend_for)
        })
    }

    async fn renew_session_lock(
        &self,
        owner_ids: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Result<usize, ProviderError> {
        self.shared.with(|core, now| {
            core.usable("renew_session_lock")?;
            Ok(core.renew_sessions(owner_ids, now, extend_for, idle_timeout))
        })
    }

    async fn cleanup_orphaned_sessions(&self, _idle_timeout: Duration) -> Result<usize, ProviderError> {
        self.shared.with(|core, now| {
            core.usable("cleanup_orphaned_sessions")?;
            Ok(core.forget_sessions(now))
        })
    }

    async fn abandon_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        self.abandon_work(token, delay, ignore_attempt).await
    }

    async fn renew_orchestration_item_lock(&self, token: &str, extend_for: Duration) -> Result<(), ProviderError> {
        self.shared.with(|core, now| {
            core.usable("renew_orchestration_item_lock")?;
            core.renew_turn(token, now, extend_for)
        })
    }

    async fn enqueue_for_orchestrator(&self, item: WorkItem, delay: Option<Duration>) -> Result<(), ProviderError> {
        self.enqueue_message(item, delay).await
    }

    fn as_management_capability(&self) -> Option<&dyn ProviderAdmin> {
        Some(self)
    }

    async fn get_custom_status(
        &self,
        instance: &str,
        last_seen_version: u64,
    ) -> Result<Option<(Option<String>, u64)>, ProviderError> {
        let _pins = self.instance("get_custom_status", instance).await?;
        Ok(self.shared.with(|core, _| {
            let (_, record) = core.record(instance)?;
            let is_new = record.custom_version > last_seen_version;
            is_new.then(|| (record.custom_status.clone(), record.custom_version))
        }))
    }

    async fn get_kv_value(&self, instance: &str, key: &str) -> Result<Option<String>, ProviderError> {
        self.values("get_kv_value", instance, |values| values.get(key).map(str::to_owned)).await
    }

    async fn get_kv_all_values(&self, instance: &str) -> Result<HashMap<String, String>, ProviderError> {
        self.values("get_kv_all_values", instance, |values| values.all()).await
    }

    async fn get_instance_stats(&self, instance: &str) -> Result<Option<SystemStats>, ProviderError> {
        self.stats(instance).await
    }
}
