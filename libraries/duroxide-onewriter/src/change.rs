//! The row changes of one acknowledged provider call.

use std::sync::Arc;

/// The rows that one call inserts, updates and deletes. They become durable together or not at all.
#[derive(Debug, Default)]
pub struct Change {
    recording: bool,
    rows: Vec<Row>,
}

/// A change of one row. Times are in milliseconds since 1970; `instance` is the number that the core assigned to an
/// instance name.
#[derive(Debug)]
#[expect(missing_docs, reason = "a field is the column of its name: `store/schema.sql`")]
pub enum Row {
    /// Inserts a message for an orchestration.
    Message { id: i64, visible: i64, item: String },
    /// Updates the number of fetches of a message, and the time from which it is visible.
    MessageRetry { id: i64, visible: i64, attempts: u32 },
    /// Deletes a message that a turn has processed. If there is no such message, a store must reject the whole change:
    /// the commit of the message that the turn depends on has failed.
    MessageDone { id: i64 },
    /// Deletes a message, if it exists.
    MessageGone { id: i64 },
    /// Inserts an activity to execute.
    Work { id: i64, visible: i64, item: String },
    /// Updates the number of fetches of an activity, and the time from which it is visible.
    WorkRetry { id: i64, visible: i64, attempts: u32 },
    /// Deletes an activity that has been executed or cancelled.
    WorkDone { id: i64 },
    /// Inserts an instance, or updates its orchestration, version or current execution.
    Instance {
        id: i64,
        name: Arc<str>,
        orchestration: Option<String>,
        version: Option<String>,
        parent: Option<String>,
        current: u64,
        created: i64,
    },
    /// Updates the custom status that the orchestration set, and the number of times it was set.
    CustomStatus { instance: i64, status: Option<String>, version: u64 },
    /// Inserts an execution.
    Execution {
        instance: i64,
        execution: u64,
        status: String,
        output: Option<String>,
        pinned: Option<String>,
        started: i64,
        completed: Option<i64>,
    },
    /// Sets the duroxide version that an execution is pinned to.
    Pinned { instance: i64, execution: u64, version: String },
    /// Updates the status and output of an execution that has ended.
    Status { instance: i64, execution: u64, status: String, output: Option<String>, completed: i64 },
    /// Inserts a history event, serialised by duroxide.
    Event { instance: i64, execution: u64, event: u64, data: String },
    /// Sets a key in the current execution, or clears it if `value` is `None`.
    Value { instance: i64, key: String, value: Option<String>, updated: i64 },
    /// Clears all keys in the current execution.
    ValuesCleared { instance: i64, updated: i64 },
    /// Merges the values of the ended execution into those of the instance.
    ValuesMerged { instance: i64 },
    /// Deletes an instance with its executions, histories and values. Its messages and activities have rows of their
    /// own.
    InstanceGone { id: i64 },
    /// Deletes an execution and its history.
    ExecutionGone { instance: i64, execution: u64 },
}

impl Change {
    /// Creates an empty change. If `recording` is false, rows are not built, because no store keeps them.
    #[must_use]
    pub fn new(recording: bool) -> Self {
        Self { recording, rows: Vec::new() }
    }

    /// Appends a row.
    pub fn row(&mut self, row: impl FnOnce() -> Row) {
        if self.recording {
            self.rows.push(row());
        }
    }

    /// Returns the rows by value, for a store that does not write them to tables.
    #[must_use]
    pub fn into_rows(self) -> Vec<Row> {
        self.rows
    }

    /// Returns the rows in the order in which they must be written.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }
}
