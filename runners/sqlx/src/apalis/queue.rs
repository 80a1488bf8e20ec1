//! Calls of the library as an application would make them: each operation is one transaction of apalis-sqlite.
//!
//! In an application apalis's worker claims tasks: it polls and calls a handler. Its calls of the database are public
//! (`apalis_sqlite::queries`); this module makes them in the same order and the same transactions, so that an operation
//! is a call instead of an event. Heartbeats, one small transaction every 30 s, are left out, because no process
//! searches for dead workers here.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use apalis_core::backend::codec::Codec;
use apalis_core::backend::{BackendConfig, TaskResult, TaskSink, WireFormatBackend};
use apalis_core::task::builder::TaskBuilder;
use apalis_core::task::status::Status;
use apalis_core::task::task_id::TaskId;
use apalis_core::worker::context::WorkerContext;
use apalis_sqlite::{Config, SqlitePool, SqliteStorage, SqliteTask, queries};
use litelab_harness::Fault;

use crate::fault;

/// Name of the queue, and prefix of the names of workers.
const NAME: &str = "litelab";

/// The queue as one worker uses it.
pub struct Queue {
    pool: SqlitePool,
    storage: SqliteStorage<String>,
    worker: WorkerContext,
    /// Tasks that were fetched from the file and not yet claimed by the harness.
    fetched: VecDeque<SqliteTask>,
    /// Claimed tasks by their ids, with the current attempt.
    held: HashMap<String, (TaskId, usize)>,
}

/// A task that was claimed.
pub struct Claimed {
    pub id: String,
    pub payload: String,
}

impl Queue {
    /// Registers a worker, because a claim writes its name and the tables require that it exists. `batch` is the number
    /// of tasks that a claim fetches from the file at once.
    pub async fn register(pool: SqlitePool, batch: usize) -> Result<Self, Fault> {
        let config = Config::default().queue(NAME).batch_size(batch);
        let worker = WorkerContext::new(&unique());
        queries::register_worker(&pool, &config, &worker, "SqliteStorage").await.map_err(fault::fault)?;
        let storage = SqliteStorage::new(&pool).with_config(config);
        Ok(Self { pool, storage, worker, fetched: VecDeque::new(), held: HashMap::new() })
    }

    pub fn pool(&self) -> &SqlitePool {
        &self.pool
    }

    pub async fn enqueue(&mut self, payload: String, priority: usize) -> Result<(), Fault> {
        let task = TaskBuilder::new(payload).priority(priority).build();
        self.storage.push_task(task).await.map_err(fault::sink)
    }

    /// Claims the next task, by priority and then by age. The payload is decoded, as for a handler.
    pub async fn claim(&mut self) -> Result<Option<Claimed>, Fault> {
        if self.fetched.is_empty() {
            self.fetched.extend(self.fetch().await.map_err(fault::apalis)?);
        }
        let Some(task) = self.fetched.pop_front() else { return Ok(None) };
        let payload = self.storage.codec().decode(&task.args).map_err(Fault::other)?;
        let id = task.task_id().ok_or_else(|| Fault::Other("a task without an id".into()))?;
        // An attempt begins when the handler is called.
        self.held.insert(id.to_string(), (id.clone(), task.attempt() + 1));
        Ok(Some(Claimed { id: id.to_string(), payload }))
    }

    async fn fetch(&self) -> Result<Vec<SqliteTask>, apalis_sqlite::Error> {
        let mut transaction = self.pool.begin().await?;
        let tasks = queries::fetch_next(&mut *transaction, self.storage.config(), &self.worker).await?;
        transaction.commit().await?;
        Ok(tasks)
    }

    /// Marks a task as done, or as failed: it may then be claimed again at once, up to 25 attempts. Returns `false` for
    /// a task that this worker does not hold.
    pub async fn finish(&mut self, id: &str, done: bool) -> Result<bool, Fault> {
        let Some((task_id, attempt)) = self.held.get(id).cloned() else { return Ok(false) };
        let (status, result) = match done {
            true => (Status::Done, Ok(().into())),
            false => (Status::Failed, Err("given back".into())),
        };
        let result = TaskResult { task_id, attempt, status, result };
        self.acknowledge(id, &result).await.map_err(fault::fault)?;
        self.held.remove(id);
        Ok(true)
    }

    /// Writes the beginning and the end in one transaction, as a worker does for a task that ends before its next poll.
    async fn acknowledge(&self, id: &str, result: &queries::AckPayload) -> Result<(), sqlx::Error> {
        let mut transaction = self.pool.begin().await?;
        queries::lock_tasks(&mut *transaction, &[id.to_owned()], self.worker.name()).await?;
        queries::ack_tasks(&mut *transaction, &[result], self.worker.name()).await?;
        transaction.commit().await
    }

    /// Returns fetched tasks that were not claimed, as a stopping worker does, and closes the pool.
    pub async fn close(&mut self) {
        let left: Vec<String> =
            self.fetched.drain(..).filter_map(|task| task.task_id().map(ToString::to_string)).collect();
        if !left.is_empty() {
            // An error here has no receiver; the tasks then stay with this worker, as after a crash.
            let _given_back = queries::reenqueue_abandoned(&self.pool, NAME, self.worker.name(), &left).await;
        }
        self.pool.close().await;
    }
}

/// A new name for each worker: the library refuses the name of a worker that was active recently.
fn unique() -> String {
    static WORKERS: AtomicU32 = AtomicU32::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let number = WORKERS.fetch_add(1, Ordering::Relaxed);
    format!("{NAME}-{}-{}-{number}", std::process::id(), since.as_nanos())
}
