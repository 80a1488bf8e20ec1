//! The store that keeps nothing.

use async_trait::async_trait;
use duroxide::providers::SystemMetrics;

use crate::change::Change;
use crate::core::listing::Selection;
use crate::core::record::Record;
use crate::core::recovered::Recovered;
use crate::core::values::Values;
use crate::error::StoreError;
use crate::store::{Loaded, Store};

/// A store that keeps nothing and does no I/O. It shows the upper limit of the runtime's throughput, for comparison
/// with durable stores. Memory grows until instances are deleted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Volatile;

#[async_trait]
impl Store for Volatile {
    fn keeps(&self) -> bool {
        false
    }

    fn recover(&self) -> Result<Recovered, StoreError> {
        Ok(Recovered::default())
    }

    async fn commit(&self, _: Change) -> Result<(), StoreError> {
        Ok(())
    }

    async fn load(&self, _: i64, _: u64) -> Result<Loaded, StoreError> {
        Ok(Loaded { history: Ok((Vec::new(), 0)), values: Values::default() })
    }

    async fn output(&self, _: i64, _: u64) -> Result<Option<String>, StoreError> {
        Ok(None)
    }

    async fn find(&self, _: &str) -> Result<Option<(i64, Record)>, StoreError> {
        Ok(None)
    }

    async fn list(&self, _: Selection) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    async fn children(&self, _: &str) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    async fn metrics(&self) -> Result<SystemMetrics, StoreError> {
        Ok(SystemMetrics::default())
    }

    fn close(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
