//! Appending events to the histories in memory.

use std::sync::Arc;

use duroxide::Event;
use duroxide::providers::{ExecutionMetadata, ProviderError};

use crate::core::Core;
use crate::core::body::Body;
use crate::core::record::History;

impl Core {
    /// Appends the events of a turn to the history, if it is in memory.
    #[expect(clippy::too_many_arguments, reason = "it is one step of its only caller")]
    pub fn extend_history(
        &mut self,
        id: i64,
        execution: u64,
        current: u64,
        events: History,
        bytes: usize,
        metadata: &ExecutionMetadata,
        at: i64,
    ) {
        let is_new = self.instances.get(&id).and_then(|i| i.body.as_ref()).is_some_and(|body| body.execution < current);
        if is_new && execution == current {
            let Some(body) = self.drop_body(id) else { return };
            if self.alone {
                self.keep_history(id, body.execution, body.history);
            }
            self.put_body(id, Body::new(execution, Vec::new(), 0, body.values));
        }
        let is_over = is_over(metadata);
        let mut other = Some(events);
        self.change_body(id, bytes, |body| {
            let events = other.take().unwrap_or_default();
            for event in &events {
                body.values.apply(event, at);
            }
            if is_over {
                body.values.settle();
            }
            if body.execution == execution {
                append(&mut body.history, events);
            } else {
                other = Some(events);
            }
        });
        if let Some(events) = other.filter(|_| self.alone) {
            self.keep_history(id, execution, events);
        }
    }

    /// Checks that events can be appended to the history of an execution from outside. Returns the number of the
    /// instance.
    ///
    /// # Errors
    /// If the execution does not exist, or an event ID is already in the history.
    pub fn check_append(&self, name: &str, execution: u64, events: &[Arc<Event>]) -> Result<i64, ProviderError> {
        let wrong = |what: String| ProviderError::permanent("append_with_execution", what);
        let id = self.find(name).ok_or_else(|| wrong(format!("instance {name} not found")))?;
        let instance = self.get(id);
        let record = instance.and_then(|instance| instance.record.as_ref());
        let heading = record.and_then(|record| record.executions.get(&execution));
        let heading = heading.ok_or_else(|| wrong(format!("execution {execution} of instance {name} not found")))?;
        let body = instance.and_then(|i| i.body.as_ref()).filter(|body| body.execution == execution);
        check_numbers(body.map_or(&heading.kept.history, |body| &body.history), events).map_err(wrong)?;
        Ok(id)
    }

    /// Appends events to the history of an execution after their commit.
    pub fn append(&mut self, id: i64, execution: u64, events: History, bytes: usize) {
        let record = self.instances.get_mut(&id).and_then(|instance| instance.record.as_mut());
        if let Some(heading) = record.and_then(|record| record.executions.get_mut(&execution)) {
            heading.events += events.len();
        }
        let mut other = Some(events);
        self.change_body(id, bytes, |body| {
            if body.execution == execution {
                append(&mut body.history, other.take().unwrap_or_default());
            }
        });
        if let Some(events) = other.filter(|_| self.alone) {
            self.keep_history(id, execution, events);
        }
    }

    /// Without a store: keeps the history of an execution that is no longer the current one.
    pub fn keep_history(&mut self, id: i64, execution: u64, events: History) {
        let record = self.instances.get_mut(&id).and_then(|instance| instance.record.as_mut());
        if let Some(execution) = record.and_then(|record| record.executions.get_mut(&execution)) {
            append(&mut execution.kept.history, events);
        }
    }
}

/// Whether the execution ends with this turn.
pub fn is_over(metadata: &ExecutionMetadata) -> bool {
    metadata.status.as_deref().is_some_and(|status| ["Completed", "ContinuedAsNew", "Failed"].contains(&status))
}

/// Checks that no event ID is zero or already in the history.
pub fn check_numbers(history: &[Arc<Event>], events: &[Arc<Event>]) -> Result<(), String> {
    let mut last = history.last().map_or(0, |event| event.event_id());
    for (place, event) in events.iter().enumerate() {
        let id = event.event_id();
        if id == 0 {
            return Err("an event has no number".into());
        }
        // IDs are ascending, except in events appended from outside.
        let is_known = id <= last
            && (history.iter().any(|e| e.event_id() == id) || events[..place].iter().any(|e| e.event_id() == id));
        if is_known {
            return Err(format!("event {id} is in the history already"));
        }
        last = last.max(id);
    }
    Ok(())
}

/// Inserts events in the order of their IDs.
pub fn append(history: &mut History, events: History) {
    let last = history.last().map_or(0, |event| event.event_id());
    let is_behind =
        events.first().is_none_or(|first| last < first.event_id()) && events.is_sorted_by_key(|event| event.event_id());
    history.extend(events);
    if !is_behind {
        history.sort_by_key(|event| event.event_id());
    }
}
