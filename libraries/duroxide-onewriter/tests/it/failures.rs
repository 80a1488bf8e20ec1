//! Failing disks, and callers that are dropped.

#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../killed/check.rs"]
#[expect(dead_code, reason = "nobody is told anything here that has to be there")]
mod check;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::common::*;
use crate::disk::Disk;
use crate::through::Through;
use check::{Kept, Told};
use duroxide::providers::{Provider, ProviderAdmin, TagFilter, WorkItem};
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{Runtime, RuntimeOptions};
use duroxide::{ActivityContext, Client, EventKind, OrchestrationContext, OrchestrationRegistry, OrchestrationStatus};
use duroxide_onewriter::{Acks, OneWriter, Options};
use tempfile::TempDir;
use tokio::time::timeout;

/// Timeout of calls that must not hang.
const LIMIT: Duration = Duration::from_secs(60);

fn open() -> (Arc<OneWriter>, Arc<Through<Disk>>, TempDir) {
    open_with(&Options::default())
}

fn open_with(options: &Options) -> (Arc<OneWriter>, Arc<Through<Disk>>, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let disk = Through::open(folder.path().join("orchestrations.db"), &Options::default(), Disk::new());
    let disk = Arc::new(disk);
    (Arc::new(options.open_on(disk.clone()).unwrap()), disk, folder)
}

#[tokio::test]
async fn what_the_disk_refuses_has_not_happened() {
    let (provider, disk, _folder) = open();
    create(&*provider, "one", vec![activity("one", 2)]).await;
    provider.enqueue_for_orchestrator(raised("one", "event"), None).await.unwrap();
    let (_, turn_token, _) = turn(&*provider).await.unwrap();
    let (_, work_token, _) = work(&*provider).await.unwrap();

    disk.full(true);
    assert!(provider.enqueue_for_orchestrator(start("two"), None).await.unwrap_err().is_retryable());
    assert!(provider.enqueue_for_worker(activity("one", 9)).await.unwrap_err().is_retryable());
    let events = || vec![event("one", 2, duroxide::EventKind::KeyValuesCleared)];
    let refused = ack(&*provider, &turn_token, events(), vec![activity("one", 3)], status("Completed", "")).await;
    assert!(refused.unwrap_err().is_retryable());
    assert!(provider.ack_work_item(&work_token, Some(completed("one", 2))).await.unwrap_err().is_retryable());
    assert!(provider.abandon_orchestration_item(&turn_token, Some(LOCK), false).await.unwrap_err().is_retryable());
    let admin = provider.as_management_capability().unwrap();
    assert!(admin.delete_instance("one", true).await.unwrap_err().is_retryable());

    // A deletion revokes the lease first; after its failure the instance is available again.
    assert!(ack(&*provider, &turn_token, vec![], vec![], named()).await.is_err());
    disk.full(false);
    assert_eq!(provider.read("one").await.unwrap().len(), 1);
    assert_eq!(admin.get_instance_info("one").await.unwrap().status, "Running");
    let (item, turn_token, _) = turn(&*provider).await.expect("it is there again");
    assert_eq!((item.instance.as_str(), item.messages), ("one", vec![raised("one", "event")]));
    assert!(turn(&*provider).await.is_none(), "nothing else has come in");
    let (again, work_token, _) = work(&*provider).await.expect("it is there again");
    assert_eq!(again, activity("one", 2));
    assert!(work(&*provider).await.is_none(), "nothing else has come in");

    // The same calls succeed now.
    ack(&*provider, &turn_token, events(), vec![], named()).await.unwrap();
    provider.ack_work_item(&work_token, Some(completed("one", 2))).await.unwrap();
    assert_eq!(turn(&*provider).await.unwrap().0.messages, [completed("one", 2)]);
}

#[tokio::test]
async fn a_refused_acknowledgement_leaves_the_lease_as_it_was() {
    let (provider, disk, _folder) = open();
    create(&*provider, "one", vec![activity("one", 2)]).await;
    provider.enqueue_for_orchestrator(raised("one", "event"), None).await.unwrap();
    let (_, turn_token, _) = turn(&*provider).await.unwrap();
    let (_, work_token, _) = work(&*provider).await.unwrap();
    disk.full(true);
    ack(&*provider, &turn_token, vec![], vec![], named()).await.unwrap_err();
    provider.ack_work_item(&work_token, None).await.unwrap_err();
    disk.full(false);
    assert!(turn(&*provider).await.is_none() && work(&*provider).await.is_none(), "they are held");
    ack(&*provider, &turn_token, vec![], vec![], named()).await.unwrap();
    provider.ack_work_item(&work_token, None).await.unwrap();
}

