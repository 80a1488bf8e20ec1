//! Reopening a database, and its lock.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use std::time::Duration;

use crate::common::*;
use duroxide::EventKind;
use duroxide::providers::{ExecutionMetadata, Provider, SessionFetchConfig, TagFilter, WorkItem};
use duroxide_onewriter::{Error, OneWriter, Options};
use tempfile::TempDir;

fn folder() -> (TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("orchestrations.db");
    (folder, path)
}

fn open(path: &Path) -> OneWriter {
    Options::default().open(path).unwrap()
}

fn reopen(provider: OneWriter, path: &Path) -> OneWriter {
    provider.close().unwrap();
    drop(provider);
    open(path)
}

#[tokio::test]
async fn everything_that_was_acknowledged_is_there() {
    let (_folder, path) = folder();
    let provider = open(&path);
    create(&provider, "one", vec![activity("one", 2), activity_of("one", 3, Some("session"), Some("gpu"))]).await;
    provider.enqueue_for_orchestrator(raised("one", "first"), None).await.unwrap();
    let (_, token, _) = turn(&provider).await.unwrap();
    let set = EventKind::KeyValueSet { key: "key".into(), value: "value".into(), last_updated_at_ms: 7 };
    let custom = EventKind::CustomStatusUpdated { status: Some("half way".into()) };
    let metadata = ExecutionMetadata { pinned_duroxide_version: Some("1.2.3".parse().unwrap()), ..named() };
    ack(&provider, &token, vec![event("one", 4, set), event("one", 5, custom)], vec![], metadata).await.unwrap();
    // An ended instance, a waiting message, and a delayed one.
    create(&provider, "two", vec![]).await;
    provider.enqueue_for_orchestrator(raised("two", "end"), None).await.unwrap();
    let (_, token, _) = turn(&provider).await.unwrap();
    let over = event("two", 2, EventKind::OrchestrationCompleted { output: "done".into() });
    ack(&provider, &token, vec![over], vec![], status("Completed", "done")).await.unwrap();
    provider.enqueue_for_orchestrator(raised("one", "second"), None).await.unwrap();
    provider.enqueue_for_orchestrator(raised("one", "later"), Some(Duration::from_secs(3_600))).await.unwrap();
    let before = (provider.read("one").await.unwrap(), provider.read("two").await.unwrap());

    let provider = reopen(provider, &path);
    assert_eq!((provider.read("one").await.unwrap(), provider.read("two").await.unwrap()), before);
    assert_eq!(before.0.len(), 3);
    assert_eq!(provider.get_kv_value("one", "key").await.unwrap().as_deref(), Some("value"));
    assert_eq!(provider.get_custom_status("one", 0).await.unwrap(), Some((Some("half way".into()), 1)));
    let admin = provider.as_management_capability().unwrap();
    assert_eq!(admin.list_instances().await.unwrap(), ["two", "one"]);
    let info = admin.get_instance_info("two").await.unwrap();
    assert_eq!((info.status.as_str(), info.output.as_deref()), ("Completed", Some("done")));
    assert_eq!(admin.get_execution_info("one", 1).await.unwrap().event_count, 3);

    let (item, token, attempts) = turn(&provider).await.unwrap();
    let names: Vec<_> = item.messages.iter().filter_map(name).collect();
    assert_eq!((item.instance.as_str(), item.history.len(), attempts), ("one", 3, 1));
    assert_eq!(names, ["second"], "what is not due is not seen");
    assert!(item.kv_snapshot.is_empty(), "the execution has not ended");
    let (work_item, work_token, _) = work(&provider).await.unwrap();
    assert_eq!(work_item, activity("one", 2));
    assert!(work(&provider).await.is_none(), "the other one is a session's");
    let session = SessionFetchConfig { owner_id: "me".into(), lock_timeout: LOCK };
    let other = provider.fetch_work_item(LOCK, NOW, Some(&session), &TagFilter::tags(["gpu"])).await.unwrap();
    assert_eq!(other.unwrap().0, activity_of("one", 3, Some("session"), Some("gpu")));
    provider.ack_work_item(&work_token, Some(completed("one", 2))).await.unwrap();
    ack(&provider, &token, vec![], vec![], named()).await.unwrap();

    let provider = reopen(provider, &path);
    let (item, ..) = turn(&provider).await.unwrap();
    assert_eq!(item.messages, [completed("one", 2)], "what was dealt with is gone, and what came of it is there");
    assert!(work(&provider).await.is_none());
}

fn name(item: &WorkItem) -> Option<&str> {
    match item {
        WorkItem::ExternalRaised { name, .. } => Some(name),
        _ => None,
    }
}

#[tokio::test]
async fn leases_end_with_the_process_and_its_tokens_are_no_longer_valid() {
    let (_folder, path) = folder();
    let provider = open(&path);
    create(&provider, "one", vec![activity("one", 2)]).await;
    provider.enqueue_for_orchestrator(raised("one", "event"), None).await.unwrap();
    let (_, old_turn, _) = turn(&provider).await.unwrap();
    let (_, old_work, _) = work(&provider).await.unwrap();

    let provider = reopen(provider, &path);
    let (_, new_turn, _) = turn(&provider).await.expect("nobody holds it");
    let (_, new_work, _) = work(&provider).await.expect("nobody holds it");
    assert!(!ack(&provider, &old_turn, vec![], vec![], named()).await.unwrap_err().is_retryable());
    assert!(!provider.ack_work_item(&old_work, None).await.unwrap_err().is_retryable());
    ack(&provider, &new_turn, vec![], vec![], named()).await.unwrap();
    provider.ack_work_item(&new_work, None).await.unwrap();
}

