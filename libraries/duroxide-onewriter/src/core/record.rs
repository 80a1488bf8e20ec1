//! What is known of an instance that has been acknowledged at least once.

use std::collections::BTreeMap;
use std::sync::Arc;

use duroxide::Event;
use duroxide::providers::ExecutionMetadata;
use semver::Version;

use crate::core::values::custom_status;

/// An instance. Of its executions only the headings: a few hundred bytes stay in memory for each instance.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// The orchestration's name; none until an acknowledgement has given it.
    pub orchestration: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// The instance that started this one.
    pub parent: Option<Arc<str>>,
    /// The latest execution.
    pub current: u64,
    /// Milliseconds since 1970.
    pub created: i64,
    /// What the orchestration's code said last.
    pub custom_status: Option<String>,
    /// How often it said something.
    pub custom_version: u64,
    /// By their numbers.
    pub executions: BTreeMap<u64, Execution>,
}

/// The heading of an execution.
#[derive(Debug, Clone)]
pub struct Execution {
    /// `Running`, `Completed`, `Failed` or `ContinuedAsNew`, as the runtime says.
    pub status: String,
    /// Events in its history.
    pub events: usize,
    /// The version of duroxide that it must be replayed with.
    pub pinned: Option<Version>,
    /// Milliseconds since 1970.
    pub started: i64,
    /// Milliseconds since 1970.
    pub completed: Option<i64>,
    /// What there is no store for.
    pub kept: Unstored,
}

/// What stays in memory where the store keeps nothing; otherwise it is empty, and the store is asked.
#[derive(Debug, Clone, Default)]
pub struct Unstored {
    /// Result, error, or the input of the next execution.
    pub output: Option<String>,
    /// The history, once the execution is no longer the current one.
    pub history: History,
}

/// Events by their numbers, shared with whoever reads them.
pub type History = Vec<Arc<Event>>;

/// The execution's state as long as it runs.
pub const RUNNING: &str = "Running";

impl Record {
    /// The latest execution's heading.
    pub fn latest(&self) -> Option<&Execution> {
        self.executions.get(&self.current)
    }

    /// The latest execution's state; `Unknown` where there is none.
    pub fn status(&self) -> &str {
        self.latest().map_or("Unknown", |execution| &execution.status)
    }

    /// The highest execution that there is, 1 where there is none.
    pub fn last_execution(&self) -> u64 {
        self.executions.keys().next_back().copied().unwrap_or(1)
    }

    /// Without the executions.
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

    /// Takes a turn of this execution into account.
    pub fn advance(&mut self, execution: u64, metadata: &ExecutionMetadata, events: &History, at: i64) {
        if self.created == 0 {
            self.created = at;
        }
        if let (Some(name), Some(version)) = (&metadata.orchestration_name, &metadata.orchestration_version) {
            if !self.is_named() {
                // Whose child it is never changes.
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

    /// Whether it counts as an instance: others are events that came for a name before an orchestration did.
    pub fn is_named(&self) -> bool {
        self.orchestration.is_some()
    }
}
