//! An instance with its messages and lease.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use duroxide::providers::{DispatcherCapabilityFilter, SemverRange, WorkItem};

use crate::core::body::Body;
use crate::core::record::Record;
use crate::core::token::Claim;

/// An instance, or a name that has received messages before its instance exists.
#[derive(Debug)]
pub struct Instance {
    /// Name given by the application.
    pub name: Arc<str>,
    /// `None` before the first acknowledgement.
    pub record: Option<Record>,
    /// Messages by number. Numbers ascend in the order of enqueueing.
    pub messages: BTreeMap<i64, Message>,
    pub lease: Option<Lease>,
    /// History and values, if they are in memory.
    pub body: Option<Body>,
    /// Number of changes of history or values. Data loaded in an earlier epoch is stale.
    pub epoch: u64,
    /// Oldest visible message, if the instance has no lease.
    pub ready: Option<i64>,
    /// Time at which the next delayed message becomes visible.
    pub due: Option<i64>,
    /// Place among the ended instances that may be evicted.
    pub ended: Option<u64>,
}

/// A message for an orchestration.
#[derive(Debug)]
pub struct Message {
    /// Content of the message.
    pub item: Arc<WorkItem>,
    /// Time from which the message is visible, in milliseconds since 1970.
    pub visible: i64,
    /// Number of fetches.
    pub attempts: u32,
    /// Number of fetches in the stored row.
    pub recorded: u32,
    /// Whether an earlier process may have fetched it too.
    pub recovered: bool,
}

/// Holder and end of the lease of an instance.
#[derive(Debug)]
pub struct Lease {
    /// Number of the lease.
    pub lease: u64,
    /// Expiry of the lease.
    pub until: Instant,
    /// Messages that the holder has received.
    pub messages: Vec<i64>,
    /// Whether the holder's acknowledgement is being committed, or the holder has not received the turn because the fetch
    /// still accesses the disk. Until that is decided, the instance cannot be leased again.
    pub committing: bool,
}

/// New fetch count and visibility of a message.
#[derive(Debug, Clone, Copy)]
pub struct Retry {
    /// Number of the message.
    pub id: i64,
    /// Time from which the message is visible, in milliseconds since 1970.
    pub visible: i64,
    /// Number of fetches.
    pub attempts: u32,
}

impl Instance {
    /// Creates an instance without a record or messages.
    pub fn new(name: Arc<str>) -> Self {
        let messages = BTreeMap::new();
        Self { name, record: None, messages, lease: None, body: None, epoch: 0, ready: None, due: None, ended: None }
    }

    /// Returns the lease if it is the one of this claim.
    pub fn lease(&self, claim: Claim) -> Option<&Lease> {
        self.lease.as_ref().filter(|lease| lease.lease == claim.lease)
    }
}

impl Message {
    /// Creates a message that has not been fetched.
    pub fn new(item: Arc<WorkItem>, visible: i64) -> Self {
        Self { item, visible, attempts: 0, recorded: 0, recovered: false }
    }
}

/// Instance that a message is addressed to, or `None` if the item is not a message for an orchestration.
pub fn target(item: &WorkItem) -> Option<&str> {
    match item {
        WorkItem::StartOrchestration { instance, .. }
        | WorkItem::ActivityCompleted { instance, .. }
        | WorkItem::ActivityFailed { instance, .. }
        | WorkItem::TimerFired { instance, .. }
        | WorkItem::ExternalRaised { instance, .. }
        | WorkItem::CancelInstance { instance, .. }
        | WorkItem::ContinueAsNew { instance, .. }
        | WorkItem::QueueMessage { instance, .. } => Some(instance),
        WorkItem::SubOrchCompleted { parent_instance, .. } | WorkItem::SubOrchFailed { parent_instance, .. } => {
            Some(parent_instance)
        }
        WorkItem::ActivityExecute { .. } => None,
    }
}

/// duroxide versions that a dispatcher can replay. Like duroxide's own provider, this uses the first range of the
/// filter.
#[derive(Debug, Clone)]
pub enum Replays {
    /// Every version.
    All,
    /// Versions in this range.
    Range(SemverRange),
    /// No version.
    Nothing,
}

impl Replays {
    /// Converts a filter.
    pub fn of(filter: Option<&DispatcherCapabilityFilter>) -> Self {
        match filter.map(|filter| filter.supported_duroxide_versions.first()) {
            None => Self::All,
            Some(Some(range)) => Self::Range(range.clone()),
            Some(None) => Self::Nothing,
        }
    }

    /// Whether the dispatcher can replay the current execution of the instance. An execution that is not pinned always
    /// matches.
    pub fn takes(&self, instance: &Instance) -> bool {
        let pinned = instance.record.as_ref().and_then(|record| record.latest()?.pinned.as_ref());
        match self {
            Self::All => true,
            Self::Range(range) => pinned.is_none_or(|pinned| range.contains(pinned)),
            Self::Nothing => false,
        }
    }
}