/// An item that kills every process that fetches it must be detectable.
#[tokio::test]
async fn attempts_are_counted_across_processes() {
    let (_folder, path) = folder();
    let mut provider = open(&path);
    create(&provider, "one", vec![activity("one", 2)]).await;
    provider.enqueue_for_orchestrator(raised("one", "event"), None).await.unwrap();
    let mut counts = Vec::new();
    for _ in 0..4 {
        let (_, _, turns) = turn(&provider).await.unwrap();
        let (_, _, works) = work(&provider).await.unwrap();
        counts.push((turns, works));
        // Its leases are lost, as if the process had ended.
        provider = reopen(provider, &path);
    }
    // Only the first attempt of an item created by this process is not in its row.
    assert_eq!(counts, [(1, 1), (1, 1), (2, 2), (3, 3)]);
}

/// Longer than opening a database takes, even on a disk that stalls.
const DELAY: Duration = Duration::from_secs(5);
const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn an_abandoned_turn_keeps_its_delay_and_its_attempts() {
    let (_folder, path) = folder();
    let provider = open(&path);
    provider.enqueue_for_orchestrator(start("one"), None).await.unwrap();
    let (_, token, _) = turn(&provider).await.unwrap();
    provider.abandon_orchestration_item(&token, Some(DELAY), false).await.unwrap();
    provider.enqueue_for_worker(activity("one", 2)).await.unwrap();
    let (_, token, _) = work(&provider).await.unwrap();
    provider.abandon_work_item(&token, Some(DELAY), false).await.unwrap();

    let provider = reopen(provider, &path);
    assert!(turn(&provider).await.is_none(), "it is delayed");
    assert!(work(&provider).await.is_none(), "it is delayed");
    let (_, _, attempts) = provider.fetch_orchestration_item(LOCK, LONG, None).await.unwrap().expect("it is due");
    assert_eq!(attempts, 2);
    let found = provider.fetch_work_item(LOCK, LONG, None, &TagFilter::default()).await.unwrap();
    assert_eq!(found.expect("it is due").2, 2);
}

#[tokio::test]
async fn what_is_deleted_stays_deleted() {
    let (_folder, path) = folder();
    let provider = open(&path);
    create(&provider, "one", vec![activity("one", 2)]).await;
    provider.enqueue_for_orchestrator(raised("one", "event"), None).await.unwrap();
    let admin = provider.as_management_capability().unwrap();
    let deleted = admin.delete_instance("one", true).await.unwrap();
    assert_eq!((deleted.instances_deleted, deleted.events_deleted, deleted.queue_messages_deleted), (1, 1, 2));

    let provider = reopen(provider, &path);
    assert!(provider.read("one").await.unwrap().is_empty());
    assert!(turn(&provider).await.is_none() && work(&provider).await.is_none());
    assert!(provider.as_management_capability().unwrap().list_instances().await.unwrap().is_empty());
    create(&provider, "one", vec![]).await;
    assert_eq!(provider.read("one").await.unwrap().len(), 1);
}

/// SQLite's locks keep another program's last connection from deleting the log; closing any descriptor of the file in
/// this process would drop them.
#[test]
#[cfg(target_os = "linux")]
fn opening_drops_no_lock_of_sqlite() {
    use std::os::unix::fs::MetadataExt;
    let (_folder, path) = folder();
    for _ in ["a new file", "one that exists"] {
        let provider = open(&path);
        let end = format!(":{}", path.metadata().unwrap().ino());
        let locks = || {
            let all = std::fs::read_to_string("/proc/locks").unwrap();
            all.split_whitespace().filter(|word| word.ends_with(&end)).count()
        };
        assert!(locks() > 0);
        assert!(matches!(Options::default().open(&path), Err(Error::Owned { .. })));
        assert!(locks() > 0, "a second provider in this process is refused");
        provider.close().unwrap();
    }
}

#[tokio::test]
async fn one_provider_owns_a_database_at_a_time() {
    let (_folder, path) = folder();
    let provider = open(&path);
    assert!(matches!(Options::default().open(&path), Err(Error::Owned { .. })));
    provider.close().unwrap();
    let next = open(&path);
    let refused = provider.enqueue_for_orchestrator(start("one"), None).await.unwrap_err();
    assert!(!refused.is_retryable(), "one that is closed does nothing any more");
    let admin = provider.as_management_capability().unwrap();
    for (what, refused) in [
        ("history", provider.read("one").await.err()),
        ("status", provider.get_custom_status("one", 0).await.err()),
        ("executions", admin.list_executions("one").await.err()),
        ("latest execution", admin.latest_execution_id("one").await.err()),
        ("instances", admin.list_instances().await.err()),
        ("depths", admin.get_queue_depths().await.err()),
        ("metrics", admin.get_system_metrics().await.err()),
        ("children", admin.list_children("one").await.err()),
    ] {
        assert!(refused.is_some_and(|refused| !refused.is_retryable()), "{what}");
    }
    assert!(turn(&next).await.is_none());
}

#[test]
fn a_database_of_another_program_or_version_is_refused() {
    let (_folder, path) = folder();
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE theirs(a)").unwrap();
    assert!(matches!(Options::default().open(&path), Err(Error::Foreign { .. })));

    let (_folder, path) = folder();
    drop(open(&path));
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA user_version = 99").unwrap();
    drop(connection);
    assert!(matches!(Options::default().open(&path), Err(Error::Version { version: 99, .. })));
}
