//! Helpers shared by the tests.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::time::Duration;

use duroxide::providers::{ExecutionMetadata, OrchestrationItem, Provider, ProviderError, TagFilter, WorkItem};
use duroxide::{Event, EventKind};

pub const LOCK: Duration = Duration::from_secs(30);
pub const NOW: Duration = Duration::ZERO;

pub fn start(instance: &str) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: instance.into(),
        orchestration: "Orchestration".into(),
        input: "input".into(),
        version: Some("1.0.0".into()),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        execution_id: 1,
    }
}

pub fn raised(instance: &str, name: &str) -> WorkItem {
    WorkItem::ExternalRaised { instance: instance.into(), name: name.into(), data: String::new() }
}

pub fn activity(instance: &str, id: u64) -> WorkItem {
    activity_of(instance, id, None, None)
}

pub fn activity_of(instance: &str, id: u64, session: Option<&str>, tag: Option<&str>) -> WorkItem {
    WorkItem::ActivityExecute {
        instance: instance.into(),
        execution_id: 1,
        id,
        name: "Activity".into(),
        input: "input".into(),
        session_id: session.map(Into::into),
        tag: tag.map(Into::into),
    }
}

pub fn completed(instance: &str, id: u64) -> WorkItem {
    WorkItem::ActivityCompleted { instance: instance.into(), execution_id: 1, id, result: "result".into() }
}

pub fn event(instance: &str, id: u64, kind: EventKind) -> Event {
    Event::with_event_id(id, instance, 1, None, kind)
}

pub fn started(instance: &str) -> Event {
    let kind = EventKind::OrchestrationStarted {
        name: "Orchestration".into(),
        version: "1.0.0".into(),
        input: "input".into(),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: None,
        initial_custom_status: None,
    };
    event(instance, 1, kind)
}

pub fn named() -> ExecutionMetadata {
    ExecutionMetadata {
        orchestration_name: Some("Orchestration".into()),
        orchestration_version: Some("1.0.0".into()),
        ..ExecutionMetadata::default()
    }
}

pub fn status(status: &str, output: &str) -> ExecutionMetadata {
    ExecutionMetadata { status: Some(status.into()), output: Some(output.into()), ..named() }
}

/// Fetches the next turn without waiting.
pub async fn turn(provider: &dyn Provider) -> Option<(OrchestrationItem, String, u32)> {
    provider.fetch_orchestration_item(LOCK, NOW, None).await.unwrap()
}

/// Fetches the next activity without waiting.
pub async fn work(provider: &dyn Provider) -> Option<(WorkItem, String, u32)> {
    provider.fetch_work_item(LOCK, NOW, None, &TagFilter::default()).await.unwrap()
}

/// Acknowledges a turn of the first execution.
pub async fn ack(
    provider: &dyn Provider,
    token: &str,
    events: Vec<Event>,
    work: Vec<WorkItem>,
    metadata: ExecutionMetadata,
) -> Result<(), ProviderError> {
    provider.ack_orchestration_item(token, 1, events, work, vec![], metadata, vec![]).await
}

/// Creates an instance whose first turn schedules these activities.
pub async fn create(provider: &dyn Provider, instance: &str, work: Vec<WorkItem>) {
    provider.enqueue_for_orchestrator(start(instance), None).await.unwrap();
    let (item, token, _) = turn(provider).await.unwrap();
    assert_eq!(item.instance, instance);
    ack(provider, &token, vec![started(instance)], work, named()).await.unwrap();
}
