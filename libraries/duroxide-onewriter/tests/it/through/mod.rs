//! A store that passes commits through a test hook, and everything else to the disk.

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use duroxide::providers::SystemMetrics;
use duroxide_onewriter::{Change, Durable, Loaded, Options, Record, Recovered, Selection, Store, StoreError};

/// Hook for commits on their way to the disk.
#[async_trait]
pub trait Commits: Send + Sync + 'static {
    async fn commit(&self, below: &Arc<Durable>, change: Change) -> Result<(), StoreError>;
}

/// A durable store behind such a hook.
pub struct Through<T> {
    below: Arc<Durable>,
    commits: T,
}

impl<T: Commits> Through<T> {
    pub fn open(path: impl AsRef<Path>, options: &Options, commits: T) -> Self {
        Self { below: Arc::new(Durable::open(path, options).unwrap()), commits }
    }
}

impl<T> Deref for Through<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.commits
    }
}

#[async_trait]
impl<T: Commits> Store for Through<T> {
    fn keeps(&self) -> bool {
        true
    }

    fn recover(&self) -> Result<Recovered, StoreError> {
        self.below.recover()
    }

    async fn commit(&self, change: Change) -> Result<(), StoreError> {
        self.commits.commit(&self.below, change).await
    }

    async fn load(&self, instance: i64, execution: u64) -> Result<Loaded, StoreError> {
        self.below.load(instance, execution).await
    }

    async fn output(&self, instance: i64, execution: u64) -> Result<Option<String>, StoreError> {
        self.below.output(instance, execution).await
    }

    async fn find(&self, name: &str) -> Result<Option<(i64, Record)>, StoreError> {
        self.below.find(name).await
    }

    async fn list(&self, selection: Selection) -> Result<Vec<String>, StoreError> {
        self.below.list(selection).await
    }

    async fn children(&self, name: &str) -> Result<Vec<String>, StoreError> {
        self.below.children(name).await
    }

    async fn metrics(&self) -> Result<SystemMetrics, StoreError> {
        self.below.metrics().await
    }

    fn close(&self) -> Result<(), StoreError> {
        self.below.close()
    }
}
