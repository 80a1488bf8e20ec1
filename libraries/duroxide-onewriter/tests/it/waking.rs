//! Waiting callers are notified immediately, once, and only of items that they can take.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::*;
use duroxide::providers::{DispatcherCapabilityFilter, Provider, SemverRange, SessionFetchConfig, TagFilter, WorkItem};
use duroxide_onewriter::{OneWriter, Options};
use tokio::task::JoinHandle;

const LONG: Duration = Duration::from_secs(20);
/// Callers do not look again before [`LONG`]. Half of it proves a notification, and is enough for a busy machine.
const SOON: Duration = Duration::from_secs(10);

fn provider() -> Arc<OneWriter> {
    Arc::new(Options::default().volatile().unwrap())
}

type Waiting<T> = JoinHandle<(Option<T>, Duration)>;

/// Starts a waiting dispatcher.
async fn for_turns(provider: &Arc<OneWriter>) -> Waiting<String> {
    let provider = Arc::clone(provider);
    let waiting = tokio::spawn(async move {
        let begin = Instant::now();
        let found = provider.fetch_orchestration_item(LOCK, LONG, None).await.unwrap();
        (found.map(|(item, ..)| item.instance), begin.elapsed())
    });
    tokio::task::yield_now().await;
    waiting
}

/// Starts a waiting worker.
async fn for_work(provider: &Arc<OneWriter>, tags: TagFilter, owner: Option<&str>) -> Waiting<WorkItem> {
    let provider = Arc::clone(provider);
    let session =
        owner.map(|owner| SessionFetchConfig { owner_id: owner.into(), lock_timeout: Duration::from_secs(3) });
    let waiting = tokio::spawn(async move {
        let begin = Instant::now();
        let found = provider.fetch_work_item(LOCK, LONG, session.as_ref(), &tags).await.unwrap();
        (found.map(|(item, ..)| item), begin.elapsed())
    });
    tokio::task::yield_now().await;
    waiting
}

async fn soon<T>(waiting: Waiting<T>) -> T {
    let (found, _) = tokio::time::timeout(SOON, waiting).await.expect("it has been notified").unwrap();
    found.expect("there is something for it")
}

#[tokio::test]
async fn a_dispatcher_is_notified_of_a_message() {
    let provider = provider();
    let waiting = for_turns(&provider).await;
    provider.enqueue_for_orchestrator(start("one"), None).await.unwrap();
    assert_eq!(soon(waiting).await, "one");
}

#[tokio::test]
async fn as_many_are_notified_as_there_is_work_for() {
    let provider = provider();
    let mut waiting = Vec::new();
    for _ in 0..3 {
        waiting.push(for_work(&provider, TagFilter::DefaultOnly, None).await);
    }
    for id in 0..2 {
        provider.enqueue_for_worker(activity("one", id)).await.unwrap();
    }
    let finished = || waiting.iter().filter(|waiting| waiting.is_finished()).count();
    let two = async {
        while finished() < 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(SOON, two).await.expect("two have been notified");
    // And no third, because there is no third item.
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(finished(), 2);
    provider.enqueue_for_worker(activity("one", 2)).await.unwrap();
    for waiting in waiting {
        soon(waiting).await;
    }
}

#[tokio::test]
async fn a_message_that_is_delayed_wakes_when_it_is_due_and_not_before() {
    let provider = provider();
    let waiting = for_turns(&provider).await;
    provider.enqueue_for_orchestrator(start("one"), Some(Duration::from_millis(200))).await.unwrap();
    let (found, after) = tokio::time::timeout(SOON, waiting).await.expect("it has been notified").unwrap();
    assert_eq!(found.as_deref(), Some("one"));
    assert!(after >= Duration::from_millis(190), "{after:?}");
}

#[tokio::test]
async fn a_lease_that_ends_wakes_the_next() {
    let provider = provider();
    provider.enqueue_for_orchestrator(start("one"), None).await.unwrap();
    provider.enqueue_for_worker(activity("one", 1)).await.unwrap();
    let short = Duration::from_millis(200);
    provider.fetch_orchestration_item(short, NOW, None).await.unwrap().unwrap();
    provider.fetch_work_item(short, NOW, None, &TagFilter::DefaultOnly).await.unwrap().unwrap();
    let (turns, work) = (for_turns(&provider).await, for_work(&provider, TagFilter::DefaultOnly, None).await);
    assert_eq!(soon(turns).await, "one");
    assert_eq!(soon(work).await, activity("one", 1));
}

#[tokio::test]
async fn only_who_takes_it_is_notified() {
    let provider = provider();
    let gpu = for_work(&provider, TagFilter::tags(["gpu"]), None).await;
    let plain = for_work(&provider, TagFilter::DefaultOnly, None).await;
    provider.enqueue_for_worker(activity("one", 1)).await.unwrap();
    assert_eq!(soon(plain).await, activity("one", 1));
    assert!(!gpu.is_finished());
    provider.enqueue_for_worker(activity_of("one", 2, None, Some("gpu"))).await.unwrap();
    assert_eq!(soon(gpu).await, activity_of("one", 2, None, Some("gpu")));
}

#[tokio::test]
async fn a_session_that_ends_wakes_another_owner() {
    let provider = provider();
    provider.enqueue_for_worker(activity_of("one", 1, Some("session"), None)).await.unwrap();
    soon(for_work(&provider, TagFilter::DefaultOnly, Some("first")).await).await;
    provider.enqueue_for_worker(activity_of("one", 2, Some("session"), None)).await.unwrap();
    let second = for_work(&provider, TagFilter::DefaultOnly, Some("second")).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!second.is_finished(), "the session is the first one's");
    assert_eq!(soon(second).await, activity_of("one", 2, Some("session"), None));
}

