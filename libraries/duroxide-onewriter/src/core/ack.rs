//! Acknowledgements of turns, and messages from outside.

use std::sync::Arc;

use duroxide::providers::{ExecutionMetadata, ProviderError, ScheduledActivityIdentifier, WorkItem};
use duroxide::{Event, EventKind};

use crate::change::{Change, Row};
use crate::core::Core;
use crate::core::body::Body;
use crate::core::history::{check_numbers, is_over};
use crate::core::instance::{Message, target};
use crate::core::moment::Moment;
use crate::core::record::{History, RUNNING, Record};
use crate::core::token::Claim;
use crate::core::values::{Values, custom_status, is_value};
use crate::core::work::{Work, WorkLease};

const ACK: &str = "ack_orchestration_item";

/// Result of a turn. Each item comes with its serialised form, which is empty if the store keeps nothing.
#[derive(Debug)]
pub struct Outcome {
    /// Execution that the turn belongs to.
    pub execution: u64,
    /// New events of the history.
    pub events: Vec<(Arc<Event>, String)>,
    /// Activities to execute.
    pub work: Vec<(Arc<WorkItem>, String)>,
    /// Messages for this orchestration or others.
    pub messages: Vec<(Arc<WorkItem>, String)>,
    /// Metadata of the execution from the runtime.
    pub metadata: ExecutionMetadata,
    /// Activities to cancel.
    pub cancelled: Vec<ScheduledActivityIdentifier>,
}

/// State changes of a turn that become visible after its commit.
#[derive(Debug)]
pub struct Ack {
    claim: Claim,
    at: i64,
    execution: u64,
    events: History,
    bytes: usize,
    metadata: ExecutionMetadata,
    done: Vec<i64>,
    work: Vec<(i64, Work)>,
    messages: Vec<(i64, Message)>,
    cancelled: Vec<i64>,
    /// Cancelled activities whose leases were revoked for it.
    seized: Vec<i64>,
}

impl Ack {
    /// Number of the instance that the turn belongs to.
    pub fn instance(&self) -> i64 {
        self.claim.id
    }
}

impl Core {
    /// First phase of acknowledging a turn.
    ///
    /// # Errors
    /// If the lease is no longer valid, or an event ID is already in the history. The lease remains unchanged.
    pub fn begin_ack(&mut self, token: &str, outcome: Outcome, now: Moment) -> Result<(Change, Ack), ProviderError> {
        let wrong = |what: &str| ProviderError::permanent(ACK, what);
        let claim = self.tokens.read(token).ok_or_else(|| wrong("Invalid lock token"))?;
        let instance = self.instances.get(&claim.id).ok_or_else(|| wrong("Invalid lock token"))?;
        let lease = instance.lease(claim).ok_or_else(|| wrong("Invalid lock token"))?;
        if lease.committing || lease.until <= now.mono {
            return Err(wrong("the instance's lock has expired or is being acknowledged"));
        }
        if !lease.messages.iter().all(|id| instance.messages.contains_key(id)) {
            return Err(ProviderError::retryable(ACK, "the disk has refused a message of the turn"));
        }
        let events: History = outcome.events.iter().map(|(event, _)| Arc::clone(event)).collect();
        let history = instance.body.as_ref().filter(|body| body.execution == outcome.execution);
        check_numbers(history.map_or(&[], |body| &body.history), &events).map_err(|what| wrong(&what))?;

        let done = lease.messages.clone();
        let mut change = Change::new(!self.alone);
        for id in &done {
            change.row(|| Row::MessageDone { id: *id });
        }
        self.record_rows(&mut change, claim.id, &outcome, &events, now.wall);
        let bytes = outcome.events.iter().map(|(_, json)| json.len()).sum();
        for (event, data) in outcome.events {
            let (instance, execution, event) = (claim.id, outcome.execution, event.event_id());
            change.row(|| Row::Event { instance, execution, event, data });
        }
        // Most executions have no values, so there is nothing to merge.
        let has_values = instance.body.as_ref().is_none_or(|body| !body.values.pending.is_empty())
            || events.iter().any(|event| is_value(event));
        value_rows(&mut change, claim.id, &events, has_values && is_over(&outcome.metadata), now.wall);

        let mut work = Vec::new();
        for (item, json) in outcome.work {
            let Some(new) = Work::new(item, now.wall) else { return Err(wrong("work that is not an activity")) };
            // The activity was scheduled and cancelled in the same turn.
            if outcome.cancelled.iter().any(|activity| new.is(activity)) {
                continue;
            }
            let id = self.next_work();
            change.row(|| Row::Work { id, visible: now.wall, item: json });
            work.push((id, new));
        }
        let cancelled: Vec<i64> = outcome.cancelled.iter().flat_map(|a| self.work.of_activity(a)).collect();
        for id in &cancelled {
            change.row(|| Row::WorkDone { id: *id });
        }
        let mut messages = Vec::new();
        for (item, json) in outcome.messages.into_iter().filter(|(item, _)| target(item).is_some()) {
            let visible = match &*item {
                WorkItem::TimerFired { fire_at_ms, .. } => i64::try_from(*fire_at_ms).unwrap_or(i64::MAX),
                _ => now.wall,
            };
            let id = self.next_message();
            change.row(|| Row::Message { id, visible, item: json });
            messages.push((id, Message::new(item, visible)));
        }

        self.mark_turn(claim, true, now);
        let seized = cancelled.iter().copied().filter(|id| self.seize_work(*id, now)).collect();
        let (execution, metadata) = (outcome.execution, outcome.metadata);
        let at = now.wall;
        Ok((change, Ack { claim, at, execution, events, bytes, metadata, done, work, messages, cancelled, seized }))
    }

