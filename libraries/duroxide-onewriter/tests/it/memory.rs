//! The cache limit for histories, and reads of evicted histories.

#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common::*;
use duroxide::EventKind;
use duroxide::providers::Provider;
use duroxide_onewriter::Options;

const INSTANCES: usize = 50;
const EACH: usize = 10_000;
const BUDGET: usize = 100_000;

async fn fill(provider: &dyn Provider) {
    for number in 0..INSTANCES {
        let name = format!("instance {number}");
        provider.enqueue_for_orchestrator(start(&name), None).await.unwrap();
        let (_, token, _) = turn(provider).await.unwrap();
        let long = EventKind::ExternalEvent { name: "event".into(), data: number.to_string().repeat(EACH) };
        ack(provider, &token, vec![started(&name), event(&name, 2, long)], vec![], named()).await.unwrap();
    }
}

async fn check(provider: &dyn Provider) {
    for number in 0..INSTANCES {
        let history = provider.read(&format!("instance {number}")).await.unwrap();
        assert_eq!(history.len(), 2);
        let EventKind::ExternalEvent { data, .. } = &history[1].kind else { panic!("{:?}", history[1]) };
        assert_eq!(*data, number.to_string().repeat(EACH));
    }
}

#[tokio::test]
async fn what_does_not_fit_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let provider = Options::default().cache(BUDGET).open(folder.path().join("orchestrations.db")).unwrap();
    fill(&provider).await;
    assert!(provider.cached() <= BUDGET, "{}", provider.cached());
    check(&provider).await;
    assert!(provider.cached() <= BUDGET, "{}", provider.cached());
    assert!(provider.cached() > BUDGET / 2, "something stays: {}", provider.cached());
    provider.drop_cache();
    assert_eq!(provider.cached(), 0);
    check(&provider).await;
}

#[tokio::test]
async fn what_somebody_has_in_hand_stays() {
    let folder = tempfile::tempdir().unwrap();
    let provider = Options::default().open(folder.path().join("orchestrations.db")).unwrap();
    create(&provider, "one", vec![]).await;
    provider.enqueue_for_orchestrator(raised("one", "event"), None).await.unwrap();
    let (_, token, _) = turn(&provider).await.unwrap();
    provider.drop_cache();
    assert!(provider.cached() > 0);
    ack(&provider, &token, vec![], vec![], named()).await.unwrap();
    provider.drop_cache();
    assert_eq!(provider.cached(), 0);
}

#[tokio::test]
async fn without_storage_memory_keeps_everything() {
    let provider = Options::default().cache(BUDGET).volatile().unwrap();
    fill(&provider).await;
    provider.drop_cache();
    assert!(provider.cached() > 0);
    check(&provider).await;
}
