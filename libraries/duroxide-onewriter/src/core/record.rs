//! State of an instance after its first acknowledgement.

use std::collections::BTreeMap;
use std::sync::Arc;

use duroxide::Event;
use duroxide::providers::ExecutionMetadata;
use semver::Version;

use crate::core::values::custom_status;

/// An instance, with the headings of its executions and without their histories.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// Name of the orchestration; `None` until an acknowledgement contains it.
    pub orchestration: Option<String>,
    /// Version of the orchestration.
    pub version: Option<String>,
    /// Instance that started this one.
    pub parent: Option<Arc<str>>,
    /// Number of the latest execution.
    pub current: u64,
    /// Creation time in milliseconds since 1970.
    pub created: i64,
    /// Latest custom status set by the orchestration.
    pub custom_status: Option<String>,
    /// Number of times the custom status was set.
    pub custom_version: u64,
    /// Executions by number.
    pub executions: BTreeMap<u64, Execution>,
}

/// The heading of an execution: its state without its history.
#[derive(Debug, Clone)]
pub struct Execution {
    /// `Running`, `Completed`, `Failed` or `ContinuedAsNew`, as the runtime reports it.
    pub status: String,
    /// Number of events in the history.
    pub events: usize,
    /// duroxide version required for replay.
    pub pinned: Option<Version>,
    /// Start time in milliseconds since 1970.
    pub started: i64,
    /// End time in milliseconds since 1970.
    pub completed: Option<i64>,
    /// Data that the store does not keep.
    pub kept: Unstored,
}

/// Data that stays in memory if the store keeps nothing. With a durable store this is empty, and the data is read from
/// the store.
#[derive(Debug, Clone, Default)]
pub struct Unstored {
    /// Result, error, or the input of the next execution.
    pub output: Option<String>,
    /// History of an execution that is no longer the current one.
    pub history: History,
}

/// Events in the order of their IDs, shared with readers.
pub type History = Vec<Arc<Event>>;

/// Status of an execution that has not ended.
pub const RUNNING: &str = "Running";

impl Record {
    /// Returns the latest execution.
    pub fn latest(&self) -> Option<&Execution> {
        self.executions.get(&self.current)
    }

    /// Returns the status of the latest execution, or `Unknown` if there is none.
    pub fn status(&self) -> &str {
        self.latest().map_or("Unknown", |execution| &execution.status)
    }

    /// Returns the highest execution number, or 1 if there is none.
    pub fn last_execution(&self) -> u64 {
        self.executions.keys().next_back().copied().unwrap_or(1)
    }

    /// Returns a copy without the executions.
    pub fn heading(&self) -> Self {
        Self {
            orchestration: self.orchestration.clone(),
            version: self.version.clone(),
            parent: self.parent.clone(),
            current: self.current,
            created: self.created,
            custom_status: None,
            custom_version: self.custom_version,
            executions: BTreeMap::new(),
        }
    }

    /// Applies a turn of this execution.
    pub fn advance(&mut self, execution: u64, metadata: &ExecutionMetadata, events: &History, at: i64) {
        if self.created == 0 {
            self.created = at;
        }
        if let (Some(name), Some(version)) = (&metadata.orchestration_name, &metadata.orchestration_version) {
            if !self.is_named() {
                // The parent never changes.
                self.parent = metadata.parent_instance_id.as_deref().map(Arc::from);
            }
            self.orchestration = Some(name.clone());
            self.version = Some(version.clone());
        }
        self.current = self.current.max(execution);
        if let Some(status) = custom_status(events) {
            self.custom_status = status;
            self.custom_version += 1;
        }
        let heading = self.executions.entry(execution).or_insert_with(|| Execution {
            status: RUNNING.into(),
            events: 0,
            pinned: None,
            started: at,
            completed: None,
            kept: Unstored::default(),
        });
        heading.events += events.len();
        if let Some(pinned) = &metadata.pinned_duroxide_version {
            heading.pinned = Some(pinned.clone());
        }
        if let Some(status) = &metadata.status {
            heading.status.clone_from(status);
            heading.completed = Some(at);
        }
    }

    /// Whether an orchestration is known. A record without one holds only events that arrived for the name.
    pub fn is_named(&self) -> bool {
        self.orchestration.is_some()
    }
}
