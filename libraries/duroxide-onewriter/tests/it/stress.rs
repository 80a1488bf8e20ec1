//! A short run of duroxide's own stress tests: checks that all calls succeed, not their speed.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::through::{Commits, Through};
use async_trait::async_trait;
use duroxide::provider_stress_tests::large_payload::{LargePayloadConfig, run_large_payload_test_with_config};
use duroxide::provider_stress_tests::parallel_orchestrations::{
    ProviderStressFactory, run_parallel_orchestrations_test_with_config,
};
use duroxide::provider_stress_tests::{StressTestConfig, StressTestResult};
use duroxide::providers::Provider;
use duroxide_onewriter::{Acks, Change, Durable, Options, Store, StoreError};
use tempfile::TempDir;

/// Counts failed commits.
struct Watched {
    refused: Arc<AtomicUsize>,
}

#[async_trait]
impl Commits for Watched {
    async fn commit(&self, below: &Arc<Durable>, change: Change) -> Result<(), StoreError> {
        let result = below.commit(change).await;
        self.refused.fetch_add(usize::from(result.is_err()), Ordering::SeqCst);
        result
    }
}

/// Creates providers on disk or in memory.
struct Factory {
    folder: Option<Mutex<Option<TempDir>>>,
    options: Options,
    refused: Arc<AtomicUsize>,
}

impl Factory {
    fn durable(options: Options) -> Self {
        Self { folder: Some(Mutex::default()), options, refused: Arc::default() }
    }

    fn volatile() -> Self {
        Self { folder: None, options: Options::default(), refused: Arc::default() }
    }
}

#[async_trait]
impl ProviderStressFactory for Factory {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        let Some(kept) = &self.folder else { return Arc::new(self.options.volatile().unwrap()) };
        let folder = tempfile::tempdir().unwrap();
        let watched = Watched { refused: Arc::clone(&self.refused) };
        let store = Through::open(folder.path().join("orchestrations.db"), &self.options, watched);
        let provider = self.options.open_on(Arc::new(store)).unwrap();
        *kept.lock().unwrap() = Some(folder);
        Arc::new(provider)
    }
}

fn config(dispatchers: usize, activity_delay_ms: u64) -> StressTestConfig {
    StressTestConfig {
        max_concurrent: 20,
        duration_secs: 2,
        tasks_per_instance: 5,
        activity_delay_ms,
        orch_concurrency: dispatchers,
        worker_concurrency: dispatchers,
        wait_timeout_secs: 60,
    }
}

fn check(result: &StressTestResult) {
    println!(
        "{} of {} in {:?}: {:.0} orchestrations/s",
        result.completed, result.launched, result.total_time, result.orch_throughput
    );
    assert!(result.completed >= 5, "hardly any were completed: {result:?}");
    assert_eq!(result.completed, result.launched, "{result:?}");
    assert_eq!((result.failed, result.failed_infrastructure), (0, 0), "{result:?}");
    assert!((result.success_rate() - 100.0).abs() < f64::EPSILON, "{result:?}");
}

async fn parallel(factory: &Factory, config: StressTestConfig) {
    check(&run_parallel_orchestrations_test_with_config(factory, config).await.unwrap());
    assert_eq!(factory.refused.load(Ordering::SeqCst), 0, "a turn's messages were not before it in line");
}

async fn large(factory: &Factory) {
    let config = LargePayloadConfig {
        base: StressTestConfig { max_concurrent: 5, ..config(2, 1) },
        small_payload_kb: 10,
        medium_payload_kb: 50,
        large_payload_kb: 100,
        activity_count: 6,
        sub_orch_count: 2,
    };
    check(&run_large_payload_test_with_config(factory, config).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn durable_with_two_dispatchers_of_each() {
    parallel(&Factory::durable(Options::default()), config(2, 10)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn durable_with_eight_dispatchers_of_each() {
    parallel(&Factory::durable(Options::default()), config(8, 0)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn durable_with_dispatchers_that_do_not_wait_for_the_disk() {
    parallel(&Factory::durable(Options::default().acks(Acks::Ordered)), config(2, 0)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn durable_with_many_dispatchers_that_do_not_wait_for_the_disk() {
    parallel(&Factory::durable(Options::default().acks(Acks::Ordered)), config(32, 0)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn durable_without_ended_instances_in_memory() {
    parallel(&Factory::durable(Options::default().acks(Acks::Ordered).ended(0)), config(8, 0)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn durable_with_large_payloads() {
    large(&Factory::durable(Options::default())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn durable_with_large_payloads_and_hardly_any_memory() {
    large(&Factory::durable(Options::default().cache(1))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn volatile_with_eight_dispatchers_of_each() {
    parallel(&Factory::volatile(), config(8, 0)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn volatile_with_large_payloads() {
    large(&Factory::volatile()).await;
}
