//! Eviction of ended instances, and reads of evicted ones.

use std::path::Path;

use crate::common::*;
use duroxide::EventKind;
use duroxide::providers::{ExecutionMetadata, InstanceFilter, Provider, ProviderAdmin, PruneOptions};
use duroxide_onewriter::{Acks, OneWriter, Options};

const INSTANCES: usize = 20;
const MOST: usize = 3;

fn open(path: &Path, acks: Acks) -> OneWriter {
    Options::default().acks(acks).ended(MOST).open(path).unwrap()
}

fn admin(provider: &OneWriter) -> &dyn ProviderAdmin {
    provider.as_management_capability().unwrap()
}

fn over(instance: &str, id: u64) -> duroxide::Event {
    event(instance, id, EventKind::OrchestrationCompleted { output: format!("output of {instance}") })
}

/// Starts and completes an instance in one turn.
async fn complete(provider: &OneWriter, instance: &str, parent: Option<&str>) {
    provider.enqueue_for_orchestrator(start(instance), None).await.unwrap();
    let (item, token, _) = turn(provider).await.unwrap();
    assert_eq!((item.instance.as_str(), item.history.len()), (instance, 0));
    let set = EventKind::KeyValueSet { key: "key".into(), value: instance.into(), last_updated_at_ms: 7 };
    let custom = EventKind::CustomStatusUpdated { status: Some(format!("status of {instance}")) };
    let events = vec![started(instance), event(instance, 2, set), event(instance, 3, custom), over(instance, 4)];
    let parent_instance_id = parent.map(Into::into);
    let metadata = ExecutionMetadata { parent_instance_id, ..status("Completed", &format!("output of {instance}")) };
    ack(provider, &token, events, vec![], metadata).await.unwrap();
}

fn name(number: usize) -> String {
    format!("instance {number:02}")
}

async fn fill(provider: &OneWriter) {
    for number in 0..INSTANCES {
        complete(provider, &name(number), None).await;
    }
}

/// Each kind of read finds every instance.
async fn check(provider: &OneWriter) {
    // Waits for commits in progress, which keep their instances in memory.
    admin(provider).list_instances().await.unwrap();
    for instance in (0..INSTANCES).map(name) {
        assert_eq!(provider.read(&instance).await.unwrap().len(), 4);
        assert_eq!(provider.get_kv_value(&instance, "key").await.unwrap(), Some(instance.clone()));
        let custom = provider.get_custom_status(&instance, 0).await.unwrap();
        assert_eq!(custom, Some((Some(format!("status of {instance}")), 1)));
        assert_eq!(provider.get_instance_stats(&instance).await.unwrap().unwrap().history_event_count, 4);
        let info = admin(provider).get_instance_info(&instance).await.unwrap();
        assert_eq!((info.status.as_str(), info.output), ("Completed", Some(format!("output of {instance}"))));
        assert_eq!(admin(provider).get_execution_info(&instance, 1).await.unwrap().event_count, 4);
        assert_eq!(admin(provider).list_executions(&instance).await.unwrap(), [1]);
        assert!(provider.instances() <= MOST, "{}", provider.instances());
    }
    let latest_first: Vec<String> = (0..INSTANCES).rev().map(name).collect();
    assert_eq!(admin(provider).list_instances().await.unwrap(), latest_first);
    assert_eq!(admin(provider).list_instances_by_status("Completed").await.unwrap(), latest_first);
    assert!(admin(provider).list_instances_by_status("Running").await.unwrap().is_empty());
    let metrics = admin(provider).get_system_metrics().await.unwrap();
    let count = INSTANCES as u64;
    assert_eq!((metrics.total_instances, metrics.completed_instances, metrics.running_instances), (count, count, 0));
    assert_eq!((metrics.total_executions, metrics.total_events), (count, 4 * count));
    assert!(provider.read("no such instance").await.unwrap().is_empty());
    assert!(admin(provider).get_instance_info("no such instance").await.is_err());
}

async fn evicted_and_reopened(acks: Acks) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("orchestrations.db");
    let provider = open(&path, acks);
    fill(&provider).await;
    check(&provider).await;
    create(&provider, "running", vec![]).await;
    provider.close_async().await.unwrap();

    let provider = open(&path, acks);
    assert_eq!(provider.instances(), 1, "ended instances are not read");
    admin(&provider).delete_instance("running", true).await.unwrap();
    check(&provider).await;
}

#[tokio::test]
async fn ended_instances_are_read_from_the_file() {
    evicted_and_reopened(Acks::Awaited).await;
    evicted_and_reopened(Acks::Ordered).await;
}