    /// Revokes the lease of an activity that is about to be cancelled, so that its holder's token becomes invalid.
    /// Returns false if an acknowledgement of the holder is being committed; that one stands.
    pub fn seize_work(&mut self, id: i64, now: Moment) -> bool {
        let is_committing = |work: &Work| work.lease.as_ref().is_some_and(|lease| lease.committing);
        if self.work.get(id).is_none_or(is_committing) {
            return false;
        }
        let lease = self.tokens.claim(id).lease;
        self.work.change(id, now, |work| {
            work.lease = Some(WorkLease { committing: true, ..WorkLease::new(lease, now.mono) });
        });
        true
    }

    /// Releases a revoked activity after a failed commit of its cancellation.
    pub fn unseize_work(&mut self, id: i64, now: Moment) {
        self.change_work(id, now, |work| work.lease = None);
    }

    /// Sets or clears the mark that an acknowledgement of the holder is being committed.
    pub fn mark_turn(&mut self, claim: Claim, committing: bool, now: Moment) {
        self.change_lease(claim.id, now, |lease| {
            if let Some(lease) = lease.as_mut().filter(|lease| lease.lease == claim.lease) {
                lease.committing = committing;
            }
        });
    }

    /// Adds the rows of the instance and its executions that the turn changes.
    fn record_rows(&self, change: &mut Change, id: i64, outcome: &Outcome, events: &History, at: i64) {
        let Some(instance) = self.instances.get(&id) else { return };
        let (execution, metadata) = (outcome.execution, &outcome.metadata);
        let before = instance.record.as_ref();
        let named = metadata.orchestration_name.as_ref().zip(metadata.orchestration_version.as_ref());
        let is_changed = before.is_none_or(|before| {
            let is_renamed = named.is_some_and(|(name, version)| {
                before.orchestration.as_ref() != Some(name) || before.version.as_ref() != Some(version)
            });
            is_renamed || before.current < execution
        });
        if is_changed {
            // Copies the small fields only: without a store, a record contains whole histories.
            let mut after = before.map(Record::heading).unwrap_or_default();
            after.advance(execution, metadata, &Vec::new(), at);
            change.row(|| Row::Instance {
                id,
                name: Arc::clone(&instance.name),
                orchestration: after.orchestration,
                version: after.version,
                parent: after.parent.as_deref().map(str::to_owned),
                current: after.current,
                created: after.created,
            });
        }
        if let Some(status) = custom_status(events) {
            let version = before.map_or(0, |before| before.custom_version) + 1;
            change.row(|| Row::CustomStatus { instance: id, status, version });
        }
        let pinned = metadata.pinned_duroxide_version.as_ref().map(ToString::to_string);
        let (instance, status, output) = (id, metadata.status.clone(), metadata.output.clone());
        if before.is_none_or(|before| !before.executions.contains_key(&execution)) {
            let completed = status.is_some().then_some(at);
            let status = status.unwrap_or_else(|| RUNNING.into());
            change.row(|| Row::Execution { instance, execution, status, output, pinned, started: at, completed });
            return;
        }
        if let Some(version) = pinned {
            change.row(|| Row::Pinned { instance, execution, version });
        }
        if let Some(status) = status {
            change.row(|| Row::Status { instance, execution, status, output, completed: at });
        }
    }