/// Dispatchers drop their calls at shutdown.
#[tokio::test]
async fn a_caller_that_goes_away_leaves_memory_and_disk_agreeing() {
    let (provider, disk, _folder) = open();
    create(&*provider, "one", vec![]).await;
    provider.enqueue_for_orchestrator(raised("one", "event"), None).await.unwrap();
    let (_, token, _) = turn(&*provider).await.unwrap();
    disk.waits.store(true, Ordering::SeqCst);
    let gone = ack(&*provider, &token, vec![], vec![activity("one", 2)], named());
    assert!(timeout(Duration::from_millis(20), gone).await.is_err(), "it waits for the disk");
    assert!(work(&*provider).await.is_none(), "nobody sees what is not on the disk");
    disk.waits.store(false, Ordering::SeqCst);
    disk.may_commit.add_permits(1);
    let tags = TagFilter::default();
    let waits = provider.fetch_work_item(LOCK, LOCK, None, &tags);
    let found = timeout(LIMIT, waits).await.expect("the call was finished").unwrap();
    assert_eq!(found.unwrap().0, activity("one", 2));
    assert!(!ack(&*provider, &token, vec![], vec![], named()).await.unwrap_err().is_retryable());
}

#[test]
fn a_runtime_that_ends_in_the_middle_of_a_commit_ends_the_provider() {
    let (provider, disk, _folder) = open();
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let first = runtime();
    disk.waits.store(true, Ordering::SeqCst);
    let enqueuing = Arc::clone(&provider);
    first.spawn(async move { enqueuing.enqueue_for_orchestrator(start("one"), None).await });
    first.block_on(tokio::task::yield_now());
    drop(first);
    disk.waits.store(false, Ordering::SeqCst);
    let refused = runtime().block_on(provider.enqueue_for_orchestrator(start("two"), None)).unwrap_err();
    assert!(!refused.is_retryable() && refused.message.contains("open the provider anew"), "{refused}");
}

#[tokio::test]
async fn a_deletion_waits_for_what_is_being_committed() {
    let (provider, disk, _folder) = open();
    create(&*provider, "one", vec![]).await;
    provider.enqueue_for_orchestrator(raised("one", "event"), None).await.unwrap();
    let (_, token, _) = turn(&*provider).await.unwrap();
    disk.waits.store(true, Ordering::SeqCst);
    let acking = Arc::clone(&provider);
    let acked = tokio::spawn(async move { ack(&*acking, &token, vec![], vec![activity("one", 2)], named()).await });
    tokio::task::yield_now().await;
    let deleting = Arc::clone(&provider);
    let deleted =
        tokio::spawn(async move { deleting.as_management_capability().unwrap().delete_instance("one", true).await });
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(!deleted.is_finished());
    disk.may_commit.add_permits(2);
    acked.await.unwrap().unwrap();
    let deleted = timeout(LIMIT, deleted).await.expect("it goes on").unwrap().unwrap();
    assert_eq!(deleted.queue_messages_deleted, 1, "what the turn scheduled goes with it");
    assert!(work(&*provider).await.is_none());
}

/// A fetch that accesses the disk holds a lease and may still release it.
#[tokio::test]
async fn a_fetch_that_goes_away_leaves_nothing_behind() {
    let (provider, disk, _folder) = open();
    provider.enqueue_for_orchestrator(start("one"), None).await.unwrap();
    provider.enqueue_for_worker(activity("one", 1)).await.unwrap();
    let (_, turn_token, _) = turn(&*provider).await.unwrap();
    let (_, work_token, _) = work(&*provider).await.unwrap();
    provider.abandon_orchestration_item(&turn_token, None, false).await.unwrap();
    provider.abandon_work_item(&work_token, None, false).await.unwrap();

    // Both second attempts must be written, and the disk does not answer.
    disk.waits.store(true, Ordering::SeqCst);
    let (first, second) = (Arc::clone(&provider), Arc::clone(&provider));
    let first = tokio::spawn(async move { (turn(&*first).await, first) });
    let second = tokio::spawn(async move { (work(&*second).await, second) });
    tokio::task::yield_now().await;
    let (third, fourth) = (Arc::clone(&provider), Arc::clone(&provider));
    let third = tokio::spawn(async move { turn(&*third).await.map(|(item, _, attempts)| (item.instance, attempts)) });
    let fourth = tokio::spawn(async move { work(&*fourth).await.map(|(item, _, attempts)| (item, attempts)) });
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(!third.is_finished() && !fourth.is_finished(), "whether there is something for them is not decided");
    first.abort();
    second.abort();
    disk.waits.store(false, Ordering::SeqCst);
    disk.may_commit.add_permits(2);
    let found = timeout(LIMIT, third).await.expect("it is decided").unwrap();
    assert_eq!(found, Some(("one".into(), 2)), "what nobody received was no attempt");
    let found = timeout(LIMIT, fourth).await.expect("it is decided").unwrap();
    assert_eq!(found, Some((activity("one", 1), 2)));
}