#[tokio::test]
async fn an_evicted_instance_receives_messages() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("orchestrations.db");
    let provider = open(&path, Acks::Awaited);
    fill(&provider).await;
    // An event, a second start, a message of another instance, and the completion of an activity.
    provider.enqueue_for_orchestrator(raised(&name(0), "event"), None).await.unwrap();
    let (item, token, _) = turn(&provider).await.unwrap();
    assert_eq!((item.instance, item.history.len(), item.messages.len()), (name(0), 4, 1));
    ack(&provider, &token, vec![], vec![], ExecutionMetadata::default()).await.unwrap();
    provider.enqueue_for_orchestrator(start(&name(1)), None).await.unwrap();
    let (item, token, _) = turn(&provider).await.unwrap();
    assert_eq!((item.instance, item.history.len()), (name(1), 4));
    let message = vec![raised(&name(2), "event")];
    let events = vec![event(&name(1), 5, EventKind::CustomStatusUpdated { status: None })];
    provider.ack_orchestration_item(&token, 1, events, vec![], message, named(), vec![]).await.unwrap();
    assert_eq!(provider.read(&name(1)).await.unwrap().len(), 5);
    let (item, token, _) = turn(&provider).await.unwrap();
    assert_eq!((item.instance, item.history.len()), (name(2), 4));
    ack(&provider, &token, vec![], vec![], ExecutionMetadata::default()).await.unwrap();
    provider.enqueue_for_worker(activity(&name(3), 5)).await.unwrap();
    let (_, token, _) = work(&provider).await.unwrap();
    provider.ack_work_item(&token, Some(completed(&name(3), 5))).await.unwrap();
    provider.close_async().await.unwrap();

    // A message in the file brings its instance into memory.
    let provider = open(&path, Acks::Awaited);
    assert_eq!(provider.instances(), 1);
    let (item, ..) = turn(&provider).await.unwrap();
    assert_eq!((item.instance, item.history.len()), (name(3), 4));
}

#[tokio::test]
async fn evicted_instances_are_deleted_and_pruned() {
    let folder = tempfile::tempdir().unwrap();
    let provider = open(&folder.path().join("orchestrations.db"), Acks::Awaited);
    complete(&provider, "parent", None).await;
    complete(&provider, "child", Some("parent")).await;
    fill(&provider).await;
    assert_eq!(admin(&provider).list_children("parent").await.unwrap(), ["child"]);
    assert_eq!(admin(&provider).get_parent_id("child").await.unwrap().as_deref(), Some("parent"));
    let refused = admin(&provider).delete_instances_atomic(&["parent".into()], false).await.unwrap_err();
    assert!(refused.to_string().contains("child"), "{refused}");
    let pruned = admin(&provider).prune_executions("parent", PruneOptions::default()).await.unwrap();
    assert_eq!((pruned.instances_processed, pruned.executions_deleted), (1, 0), "the latest execution stays");
    let deleted = admin(&provider).delete_instance("parent", false).await.unwrap();
    assert_eq!((deleted.instances_deleted, deleted.executions_deleted, deleted.events_deleted), (2, 2, 8));
    let some = InstanceFilter {
        instance_ids: Some(vec![name(0), name(1), "no such instance".into()]),
        completed_before: None,
        limit: None,
    };
    assert_eq!(admin(&provider).delete_instance_bulk(some).await.unwrap().instances_deleted, 2);
    assert_eq!(admin(&provider).list_instances().await.unwrap().len(), INSTANCES - 2);
    assert!(provider.read(&name(0)).await.unwrap().is_empty());
    complete(&provider, &name(0), None).await;
    assert_eq!(provider.read(&name(0)).await.unwrap().len(), 4);
}

#[tokio::test]
async fn without_storage_nothing_is_evicted() {
    let provider = Options::default().ended(0).volatile().unwrap();
    fill(&provider).await;
    assert_eq!(provider.instances(), INSTANCES);
    assert_eq!(admin(&provider).list_instances().await.unwrap().len(), INSTANCES);
}

#[tokio::test]
async fn a_file_of_version_1_is_upgraded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("orchestrations.db");
    let provider = open(&path, Acks::Awaited);
    fill(&provider).await;
    create(&provider, "running", vec![]).await;
    provider.close_async().await.unwrap();
    let file = rusqlite::Connection::open(&path).unwrap();
    file.execute_batch("DROP INDEX running; DROP INDEX child; PRAGMA user_version = 1").unwrap();

    let provider = open(&path, Acks::Awaited);
    assert_eq!(provider.instances(), 1);
    provider.close_async().await.unwrap();
    let version = file.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)).unwrap();
    let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND name IN ('running', 'child')";
    assert_eq!((version, file.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap()), (2, 2));
}
