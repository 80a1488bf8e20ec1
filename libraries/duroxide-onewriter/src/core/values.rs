//! Key-value state of an instance.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use duroxide::providers::KvEntry;
use duroxide::{Event, EventKind};

/// Values left by ended executions, and changes by the current one. An execution starts with the former only, because
/// its own changes are replayed; all other readers see both.
#[derive(Debug, Clone, Default)]
pub struct Values {
    /// Values left by ended executions.
    pub settled: HashMap<String, KvEntry>,
    /// Changes by the current execution, with their time in milliseconds since 1970. `None` means cleared.
    pub pending: BTreeMap<String, (Option<String>, u64)>,
}

impl Values {
    /// Applies an event.
    pub fn apply(&mut self, event: &Event, wall: i64) {
        let now = u64::try_from(wall).unwrap_or_default();
        match &event.kind {
            EventKind::KeyValueSet { key, value, last_updated_at_ms } => {
                self.pending.insert(key.clone(), (Some(value.clone()), *last_updated_at_ms));
            }
            EventKind::KeyValueCleared { key } => {
                self.pending.insert(key.clone(), (None, now));
            }
            EventKind::KeyValuesCleared => {
                let keys: Vec<String> = self.pending.keys().chain(self.settled.keys()).cloned().collect();
                self.pending.extend(keys.into_iter().map(|key| (key, (None, now))));
            }
            _ => {}
        }
    }

    /// Merges the changes of the current execution after its end.
    pub fn settle(&mut self) {
        for (key, (value, last_updated_at_ms)) in std::mem::take(&mut self.pending) {
            match value {
                Some(value) => self.settled.insert(key, KvEntry { value, last_updated_at_ms }),
                None => self.settled.remove(&key),
            };
        }
    }

    /// Returns one value, including pending changes.
    pub fn get(&self, key: &str) -> Option<&str> {
        match self.pending.get(key) {
            Some((value, _)) => value.as_deref(),
            None => self.settled.get(key).map(|entry| entry.value.as_str()),
        }
    }

    /// Returns all values, including pending changes.
    pub fn all(&self) -> HashMap<String, String> {
        let settled = self.settled.iter().filter(|(key, _)| !self.pending.contains_key(*key));
        let settled = settled.map(|(key, entry)| (key.clone(), entry.value.clone()));
        let pending = self.pending.iter().filter_map(|(key, (value, _))| Some((key.clone(), value.clone()?)));
        settled.chain(pending).collect()
    }

    /// Bytes of keys and values.
    pub fn bytes(&self) -> usize {
        let settled: usize = self.settled.iter().map(|(key, entry)| key.len() + entry.value.len()).sum();
        let pending = self.pending.iter().map(|(key, (value, _))| key.len() + value.as_ref().map_or(0, String::len));
        settled + pending.sum::<usize>()
    }
}

/// Latest custom status set (`Some(Some)`) or cleared (`Some(None)`) by the events, or `None` if they do not change it.
pub fn custom_status(events: &[Arc<Event>]) -> Option<Option<String>> {
    events.iter().rev().find_map(|event| match &event.kind {
        EventKind::CustomStatusUpdated { status } => Some(status.clone()),
        _ => None,
    })
}

/// Whether an event changes values.
pub fn is_value(event: &Event) -> bool {
    matches!(
        event.kind,
        EventKind::KeyValueSet { .. } | EventKind::KeyValueCleared { .. } | EventKind::KeyValuesCleared
    )
}
