//! Reads the tables into memory.

use std::collections::HashMap;
use std::sync::Arc;

use duroxide::Event;
use duroxide::providers::{KvEntry, WorkItem};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::core::instance::target;
use crate::core::record::{self, Execution, Record};
use crate::core::recovered::{Kept, Queue, Recovered};
use crate::core::values::Values;
use crate::error::StoreError;
use crate::store::Loaded;

/// Reads the state of the scheduler. Histories are not included; they are read on demand.
pub fn recover(connection: &Connection) -> Result<Recovered, StoreError> {
    let mut executions: HashMap<i64, Vec<(u64, Execution)>> = HashMap::new();
    let mut statement = connection.prepare(
        "SELECT instance, execution, status, pinned, started, completed,
                (SELECT count(*) FROM history h WHERE h.instance = e.instance AND h.execution = e.execution)
         FROM execution e",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let pinned: Option<String> = row.get(3)?;
        let execution = Execution {
            status: row.get(2)?,
            events: usize::try_from(row.get::<_, i64>(6)?).unwrap_or_default(),
            pinned: pinned.and_then(|pinned| pinned.parse().ok()),
            started: row.get(4)?,
            completed: row.get(5)?,
            kept: record::Unstored::default(),
        };
        executions.entry(row.get(0)?).or_default().push((number(row, 1)?, execution));
    }
    let mut statement = connection.prepare(
        "SELECT id, name, orchestration, version, parent, current, created, custom_status, custom_version FROM instance",
    )?;
    let mut rows = statement.query([])?;
    let mut instances = Vec::new();
    while let Some(row) = rows.next()? {
        let id = row.get(0)?;
        let parent: Option<String> = row.get(4)?;
        let record = Record {
            orchestration: row.get(2)?,
            version: row.get(3)?,
            parent: parent.map(Arc::from),
            current: number(row, 5)?,
            created: row.get(6)?,
            custom_status: row.get(7)?,
            custom_version: number(row, 8)?,
            executions: executions.remove(&id).into_iter().flatten().collect(),
        };
        instances.push((id, row.get(1)?, record));
    }
    let is_work = |item: &WorkItem| matches!(item, WorkItem::ActivityExecute { .. });
    let messages = queue(connection, "message", |item| target(item).is_some())?;
    Ok(Recovered { instances, messages, work: queue(connection, "work", is_work)? })
}

/// Reads a queue. A row that cannot be deserialised, or is not of this queue, is quarantined: it stays in the file.
fn queue(connection: &Connection, table: &str, belongs: fn(&WorkItem) -> bool) -> Result<Queue, StoreError> {
    let mut statement = connection.prepare(&format!("SELECT id, visible, attempts, item FROM {table} ORDER BY id"))?;
    let mut rows = statement.query([])?;
    let mut queue = Queue::default();
    while let Some(row) = rows.next()? {
        let id = row.get(0)?;
        queue.last = id;
        let item = serde_json::from_str(row.get_ref(3)?.as_str().unwrap_or_default());
        let reason = match item {
            Ok(item) if belongs(&item) => {
                queue.items.push(Kept { id, visible: row.get(1)?, attempts: row.get(2)?, item });
                continue;
            }
            Ok(_) => "an item of another queue".to_owned(),
            Err(error) => error.to_string(),
        };
        queue.quarantined += 1;
        tracing::warn!(table, id, reason, "a queued row cannot be read: it stays in the file and is not scheduled");
    }
    Ok(queue)
}

/// Reads the history of an execution and the values of its instance.
pub fn load(connection: &Connection, instance: i64, execution: u64) -> Result<Loaded, StoreError> {
    let mut values = Values::default();
    let mut statement =
        connection.prepare_cached("SELECT key, value, updated FROM settled_value WHERE instance = ?1")?;
    let mut rows = statement.query([instance])?;
    while let Some(row) = rows.next()? {
        let entry = KvEntry { value: row.get(1)?, last_updated_at_ms: number(row, 2)? };
        values.settled.insert(row.get(0)?, entry);
    }
    let mut statement =
        connection.prepare_cached("SELECT key, value, updated FROM pending_value WHERE instance = ?1")?;
    let mut rows = statement.query([instance])?;
    while let Some(row) = rows.next()? {
        values.pending.insert(row.get(0)?, (row.get(1)?, number(row, 2)?));
    }
    Ok(Loaded { history: history(connection, instance, execution)?, values })
}

type Understood<T> = Result<T, String>;

fn history(
    connection: &Connection,
    instance: i64,
    execution: u64,
) -> Result<Understood<(record::History, usize)>, StoreError> {
    let mut statement = connection
        .prepare_cached("SELECT data, event FROM history WHERE instance = ?1 AND execution = ?2 ORDER BY event")?;
    let mut rows = statement.query((instance, execution.cast_signed()))?;
    let (mut events, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let data = row.get_ref(0)?.as_str().unwrap_or_default();
        match serde_json::from_str::<Event>(data) {
            Ok(event) => events.push(Arc::new(event)),
            Err(error) => return Ok(Err(format!("event {} of execution {execution}: {error}", number(row, 1)?))),
        }
        bytes += data.len();
    }
    Ok(Ok((events, bytes)))
}

/// Reads the result, the error, or the input of the next execution.
pub fn output(connection: &Connection, instance: i64, execution: u64) -> Result<Option<String>, StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT output FROM execution WHERE instance = ?1 AND execution = ?2")?;
    let output = statement.query_row((instance, execution.cast_signed()), |row| row.get(0)).optional()?;
    Ok(output.flatten())
}

/// Inverse of `super::write::number`.
fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::cast_unsigned)
}
