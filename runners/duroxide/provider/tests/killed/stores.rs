//! Stores that break their promise, to see that this is noticed.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use duroxide_onewriter::{Change, Durable, Loaded, Recovered, Store, StoreError};
use tokio::sync::Mutex;
use tokio::time::sleep;

/// How they break it.
#[derive(Clone, Copy, PartialEq)]
pub enum Fault {
    /// They answer, and commit a little later.
    Hasty,
    /// They commit a change in two halves.
    Halving,
}

pub struct Faulty {
    pub fault: Fault,
    pub below: Arc<Durable>,
    /// Changes still go to the disk one after the other.
    pub order: Arc<Mutex<()>>,
}

#[async_trait]
impl Store for Faulty {
    fn keeps(&self) -> bool {
        true
    }

    fn recover(&self) -> Result<Recovered, StoreError> {
        self.below.recover()
    }

    async fn commit(&self, change: Change) -> Result<(), StoreError> {
        let below = Arc::clone(&self.below);
        if self.fault == Fault::Hasty {
            let order = Arc::clone(&self.order);
            tokio::spawn(async move {
                let _turn = order.lock().await;
                sleep(Duration::from_millis(5)).await;
                below.commit(change).await.expect("it can be written");
            });
            return Ok(());
        }
        let mut halves = [Change::new(true), Change::new(true)];
        let rows = change.into_rows();
        let half = rows.len().div_ceil(2);
        for (place, row) in rows.into_iter().enumerate() {
            halves[usize::from(place >= half)].row(|| row);
        }
        for half in halves {
            below.commit(half).await?;
            sleep(Duration::from_millis(2)).await;
        }
        Ok(())
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