#[tokio::test]
async fn one_that_is_notified_and_goes_away_hands_it_on() {
    let provider = provider();
    let (gone, stays) = (for_turns(&provider).await, for_turns(&provider).await);
    // The runtime has one thread, so nothing runs between the notification and the end of the first waiter.
    let noticed = provider.enqueue_for_orchestrator(start("one"), None);
    gone.abort();
    noticed.await.unwrap();
    assert_eq!(soon(stays).await, "one");

    let (gone, stays) = (for_turns(&provider).await, for_turns(&provider).await);
    provider.enqueue_for_orchestrator(start("two"), None).await.unwrap();
    gone.abort();
    assert_eq!(soon(stays).await, "two");
}

#[tokio::test]
async fn messages_for_a_name_that_nothing_has_started_do_not_stand_in_the_way() {
    let provider = provider();
    provider.enqueue_for_orchestrator(raised("not yet", "event"), None).await.unwrap();
    provider.enqueue_for_orchestrator(start("one"), None).await.unwrap();
    assert_eq!(turn(&*provider).await.unwrap().0.instance, "one");
    assert!(turn(&*provider).await.is_none());
    let waiting = for_turns(&provider).await;
    provider.enqueue_for_orchestrator(start("not yet"), None).await.unwrap();
    assert_eq!(soon(waiting).await, "not yet");
}

#[tokio::test]
async fn a_dispatcher_of_another_version_is_not_notified() {
    let provider = provider();
    provider.enqueue_for_orchestrator(start("one"), None).await.unwrap();
    let (_, token, _) = turn(&*provider).await.unwrap();
    let pinned = Some("2.0.0".parse().unwrap());
    let metadata = duroxide::providers::ExecutionMetadata { pinned_duroxide_version: pinned, ..named() };
    ack(&*provider, &token, vec![started("one")], vec![], metadata).await.unwrap();

    let range = SemverRange::new("1.0.0".parse().unwrap(), "1.9.9".parse().unwrap());
    let filter = DispatcherCapabilityFilter { supported_duroxide_versions: vec![range] };
    let other = Arc::clone(&provider);
    let other = tokio::spawn(async move { other.fetch_orchestration_item(LOCK, LONG, Some(&filter)).await });
    tokio::task::yield_now().await;
    let fitting = for_turns(&provider).await;
    provider.enqueue_for_orchestrator(raised("one", "event"), None).await.unwrap();
    assert_eq!(soon(fitting).await, "one");
    assert!(!other.is_finished());
    other.abort();
}
