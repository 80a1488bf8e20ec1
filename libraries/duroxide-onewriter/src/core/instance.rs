//! An instance, what waits for it, and who deals with it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use duroxide::providers::{DispatcherCapabilityFilter, SemverRange, WorkItem};

use crate::core::body::Body;
use crate::core::record::Record;
use crate::core::token::Claim;

/// An instance, or a name for which messages have come before the instance.
#[derive(Debug)]
pub struct Instance {
    /// As the application calls it.
    pub name: Arc<str>,
    /// None before the first acknowledgement.
    pub record: Option<Record>,
    /// By their numbers, which rise in the order in which they were enqueued.
    pub messages: BTreeMap<i64, Message>,
    /// Who deals with it.
    pub lease: Option<Lease>,
    /// History and values, if they are in memory.
    pub body: Option<Body>,
    /// How often history or values have changed: what was loaded meanwhile is out of date.
    pub epoch: u64,
    /// Its oldest visible message, where it is nobody's.
    pub ready: Option<i64>,
    /// When the first of those that are not visible yet will be.
    pub due: Option<i64>,
}

/// A message for an orchestration.
#[derive(Debug)]
pub struct Message {
    /// As it was enqueued.
    pub item: Arc<WorkItem>,
    /// Milliseconds since 1970.
    pub visible: i64,
    /// How often it has been fetched.
    pub attempts: u32,
    /// The same as its row says.
    pub recorded: u32,
    /// Whether a process that has ended may have fetched it, too.
    pub recovered: bool,
}

/// Who deals with an instance, and until when.
#[derive(Debug)]
pub struct Lease {
    /// The lease's number.
    pub lease: u64,
    /// Its end.
    pub until: Instant,
    /// The messages that its holder has been given.
    pub messages: Vec<i64>,
    /// What its holder said last is on its way to the disk: nobody else may have the instance before that is decided.
    pub committing: bool,
}

/// How often something counts as having been fetched, and from when on it can be seen (milliseconds since 1970).
#[derive(Debug, Clone, Copy)]
pub struct Retry {
    /// The message.
    pub id: i64,
    /// From then on.
    pub visible: i64,
    /// So often.
    pub attempts: u32,
}

impl Instance {
    /// One of which nothing is known but its name.
    pub fn new(name: Arc<str>) -> Self {
        let messages = BTreeMap::new();
        Self { name, record: None, messages, lease: None, body: None, epoch: 0, ready: None, due: None }
    }

    /// The lease of this number.
    pub fn lease(&self, claim: Claim) -> Option<&Lease> {
        self.lease.as_ref().filter(|lease| lease.lease == claim.lease)
    }
}

impl Message {
    /// A new one.
    pub fn new(item: Arc<WorkItem>, visible: i64) -> Self {
        Self { item, visible, attempts: 0, recorded: 0, recovered: false }
    }
}

/// For whom a message is; none where it is not a message for an orchestration.
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

/// The versions that a dispatcher can replay, as duroxide's own provider reads its filter: the first range counts.
#[derive(Debug, Clone)]
pub enum Replays {
    /// Every version.
    All,
    /// These.
    Range(SemverRange),
    /// None.
    Nothing,
}

impl Replays {
    /// What the filter says.
    pub fn of(filter: Option<&DispatcherCapabilityFilter>) -> Self {
        match filter.map(|filter| filter.supported_duroxide_versions.first()) {
            None => Self::All,
            Some(Some(range)) => Self::Range(range.clone()),
            Some(None) => Self::Nothing,
        }
    }

    /// Whether the instance's current execution is one of them; one that is not pinned always is.
    pub fn takes(&self, instance: &Instance) -> bool {
        let pinned = instance.record.as_ref().and_then(|record| record.latest()?.pinned.as_ref());
        match self {
            Self::All => true,
            Self::Range(range) => pinned.is_none_or(|pinned| range.contains(pinned)),
            Self::Nothing => false,
        }
    }
}
