//! An instance's keys and values.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use duroxide::providers::KvEntry;
use duroxide::{Event, EventKind};

/// What executions that ended have left, and what the current one has set and cleared since. An execution sees only the
/// former at its start (what it did itself is replayed); everybody else sees both.
#[derive(Debug, Clone, Default)]
pub struct Values {
    /// What ended executions left.
    pub settled: HashMap<String, KvEntry>,
    /// What the current one did; no value: cleared. With the time, milliseconds since 1970.
    pub pending: BTreeMap<String, (Option<String>, u64)>,
}

impl Values {
    /// Takes note of what an event does to them.
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

    /// The execution ended: what it did is settled.
    pub fn settle(&mut self) {
        for (key, (value, last_updated_at_ms)) in std::mem::take(&mut self.pending) {
            match value {
                Some(value) => self.settled.insert(key, KvEntry { value, last_updated_at_ms }),
                None => self.settled.remove(&key),
            };
        }
    }

    /// One value as everybody sees it.
    pub fn get(&self, key: &str) -> Option<&str> {
        match self.pending.get(key) {
            Some((value, _)) => value.as_deref(),
            None => self.settled.get(key).map(|entry| entry.value.as_str()),
        }
    }

    /// All of them as everybody sees them.
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

/// What the events say last of the custom status: cleared or set; none where they do not speak of it.
pub fn custom_status(events: &[Arc<Event>]) -> Option<Option<String>> {
    events.iter().rev().find_map(|event| match &event.kind {
        EventKind::CustomStatusUpdated { status } => Some(status.clone()),
        _ => None,
    })
}

/// Whether an event speaks of values.
pub fn is_value(event: &Event) -> bool {
    matches!(
        event.kind,
        EventKind::KeyValueSet { .. } | EventKind::KeyValueCleared { .. } | EventKind::KeyValuesCleared
    )
}
