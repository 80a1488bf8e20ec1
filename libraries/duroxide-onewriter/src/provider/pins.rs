//! Names that a call uses.

use std::sync::{Arc, Mutex, PoisonError};

use duroxide::providers::ProviderError;

use crate::provider::shared::{Shared, told};

/// Names that are pinned until this is dropped.
///
/// The drop only hands them over, because it may happen under the lock of the scheduler; the next holder of that lock
/// releases them.
#[derive(Default)]
pub struct Pins {
    names: Vec<Arc<str>>,
    released: Arc<Mutex<Vec<Arc<str>>>>,
}

impl Drop for Pins {
    fn drop(&mut self) {
        if !self.names.is_empty() {
            self.released.lock().unwrap_or_else(PoisonError::into_inner).append(&mut self.names);
        }
    }
}

impl Shared {
    /// Pins names, and reads those instances from the store that are not in memory.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn pin(
        &self,
        operation: &str,
        names: impl IntoIterator<Item = &str> + Send,
    ) -> Result<Pins, ProviderError> {
        let mut pins = Pins { names: Vec::new(), released: Arc::clone(&self.released) };
        let names: Vec<Arc<str>> = names.into_iter().map(Arc::from).collect();
        if names.is_empty() || !self.store.keeps() {
            return Ok(pins);
        }
        let unknown: Vec<Arc<str>> =
            self.with(|core, _| names.iter().filter(|name| core.pin(name)).map(Arc::clone).collect());
        pins.names = names;
        for name in unknown {
            if let Some((id, record)) = self.store.find(&name).await.map_err(|error| told(operation, error))? {
                self.with(|core, _| core.restore(id, name, record));
            }
        }
        Ok(pins)
    }
}
