//! The end of a provider, in asynchronous code and outside.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::*;
use async_trait::async_trait;
use duroxide::providers::{Provider, SystemMetrics};
use duroxide_onewriter::{
    Change, Error, Loaded, OneWriter, Options, Record, Recovered, Selection, Store, StoreError, Volatile,
};

/// Limit of each wait, for a test that would hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// A store that keeps nothing, and whose `close` waits for a message.
struct Slow {
    go: Mutex<Receiver<Result<(), StoreError>>>,
    closed: AtomicBool,
}

#[async_trait]
impl Store for Slow {
    fn keeps(&self) -> bool {
        false
    }

    fn recover(&self) -> Result<Recovered, StoreError> {
        Volatile.recover()
    }

    async fn commit(&self, change: Change) -> Result<(), StoreError> {
        Volatile.commit(change).await
    }

    async fn load(&self, instance: i64, execution: u64) -> Result<Loaded, StoreError> {
        Volatile.load(instance, execution).await
    }

    async fn output(&self, instance: i64, execution: u64) -> Result<Option<String>, StoreError> {
        Volatile.output(instance, execution).await
    }

    async fn find(&self, name: &str) -> Result<Option<(i64, Record)>, StoreError> {
        Volatile.find(name).await
    }

    async fn list(&self, selection: Selection) -> Result<Vec<String>, StoreError> {
        Volatile.list(selection).await
    }

    async fn children(&self, name: &str) -> Result<Vec<String>, StoreError> {
        Volatile.children(name).await
    }

    async fn metrics(&self) -> Result<SystemMetrics, StoreError> {
        Volatile.metrics().await
    }

    fn close(&self) -> Result<(), StoreError> {
        let result = self.go.lock().unwrap().recv_timeout(PATIENCE).expect("nothing lets it close");
        self.closed.store(true, Ordering::SeqCst);
        result
    }
}

/// A provider on that store, and what lets it close.
fn slow() -> (OneWriter, Arc<Slow>, Sender<Result<(), StoreError>>) {
    let (go, wait) = channel();
    let store = Arc::new(Slow { go: Mutex::new(wait), closed: AtomicBool::new(false) });
    (Options::default().open_on(store.clone()).unwrap(), store, go)
}

async fn until_closed(store: &Slow) {
    let closed = async {
        while !store.closed.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(PATIENCE, closed).await.expect("it is closed");
}

#[tokio::test]
async fn a_drop_in_a_runtime_does_not_wait_for_the_disk() {
    let (provider, store, go) = slow();
    drop(provider);
    assert!(!store.closed.load(Ordering::SeqCst));
    go.send(Ok(())).unwrap();
    until_closed(&store).await;
}

#[test]
fn a_drop_outside_closes_the_file() {
    let (provider, store, go) = slow();
    go.send(Ok(())).unwrap();
    drop(provider);
    assert!(store.closed.load(Ordering::SeqCst));
}

#[tokio::test]
async fn close_async_leaves_the_thread_to_other_tasks() {
    let (provider, store, go) = slow();
    let other = async {
        tokio::task::yield_now().await;
        assert!(!store.closed.load(Ordering::SeqCst));
        go.send(Ok(())).unwrap();
    };
    let (closed, ()) = tokio::join!(provider.close_async(), other);
    closed.unwrap();
    assert!(store.closed.load(Ordering::SeqCst));
    assert!(provider.enqueue_for_orchestrator(start("one"), None).await.is_err());
    // Nothing would let a second `close` end.
    drop(provider);
}

#[tokio::test]
async fn close_async_returns_the_error() {
    let (provider, _store, go) = slow();
    go.send(Err(StoreError { what: "disk full".into(), retryable: true })).unwrap();
    let error = provider.close_async().await.unwrap_err();
    assert!(matches!(&error, Error::Close(error) if error.what == "disk full"), "{error}");
}

#[tokio::test]
async fn what_is_dropped_in_the_middle_of_close_async_is_closed() {
    let (provider, store, go) = slow();
    let never = tokio::time::timeout(Duration::from_millis(1), provider.close_async()).await;
    assert!(never.is_err());
    drop(provider);
    go.send(Ok(())).unwrap();
    until_closed(&store).await;
}

#[tokio::test]
async fn the_file_is_free_after_close_async() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("orchestrations.db");
    let provider = Options::default().open(&path).unwrap();
    provider.enqueue_for_orchestrator(start("one"), None).await.unwrap();
    provider.close_async().await.unwrap();
    assert!(!folder.path().join("orchestrations.db-wal").exists());
    let next = Options::default().open(&path).unwrap();
    assert_eq!(turn(&next).await.unwrap().0.instance, "one");
}