#[tokio::test]
async fn an_event_waits_for_a_start_that_is_hidden() {
    let (provider, _disk, _folder) = open();
    provider.enqueue_for_orchestrator(start("one"), None).await.unwrap();
    let (_, token, _) = turn(&*provider).await.unwrap();
    provider.abandon_orchestration_item(&token, Some(Duration::from_secs(2)), true).await.unwrap();
    let event = WorkItem::QueueMessage { instance: "one".into(), name: "go".into(), data: "1".into() };
    provider.enqueue_for_orchestrator(event, None).await.unwrap();
    assert!(turn(&*provider).await.is_none(), "the start is hidden");
    let both = async {
        loop {
            if let Some((item, ..)) = turn(&*provider).await {
                return item.messages.len();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    assert_eq!(timeout(LIMIT, both).await.expect("the start shows again"), 2, "the start and its event");
}

#[tokio::test]
async fn who_does_not_wait_for_the_disk_shows_nothing_before_it_is_there_and_does_again_what_it_refuses() {
    let (provider, disk, _folder) = open_with(&Options::default().acks(Acks::Ordered));
    provider.enqueue_for_orchestrator(start("one"), None).await.unwrap();
    let (_, token, _) = turn(&*provider).await.unwrap();
    disk.waits.store(true, Ordering::SeqCst);
    ack(&*provider, &token, vec![started("one")], vec![activity("one", 2)], named()).await.unwrap();
    let (reading, fetching, listing) = (Arc::clone(&provider), Arc::clone(&provider), Arc::clone(&provider));
    let read = tokio::spawn(async move { reading.read("one").await.unwrap() });
    let fetched = tokio::spawn(async move { work(&*fetching).await });
    let listed = tokio::spawn(async move { listing.list_instances().await.unwrap() });
    assert!(provider.read("another").await.unwrap().is_empty(), "of which nobody was told anything");
    assert!(ack(&*provider, &token, vec![], vec![], named()).await.is_err(), "once is enough");
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(!read.is_finished() && !fetched.is_finished() && !listed.is_finished(), "it is not decided");

    // The commit fails: the turn is available again, and the waiting reads return the previous state.
    disk.full(true);
    disk.may_commit.add_permits(1);
    disk.waits.store(false, Ordering::SeqCst);
    assert!(timeout(LIMIT, read).await.expect("it is decided").unwrap().is_empty());
    assert!(timeout(LIMIT, fetched).await.expect("it is decided").unwrap().is_none());
    assert!(timeout(LIMIT, listed).await.expect("it is decided").unwrap().is_empty());
    let again = timeout(LIMIT, async {
        loop {
            // The second attempt must be written, which fails while the disk is full.
            match provider.fetch_orchestration_item(LOCK, LIMIT, None).await {
                Ok(found) => return found.expect("it is there"),
                Err(error) => assert!(error.is_retryable()),
            }
            disk.full(false);
        }
    });
    let (item, token, _) = again.await.expect("it is there again");
    assert_eq!((item.instance.as_str(), item.history.len()), ("one", 0));
    // Reads after an acknowledgement include it, and wait for nothing else.
    ack(&*provider, &token, vec![started("one")], vec![activity("one", 2)], named()).await.unwrap();
    assert_eq!(timeout(LIMIT, provider.read("one")).await.expect("it is kept").unwrap().len(), 1);
    let (_, token, _) = timeout(LIMIT, work(&*provider)).await.expect("it is decided").expect("it is there");
    provider.ack_work_item(&token, Some(completed("one", 2))).await.unwrap();
    let found = timeout(LIMIT, turn(&*provider)).await.expect("it is decided");
    assert_eq!(found.expect("it is there").0.messages, [completed("one", 2)]);
}

/// Fails the first of the waiting commits, and accepts the others.
async fn refuse_the_first(disk: &Disk) {
    let before = disk.refused.load(Ordering::SeqCst);
    disk.full(true);
    disk.may_commit.add_permits(1);
    let refused = async {
        while disk.refused.load(Ordering::SeqCst) == before {
            tokio::task::yield_now().await;
        }
    };
    timeout(LIMIT, refused).await.expect("it is decided");
    disk.full(false);
    disk.waits.store(false, Ordering::SeqCst);
    disk.may_commit.add_permits(1);
}

#[tokio::test]
async fn a_turn_may_have_a_message_before_the_disk_and_comes_to_nothing_without_it() {
    let (provider, disk, _folder) = open_with(&Options::default().acks(Acks::Ordered));
    for is_in_line in [true, false] {
        disk.waits.store(true, Ordering::SeqCst);
        let starting = Arc::clone(&provider);
        let starting = tokio::spawn(async move { starting.enqueue_for_orchestrator(start("one"), None).await });
        let found = timeout(LIMIT, provider.fetch_orchestration_item(LOCK, LIMIT, None)).await.expect("it is shown");
        let (item, token, _) = found.unwrap().unwrap();
        assert_eq!((item.instance.as_str(), item.messages), ("one", vec![start("one")]));
        assert!(!starting.is_finished(), "its client waits for the disk");
        let acked = || ack(&*provider, &token, vec![started("one")], vec![activity("one", 2)], named());
        if is_in_line {
            acked().await.unwrap();
        }
        refuse_the_first(&disk).await;
        assert!(timeout(LIMIT, starting).await.expect("it is decided").unwrap().unwrap_err().is_retryable());
        // The disk would accept the acknowledgement of the turn, but the commit of its message has failed.
        if !is_in_line {
            assert!(acked().await.unwrap_err().is_retryable());
            provider.abandon_orchestration_item(&token, None, false).await.unwrap();
        }
        assert!(timeout(LIMIT, provider.read("one")).await.expect("it is decided").unwrap().is_empty());
        assert!(timeout(LIMIT, work(&*provider)).await.expect("it is decided").is_none());
        assert!(timeout(LIMIT, turn(&*provider)).await.expect("it is decided").is_none());
    }

    // The same with a commit that succeeds.
    disk.waits.store(true, Ordering::SeqCst);
    let starting = Arc::clone(&provider);
    let starting = tokio::spawn(async move { starting.enqueue_for_orchestrator(start("one"), None).await });
    let found = timeout(LIMIT, provider.fetch_orchestration_item(LOCK, LIMIT, None)).await.expect("it is shown");
    let (_, token, attempts) = found.unwrap().unwrap();
    assert_eq!(attempts, 1, "of the refused ones nothing is left");
    ack(&*provider, &token, vec![started("one")], vec![activity("one", 2)], named()).await.unwrap();
    disk.waits.store(false, Ordering::SeqCst);
    disk.may_commit.add_permits(2);
    timeout(LIMIT, starting).await.expect("it is decided").unwrap().unwrap();
    assert_eq!(timeout(LIMIT, provider.read("one")).await.expect("it is kept").unwrap().len(), 1);
    assert!(timeout(LIMIT, work(&*provider)).await.expect("it is kept").is_some());
    assert!(turn(&*provider).await.is_none(), "it was there once");
}

/// Number of changes that may be queued without a waiting caller; equal to the constant in `provider/shared.rs`.
const LINE: usize = 256;

#[tokio::test]
async fn a_dispatcher_that_goes_away_before_it_has_a_place_in_line_has_said_nothing() {
    let (provider, disk, _folder) = open_with(&Options::default().acks(Acks::Ordered));
    let mut tokens = Vec::new();
    for number in 0..=LINE {
        provider.enqueue_for_orchestrator(start(&number.to_string()), None).await.unwrap();
        let (item, token, _) = turn(&*provider).await.unwrap();
        assert_eq!(item.instance, number.to_string());
        tokens.push(token);
    }
    disk.waits.store(true, Ordering::SeqCst);
    let last = LINE.to_string();
    let acked = async |number: usize| {
        ack(&*provider, &tokens[number], vec![started(&number.to_string())], vec![], named()).await
    };
    for number in 0..LINE {
        acked(number).await.unwrap();
    }
    assert!(timeout(Duration::from_millis(20), acked(LINE)).await.is_err(), "there is no place for it");
    assert!(timeout(LIMIT, provider.read(&last)).await.expect("nothing of it is under way").unwrap().is_empty());
    disk.waits.store(false, Ordering::SeqCst);
    disk.may_commit.add_permits(LINE);
    timeout(LIMIT, acked(LINE)).await.expect("there is a place").unwrap();
    assert_eq!(timeout(LIMIT, provider.read(&last)).await.expect("it is kept").unwrap().len(), 1);
}

#[tokio::test]
async fn what_the_last_activity_comes_to_is_shown_at_once_with_all_others_of_its_instance() {
    let (provider, disk, _folder) = open_with(&Options::default().acks(Acks::Ordered));
    create(&*provider, "one", vec![activity("one", 2), activity("one", 3)]).await;
    let (first, token, _) = timeout(LIMIT, work(&*provider)).await.expect("it is decided").unwrap();
    let (second, last, _) = work(&*provider).await.unwrap();
    assert_eq!((first, second), (activity("one", 2), activity("one", 3)));
    disk.waits.store(true, Ordering::SeqCst);
    provider.ack_work_item(&token, Some(completed("one", 2))).await.unwrap();
    let fetching = Arc::clone(&provider);
    let fetching = tokio::spawn(async move { fetching.fetch_orchestration_item(LOCK, LIMIT, None).await });
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(!fetching.is_finished(), "the other one is not done, and the disk has not got the first");
    provider.ack_work_item(&last, Some(completed("one", 3))).await.unwrap();
    let found = timeout(LIMIT, fetching).await.expect("it is shown").unwrap();
    let (item, token, _) = found.unwrap().unwrap();
    assert_eq!(item.messages, [completed("one", 2), completed("one", 3)]);
    ack(&*provider, &token, vec![event("one", 2, EventKind::KeyValuesCleared)], vec![], named()).await.unwrap();

    // The commit of the first completion fails, and with it that of the turn; the second remains, and the first
    // activity runs again.
    refuse_the_first(&disk).await;
    assert_eq!(timeout(LIMIT, provider.read("one")).await.expect("it is decided").unwrap().len(), 1);
    let found = timeout(LIMIT, provider.fetch_orchestration_item(LOCK, LIMIT, None)).await.expect("it is shown");
    assert_eq!(found.unwrap().unwrap().0.messages, [completed("one", 3)]);
    assert_eq!(timeout(LIMIT, work(&*provider)).await.expect("it is decided").unwrap().0, activity("one", 2));
    assert!(work(&*provider).await.is_none());
}

/// One of this many commits fails.
const ONE_OF: usize = 9;

async fn fan(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    let all = ["a", "b", "c", "d"].map(|name| ctx.schedule_activity("Echo", name)).into();
    let all: Vec<String> = ctx.join(all).await.into_iter().collect::<Result<_, _>>()?;
    let last = ctx.schedule_activity("Echo", "e").await?;
    Ok(format!("{},{last}", all.join("+")))
}

/// Runs orchestrations on a disk with occasional failures: each completes, and failed commits leave nothing behind.
async fn all_end_on_a_disk_that_refuses(acks: Acks) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("orchestrations.db");
    let options = Options::default().acks(acks);
    let store = Arc::new(Through::open(&path, &options, Disk::refusing(ONE_OF)));
    let provider = Arc::new(options.open_on(store.clone()).unwrap());
    let activities =
        ActivityRegistry::builder().register("Echo", |_: ActivityContext, input: String| async move { Ok(input) });
    let orchestrations = OrchestrationRegistry::builder().register("Fan", fan).build();
    // Each failed commit logs a warning.
    let _set_already = tracing::subscriber::set_global_default(tracing::subscriber::NoSubscriber::new());
    let options = RuntimeOptions {
        orchestration_concurrency: 8,
        worker_concurrency: 8,
        // If the abandonment fails too, the lease expires after this time.
        orchestrator_lock_timeout: Duration::from_secs(1),
        worker_lock_timeout: Duration::from_secs(1),
        ..RuntimeOptions::default()
    };
    let runtime = Runtime::start_with_options(provider.clone(), activities.build(), orchestrations, options).await;
    let run = |number: usize| {
        let client = Client::new(provider.clone());
        async move {
            let instance = format!("instance {number}");
            while client.start_orchestration(&instance, "Fan", "").await.is_err() {}
            client.wait_for_orchestration(&instance, LIMIT).await.unwrap()
        }
    };
    let mut running: tokio::task::JoinSet<_> = (0..40).map(run).collect();
    while let Some(ended) = running.join_next().await {
        let status = ended.unwrap();
        assert!(
            matches!(&status, OrchestrationStatus::Completed { output, .. } if output == "a+b+c+d,e"),
            "{status:?}"
        );
    }
    runtime.shutdown(None).await;
    provider.close().unwrap();
    assert!(store.refused.load(Ordering::SeqCst) > 20, "hardly anything was refused");
    let kept = Kept::read(&path);
    assert_eq!((kept.instances().len(), kept.left()), (40, (0, 0)));
    assert_eq!(kept.compare(&Told::default()), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_end_though_the_disk_refuses_now_and_then() {
    all_end_on_a_disk_that_refuses(Acks::Awaited).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_end_though_the_disk_refuses_what_was_shown_already() {
    all_end_on_a_disk_that_refuses(Acks::Ordered).await;
}
