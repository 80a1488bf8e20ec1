//! A disk that refuses.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use duroxide_onewriter::{Change, Durable, Loaded, Options, Recovered, Store, StoreError};
use tokio::sync::{Mutex, Semaphore};

/// On the disk, in the order in which they come; but the disk can be full, and commits can be made to wait.
pub struct Disk {
    below: Durable,
    is_full: AtomicBool,
    one_of: Option<usize>,
    pub waits: AtomicBool,
    pub may_commit: Semaphore,
    /// Commits so far, refused ones among them.
    commits: AtomicUsize,
    pub refused: AtomicUsize,
    order: Mutex<()>,
}

impl Disk {
    pub fn open(path: &Path) -> Self {
        let below = Durable::open(path, &Options::default()).unwrap();
        let (commits, refused) = (0.into(), 0.into());
        let (is_full, waits, may_commit) = (false.into(), false.into(), Semaphore::new(0));
        Self { below, is_full, one_of: None, waits, may_commit, commits, refused, order: Mutex::default() }
    }

    /// Refuses one of so many commits.
    pub fn refusing(self, one_of: usize) -> Self {
        Self { one_of: Some(one_of), ..self }
    }

    pub fn full(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::SeqCst);
    }

    async fn decide(&self, change: Change) -> Result<(), StoreError> {
        let _next = self.order.lock().await;
        if self.waits.load(Ordering::SeqCst) {
            self.may_commit.acquire().await.expect("it is never closed").forget();
        }
        let number = self.commits.fetch_add(1, Ordering::SeqCst) + 1;
        if self.is_full.load(Ordering::SeqCst) || self.one_of.is_some_and(|one_of| number.is_multiple_of(one_of)) {
            return Err(StoreError { what: "the disk is full".into(), retryable: true });
        }
        self.below.commit(change).await
    }
}

#[async_trait]
impl Store for Disk {
    fn keeps(&self) -> bool {
        true
    }

    fn recover(&self) -> Result<Recovered, StoreError> {
        self.below.recover()
    }

    async fn commit(&self, change: Change) -> Result<(), StoreError> {
        let decided = self.decide(change).await;
        self.refused.fetch_add(usize::from(decided.is_err()), Ordering::SeqCst);
        decided
    }

    async fn load(&self, instance: i64, execution: u64) -> Result<Loaded, StoreError> {
        self.below.load(instance, execution).await
    }

    async fn output(&self, instance: i64, execution: u64) -> Result<Option<String>, StoreError> {
        self.below.output(instance, execution).await
    }

    fn close(&self) -> Result<(), StoreError> {
        self.below.close()
    }
}
