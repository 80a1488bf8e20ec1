//! Faulty stores, as negative controls.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use duroxide_onewriter::{Change, Durable, Store, StoreError};
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::through::Commits;

/// Kind of fault.
#[derive(Clone, Copy, PartialEq)]
pub enum Fault {
    /// Answers before it commits.
    Hasty,
    /// Commits a change in two halves.
    Halving,
}

pub struct Faulty {
    pub fault: Fault,
    /// Keeps the commits in order.
    pub order: Arc<Mutex<()>>,
}

#[async_trait]
impl Commits for Faulty {
    async fn commit(&self, below: &Arc<Durable>, change: Change) -> Result<(), StoreError> {
        if self.fault == Fault::Hasty {
            let (order, below) = (Arc::clone(&self.order), Arc::clone(below));
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
}