    /// Second phase of acknowledging a turn, after the commit.
    pub fn finish_ack(&mut self, ack: Ack, now: Moment) {
        let id = ack.claim.id;
        let alone = self.alone;
        let Some(instance) = self.instances.get_mut(&id) else { return };
        let is_first = instance.record.is_none();
        let record = instance.record.get_or_insert_default();
        let was_named = record.is_named();
        record.advance(ack.execution, &ack.metadata, &ack.events, ack.at);
        if let Some(execution) =
            record.executions.get_mut(&ack.execution).filter(|_| alone && ack.metadata.status.is_some())
        {
            execution.kept.output.clone_from(&ack.metadata.output);
        }
        let current = record.current;
        let parent = record.parent.clone().filter(|_| record.is_named() && !was_named);
        if let Some(parent) = parent {
            self.children.entry(parent).or_default().insert(id);
        }
        if is_first {
            self.put_body(id, Body::new(ack.execution, Vec::new(), 0, Values::default()));
        }
        self.extend_history(id, ack.execution, current, ack.events, ack.bytes, &ack.metadata, ack.at);
        self.remove_messages(id, &ack.done);
        for work in ack.cancelled {
            self.work.remove(work);
        }
        for (work_id, work) in ack.work {
            self.insert_work(work_id, work, now);
        }
        self.change_lease(id, now, |lease| *lease = None);
        for (message_id, message) in ack.messages {
            self.enqueue(message_id, message, now);
        }
        // The body could not be evicted while it was leased.
        self.evict();
        self.settle();
    }

    /// Like [`Core::refuse_ack`], for a dispatcher that has already received success: releases the instance for another
    /// turn.
    pub fn undo_ack(&mut self, ack: &Ack, now: Moment) {
        self.refuse_ack(ack, now);
        self.release_turn(ack.claim, now);
    }

    /// Second phase of acknowledging a turn, after a failed commit.
    pub fn refuse_ack(&mut self, ack: &Ack, now: Moment) {
        self.mark_turn(ack.claim, false, now);
        for id in &ack.seized {
            self.unseize_work(*id, now);
        }
        self.settle();
    }
}

/// Adds the rows of the keys that the turn sets and clears. If `is_over` is true, also the row that merges all pending
/// values.
fn value_rows(change: &mut Change, instance: i64, events: &History, is_over: bool, at: i64) {
    for event in events {
        let row = match &event.kind {
            EventKind::KeyValueSet { key, value, last_updated_at_ms } => Row::Value {
                instance,
                key: key.clone(),
                value: Some(value.clone()),
                updated: i64::try_from(*last_updated_at_ms).unwrap_or(i64::MAX),
            },
            EventKind::KeyValueCleared { key } => Row::Value { instance, key: key.clone(), value: None, updated: at },
            EventKind::KeyValuesCleared => Row::ValuesCleared { instance, updated: at },
            _ => continue,
        };
        change.row(|| row);
    }
    if is_over {
        change.row(|| Row::ValuesMerged { instance });
    }
}
