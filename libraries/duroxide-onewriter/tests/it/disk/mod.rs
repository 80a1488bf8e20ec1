//! A disk whose commits can fail or wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use duroxide_onewriter::{Change, Durable, Store, StoreError};
use tokio::sync::{Mutex, Semaphore};

use crate::through::Commits;

/// Passes commits to the disk in order of arrival; the disk can be full, or commits can wait for a permit.
pub struct Disk {
    is_full: AtomicBool,
    one_of: Option<usize>,
    pub waits: AtomicBool,
    pub may_commit: Semaphore,
    /// Number of commits so far, including failed ones.
    commits: AtomicUsize,
    pub refused: AtomicUsize,
    order: Mutex<()>,
}

impl Disk {
    /// Creates a disk without failures.
    pub fn new() -> Self {
        let (commits, refused) = (0.into(), 0.into());
        let (is_full, waits, may_commit) = (false.into(), false.into(), Semaphore::new(0));
        Self { is_full, one_of: None, waits, may_commit, commits, refused, order: Mutex::default() }
    }

    /// Creates a disk that fails one of `one_of` commits.
    pub fn refusing(one_of: usize) -> Self {
        Self { one_of: Some(one_of), ..Self::new() }
    }

    pub fn full(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::SeqCst);
    }

    async fn decide(&self, below: &Durable, change: Change) -> Result<(), StoreError> {
        let _next = self.order.lock().await;
        if self.waits.load(Ordering::SeqCst) {
            self.may_commit.acquire().await.expect("it is never closed").forget();
        }
        let number = self.commits.fetch_add(1, Ordering::SeqCst) + 1;
        if self.is_full.load(Ordering::SeqCst) || self.one_of.is_some_and(|one_of| number.is_multiple_of(one_of)) {
            return Err(StoreError { what: "the disk is full".into(), retryable: true });
        }
        below.commit(change).await
    }
}

#[async_trait]
impl Commits for Disk {
    async fn commit(&self, below: &Arc<Durable>, change: Change) -> Result<(), StoreError> {
        let decided = self.decide(below, change).await;
        self.refused.fetch_add(usize::from(decided.is_err()), Ordering::SeqCst);
        decided
    }
}
