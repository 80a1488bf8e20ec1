//! A provider that prints what its calls have acknowledged, or what they show.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use duroxide::providers::{
    DispatcherCapabilityFilter, ExecutionMetadata, OrchestrationItem, Provider, ProviderError,
    ScheduledActivityIdentifier, SessionFetchConfig, TagFilter, WorkItem,
};
use duroxide::{Event, SystemStats};
use duroxide_onewriter::OneWriter;

/// Which steps of dispatchers must be durable. Results received by clients always must.
#[derive(Clone, Copy, PartialEq)]
pub enum Counts {
    /// Acknowledged steps.
    Acknowledged,
    /// Histories received by later turns, and activities received by workers. The messages of a turn may not be durable
    /// yet: the turn has no effect before they are.
    Seen,
}

pub struct Reporting {
    below: OneWriter,
    counts: Counts,
}

impl Reporting {
    pub fn new(below: OneWriter, counts: Counts) -> Self {
        Self { below, counts }
    }
}

type Answer<T> = Result<T, ProviderError>;

fn numbers(events: &[Event]) -> String {
    let numbers: Vec<String> = events.iter().map(|event| event.event_id().to_string()).collect();
    numbers.join(" ")
}

/// Report line for the completion of an activity.
fn executed(message: &WorkItem) -> Option<String> {
    match message {
        WorkItem::ActivityCompleted { instance, id, .. } => Some(format!("executed {instance} {id}")),
        _ => None,
    }
}

/// The dot marks a complete line.
fn say(what: &str) {
    println!("told {what} .");
}

#[async_trait]
impl Provider for Reporting {
    async fn fetch_orchestration_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> Answer<Option<(OrchestrationItem, String, u32)>> {
        let found = self.below.fetch_orchestration_item(lock_timeout, poll_timeout, filter).await?;
        if let (Counts::Seen, Some((item, ..))) = (self.counts, &found) {
            let instance = &item.instance;
            if !item.history.is_empty() {
                say(&format!("turn {instance} {}", numbers(&item.history)));
            }
        }
        Ok(found)
    }

    async fn ack_orchestration_item(
        &self,
        lock_token: &str,
        execution_id: u64,
        history_delta: Vec<Event>,
        worker_items: Vec<WorkItem>,
        orchestrator_items: Vec<WorkItem>,
        metadata: ExecutionMetadata,
        cancelled: Vec<ScheduledActivityIdentifier>,
    ) -> Answer<()> {
        let events = numbers(&history_delta);
        let instance = history_delta.first().map(|event| event.instance_id.clone());
        self.below
            .ack_orchestration_item(
                lock_token,
                execution_id,
                history_delta,
                worker_items,
                orchestrator_items,
                metadata,
                cancelled,
            )
            .await?;
        if let (Counts::Acknowledged, Some(instance)) = (self.counts, instance) {
            say(&format!("turn {instance} {events}"));
        }
        Ok(())
    }

    async fn abandon_orchestration_item(
        &self,
        lock_token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Answer<()> {
        self.below.abandon_orchestration_item(lock_token, delay, ignore_attempt).await
    }

    async fn read(&self, instance: &str) -> Answer<Vec<Event>> {
        self.below.read(instance).await
    }

    async fn read_with_execution(&self, instance: &str, execution_id: u64) -> Answer<Vec<Event>> {
        self.below.read_with_execution(instance, execution_id).await
    }

    async fn append_with_execution(&self, instance: &str, execution_id: u64, events: Vec<Event>) -> Answer<()> {
        self.below.append_with_execution(instance, execution_id, events).await
    }

    async fn enqueue_for_worker(&self, item: WorkItem) -> Answer<()> {
        self.below.enqueue_for_worker(item).await
    }

    async fn fetch_work_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        session: Option<&SessionFetchConfig>,
        tag_filter: &TagFilter,
    ) -> Answer<Option<(WorkItem, String, u32)>> {
        let found = self.below.fetch_work_item(lock_timeout, poll_timeout, session, tag_filter).await?;
        if let (Counts::Seen, Some((WorkItem::ActivityExecute { instance, id, .. }, ..))) = (self.counts, &found) {
            say(&format!("turn {instance} {id}"));
        }
        Ok(found)
    }

    async fn ack_work_item(&self, token: &str, completion: Option<WorkItem>) -> Answer<()> {
        let executed = completion.as_ref().filter(|_| self.counts == Counts::Acknowledged).and_then(executed);
        self.below.ack_work_item(token, completion).await?;
        executed.iter().for_each(|executed| say(executed));
        Ok(())
    }

    async fn renew_work_item_lock(&self, token: &str, extend_for: Duration) -> Answer<()> {
        self.below.renew_work_item_lock(token, extend_for).await
    }

    async fn renew_session_lock(&self, owners: &[&str], extend_for: Duration, idle: Duration) -> Answer<usize> {
        self.below.renew_session_lock(owners, extend_for, idle).await
    }

    async fn cleanup_orphaned_sessions(&self, idle_timeout: Duration) -> Answer<usize> {
        self.below.cleanup_orphaned_sessions(idle_timeout).await
    }

    async fn abandon_work_item(&self, token: &str, delay: Option<Duration>, ignore_attempt: bool) -> Answer<()> {
        self.below.abandon_work_item(token, delay, ignore_attempt).await
    }

    async fn renew_orchestration_item_lock(&self, token: &str, extend_for: Duration) -> Answer<()> {
        self.below.renew_orchestration_item_lock(token, extend_for).await
    }

    async fn enqueue_for_orchestrator(&self, item: WorkItem, delay: Option<Duration>) -> Answer<()> {
        let started = match &item {
            WorkItem::StartOrchestration { instance, .. } => Some(format!("started {instance}")),
            _ => None,
        };
        self.below.enqueue_for_orchestrator(item, delay).await?;
        started.iter().for_each(|started| say(started));
        Ok(())
    }

    async fn get_custom_status(&self, instance: &str, last_seen: u64) -> Answer<Option<(Option<String>, u64)>> {
        self.below.get_custom_status(instance, last_seen).await
    }

    async fn get_kv_value(&self, instance: &str, key: &str) -> Answer<Option<String>> {
        self.below.get_kv_value(instance, key).await
    }

    async fn get_kv_all_values(&self, instance: &str) -> Answer<HashMap<String, String>> {
        self.below.get_kv_all_values(instance).await
    }

    async fn get_instance_stats(&self, instance: &str) -> Answer<Option<SystemStats>> {
        self.below.get_instance_stats(instance).await
    }
}
