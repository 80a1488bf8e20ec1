//! Reads the tables into memory.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use duroxide::Event;
use duroxide::providers::{KvEntry, SystemMetrics, WorkItem};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::core::instance::target;
use crate::core::listing::{Selection, Summary};
use crate::core::record::{self, Execution, Record};
use crate::core::recovered::{Kept, Queue, Recovered};
use crate::core::values::Values;
use crate::error::StoreError;
use crate::store::Loaded;

/// Columns of an instance, for [`record_of`].
const INSTANCE: &str =
    "SELECT id, name, orchestration, version, parent, current, created, custom_status, custom_version
     FROM instance";

/// Columns of an execution, for [`execution_of`].
const EXECUTION: &str = "SELECT instance, execution, status, pinned, started, completed,
            (SELECT count(*) FROM history h WHERE h.instance = e.instance AND h.execution = e.execution)
     FROM execution e";

/// Instances with a running execution, from a partial index of these alone.
const LIVE: &str = "(SELECT instance FROM execution WHERE status = 'Running')";

/// Reads the state of the scheduler: queues, and instances that are running or have messages. Histories are not
/// included. Instances and histories are read on demand.
pub fn recover(connection: &Connection) -> Result<Recovered, StoreError> {
    let mut executions: HashMap<i64, Vec<(u64, Execution)>> = HashMap::new();
    let mut statement = connection.prepare(&format!("{EXECUTION} WHERE instance IN {LIVE}"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        executions.entry(row.get(0)?).or_default().push(execution_of(row)?);
    }
    let mut statement = connection.prepare(&format!("{INSTANCE} WHERE id IN {LIVE}"))?;
    let mut rows = statement.query([])?;
    let (mut instances, mut names) = (Vec::new(), HashSet::new());
    while let Some(row) = rows.next()? {
        let (id, name): (i64, String) = (row.get(0)?, row.get(1)?);
        names.insert(name.clone());
        instances.push((id, name, record_of(row, executions.remove(&id).unwrap_or_default())?));
    }
    let is_work = |item: &WorkItem| matches!(item, WorkItem::ActivityExecute { .. });
    let messages = queue(connection, "message", |item| target(item).is_some())?;
    for name in messages.items.iter().filter_map(|kept| target(&kept.item)) {
        if names.insert(name.to_owned())
            && let Some((id, record)) = find(connection, name)?
        {
            instances.push((id, name.to_owned(), record));
        }
    }
    let last_instance = connection.query_row("SELECT coalesce(max(id), 0) FROM instance", [], |row| row.get(0))?;
    // Numbers of deleted instances are missing, so this may be true without need.
    let elsewhere = usize::try_from(last_instance).is_ok_and(|last| last > instances.len());
    Ok(Recovered { instances, last_instance, elsewhere, messages, work: queue(connection, "work", is_work)? })
}

fn execution_of(row: &Row<'_>) -> rusqlite::Result<(u64, Execution)> {
    let pinned: Option<String> = row.get(3)?;
    let execution = Execution {
        status: row.get(2)?,
        events: usize::try_from(row.get::<_, i64>(6)?).unwrap_or_default(),
        pinned: pinned.and_then(|pinned| pinned.parse().ok()),
        started: row.get(4)?,
        completed: row.get(5)?,
        kept: record::Unstored::default(),
    };
    Ok((number(row, 1)?, execution))
}

fn record_of(row: &Row<'_>, executions: Vec<(u64, Execution)>) -> rusqlite::Result<Record> {
    let parent: Option<String> = row.get(4)?;
    Ok(Record {
        orchestration: row.get(2)?,
        version: row.get(3)?,
        parent: parent.map(Arc::from),
        current: number(row, 5)?,
        created: row.get(6)?,
        custom_status: row.get(7)?,
        custom_version: number(row, 8)?,
        executions: executions.into_iter().collect(),
    })
}

/// Reads the number and the record of the instance with this name.
pub fn find(connection: &Connection, name: &str) -> Result<Option<(i64, Record)>, StoreError> {
    let mut statement = connection.prepare_cached(&format!("{INSTANCE} WHERE name = ?1"))?;
    let mut rows = statement.query([name])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let id: i64 = row.get(0)?;
    let mut executions = connection.prepare_cached(&format!("{EXECUTION} WHERE instance = ?1"))?;
    let executions = executions.query_map([id], execution_of)?.collect::<Result<_, _>>()?;
    Ok(Some((id, record_of(row, executions)?)))
}

/// Reads the names of the selected instances, the latest instance first.
pub fn list(connection: &Connection, selection: &Selection) -> Result<Vec<String>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT name, parent IS NOT NULL, coalesce(status, 'Unknown'), completed
         FROM instance LEFT JOIN execution ON instance = id AND execution = current
         WHERE orchestration IS NOT NULL ORDER BY id DESC",
    )?;
    let mut rows = statement.query([])?;
    let mut names = Vec::new();
    while names.len() < selection.most
        && let Some(row) = rows.next()?
    {
        let (name, status): (String, String) = (row.get(0)?, row.get(2)?);
        let summary = Summary { name: &name, has_parent: row.get(1)?, status: &status, completed: row.get(3)? };
        if selection.fits(&summary) {
            names.push(name);
        }
    }
    Ok(names)
}

/// Reads the names of the instances that this one has started.
pub fn children(connection: &Connection, name: &str) -> Result<Vec<String>, StoreError> {
    let mut statement = connection
        .prepare_cached("SELECT name FROM instance WHERE parent = ?1 AND orchestration IS NOT NULL ORDER BY id")?;
    Ok(statement.query_map([name], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

/// Counts instances, executions and events.
pub fn metrics(connection: &Connection) -> Result<SystemMetrics, StoreError> {
    let sql = "SELECT count(*), coalesce(sum(status = 'Running'), 0), coalesce(sum(status = 'Completed'), 0),
                      coalesce(sum(status = 'Failed'), 0),
                      (SELECT count(*) FROM execution), (SELECT count(*) FROM history)
               FROM instance LEFT JOIN execution ON instance = id AND execution = current
               WHERE orchestration IS NOT NULL";
    let metrics = connection.query_row(sql, [], |row| {
        Ok(SystemMetrics {
            total_instances: number(row, 0)?,
            running_instances: number(row, 1)?,
            completed_instances: number(row, 2)?,
            failed_instances: number(row, 3)?,
            total_executions: number(row, 4)?,
            total_events: number(row, 5)?,
        })
    })?;
    Ok(metrics)
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
