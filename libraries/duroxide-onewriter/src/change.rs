//! What one acknowledged call changes in the tables.

use std::sync::Arc;

/// The rows that one call adds, alters and removes: all of them become durable, or none.
#[derive(Debug, Default)]
pub struct Change {
    recording: bool,
    rows: Vec<Row>,
}

/// One row. Times are milliseconds since 1970; `instance` is the number that the core gave to an instance's name.
#[derive(Debug)]
#[expect(missing_docs, reason = "a field is the column of its name: `store/schema.sql`")]
pub enum Row {
    /// A new message for an orchestration.
    Message { id: i64, visible: i64, item: String },
    /// It has been fetched so often, and is to be seen from then on.
    MessageRetry { id: i64, visible: i64, attempts: u32 },
    /// A turn has dealt with it. A store keeps nothing of the change where it has no such message: then the disk has refused
    /// what the turn came of.
    MessageDone { id: i64 },
    /// It is dropped, if it is there.
    MessageGone { id: i64 },
    /// A new activity to execute.
    Work { id: i64, visible: i64, item: String },
    /// It has been fetched so often, and is to be seen from then on.
    WorkRetry { id: i64, visible: i64, attempts: u32 },
    /// It has been executed or cancelled.
    WorkDone { id: i64 },
    /// An instance, new or with another orchestration, version or current execution.
    Instance {
        id: i64,
        name: Arc<str>,
        orchestration: Option<String>,
        version: Option<String>,
        parent: Option<String>,
        current: u64,
        created: i64,
    },
    /// The status that the orchestration's own code has set, and how often it has.
    CustomStatus { instance: i64, status: Option<String>, version: u64 },
    /// A new execution.
    Execution {
        instance: i64,
        execution: u64,
        status: String,
        output: Option<String>,
        pinned: Option<String>,
        started: i64,
        completed: Option<i64>,
    },
    /// The version of duroxide that an execution is pinned to.
    Pinned { instance: i64, execution: u64, version: String },
    /// How an execution ended.
    Status { instance: i64, execution: u64, status: String, output: Option<String>, completed: i64 },
    /// One event of a history, as duroxide serialises it.
    Event { instance: i64, execution: u64, event: u64, data: String },
    /// A key set (or, without a value, cleared) by the current execution.
    Value { instance: i64, key: String, value: Option<String>, updated: i64 },
    /// All keys cleared by the current execution.
    ValuesCleared { instance: i64, updated: i64 },
    /// The execution ended: what it set and cleared becomes the instance's.
    ValuesMerged { instance: i64 },
    /// An instance with its executions, histories and values. Its messages and work are rows of their own.
    InstanceGone { id: i64 },
    /// An execution with its history.
    ExecutionGone { instance: i64, execution: u64 },
}

impl Change {
    /// Nothing yet. Without `recording`, rows are not even made: nobody will keep them.
    #[must_use]
    pub fn new(recording: bool) -> Self {
        Self { recording, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, row: impl FnOnce() -> Row) {
        if self.recording {
            self.rows.push(row());
        }
    }

    /// The same rows, for a store that does something else with them.
    #[must_use]
    pub fn into_rows(self) -> Vec<Row> {
        self.rows
    }

    /// The rows, in the order in which they are to be written.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }
}
