//! The library as an application would call it: each operation is one transaction of apalis-sqlite.
//!
//! An application leaves claiming to apalis's worker, which polls and calls a handler. What that worker does with the
//! database is public (`apalis_sqlite::queries`), and is done here in the same order and the same transactions, so that
//! an operation is a call and not an event. Heartbeats, one small transaction every 30 s, are left out: nobody here looks
//! for workers that have died.

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

use super::fault;

/// Name of the queue, and beginning of every worker's.
const NAME: &str = "litelab";

/// A worker's way to the queue.
pub struct Queue {
    pool: SqlitePool,
    storage: SqliteStorage<String>,
    worker: WorkerContext,
    /// Taken from the file, and not yet handed over.
    fetched: VecDeque<SqliteTask>,
    /// Handed over, by their ids: the attempt each is at.
    held: HashMap<String, (TaskId, usize)>,
}

/// A task that was claimed.
pub struct Claimed {
    pub id: String,
    pub payload: String,
}

impl Queue {
    /// Registers a worker: a claim writes its name, and the tables demand that it is known. `batch` is how many tasks a
    /// claim takes from the file at once.
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

    /// The next task, by priority and then by age. The payload is decoded, as for a handler.
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

    /// The task is done; or it has failed, and may be claimed again at once until its 25 attempts are used up. False for
    /// one that is not held any more.
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

    /// A worker that was quicker than its next look at the queue writes that it began and that it ended in one go.
    async fn acknowledge(&self, id: &str, result: &queries::AckPayload) -> Result<(), sqlx::Error> {
        let mut transaction = self.pool.begin().await?;
        queries::lock_tasks(&mut *transaction, &[id.to_owned()], self.worker.name()).await?;
        queries::ack_tasks(&mut *transaction, &[result], self.worker.name()).await?;
        transaction.commit().await
    }

    /// Gives back what was taken and not handed over, as a worker that is stopped does, and closes the pool.
    pub async fn close(&mut self) {
        let left: Vec<String> =
            self.fetched.drain(..).filter_map(|task| task.task_id().map(ToString::to_string)).collect();
        if !left.is_empty() {
            // Nobody is left to tell; they stay with this worker then, as after a crash.
            let _given_back = queries::reenqueue_abandoned(&self.pool, NAME, self.worker.name(), &left).await;
        }
        self.pool.close().await;
    }
}

/// The library refuses the name of a worker that was seen a short while ago.
fn unique() -> String {
    static WORKERS: AtomicU32 = AtomicU32::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let number = WORKERS.fetch_add(1, Ordering::Relaxed);
    format!("{NAME}-{}-{}-{number}", std::process::id(), since.as_nanos())
}
