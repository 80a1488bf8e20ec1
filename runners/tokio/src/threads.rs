//! The driver `tokio-rusqlite`: the library runs a thread with a queue for each connection.

use std::sync::{Arc, Mutex, PoisonError};

use litelab_harness::rusqlite::{Cached, CheckedStatements, connect, fault};
use litelab_harness::{Fault, Library, Reply, Request, Setup, refuse_options};
use litelab_protocol::{Connection as Settings, Database};
use tokio::sync::Semaphore;
use tokio_rusqlite::{Connection, Error};

/// Connections of the library. It has no pool: an application with several connections lends them out itself, in the
/// order of requests.
pub struct TokioRusqlite {
    free: Mutex<Vec<Connection>>,
    permits: Semaphore,
    /// The connection if there is only one, which all workers share through the library's queue.
    only: Option<Connection>,
    checked: Arc<CheckedStatements>,
}

impl TokioRusqlite {
    fn free(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        // No code panics while it holds the lock.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs `work` in the thread of the connection.
async fn ask<R, W>(connection: &Connection, checked: &Arc<CheckedStatements>, work: W) -> Result<R, Fault>
where
    R: Send + 'static,
    W: for<'a> FnOnce(&mut Cached<'a>) -> Result<R, Fault> + Send + 'static,
{
    let checked = checked.clone();
    connection.call_raw(move |connection| work(&mut Cached::new(connection, &checked))).await.map_err(Fault::other)?
}

impl Library for TokioRusqlite {
    async fn open(
        database: &Database,
        settings: &Settings,
        connections: u32,
        setup: &Setup,
    ) -> Result<(Self, Vec<litelab_harness::Settings>), Fault> {
        refuse_options(settings, &[])?;
        let checked = Arc::new(CheckedStatements::default());
        let (mut free, mut answers) = (Vec::new(), Vec::new());
        for _ in 0..connections {
            let connection = Connection::open(connect::location(database)).await.map_err(fault)?;
            let settings = settings.clone();
            let set = connection.call_raw(move |connection| connect::set(connection, &settings));
            set.await.map_err(Fault::other)??;
            let setup = setup.clone();
            answers.push(ask(&connection, &checked, move |session: &mut Cached<'_>| setup.run(session)).await?);
            free.push(connection);
        }
        let only = if let [only] = &free[..] { Some(only.clone()) } else { None };
        let permits = Semaphore::new(free.len());
        Ok((Self { free: Mutex::new(free), permits, only, checked }, answers))
    }

    async fn run(&self, request: Request<'static>) -> Result<Reply, Fault> {
        let work = move |session: &mut Cached<'_>| request.run(session);
        if let Some(connection) = &self.only {
            return ask(connection, &self.checked, work).await;
        }
        let _permit = self.permits.acquire().await.map_err(Fault::other)?;
        let lent = self.free().pop();
        let Some(connection) = lent else { return Err(Fault::Other("a connection was not given back".into())) };
        let done = ask(&connection, &self.checked, work).await;
        self.free().push(connection);
        done
    }

    async fn close(self) -> Result<(), Fault> {
        let all = std::mem::take(&mut *self.free());
        for connection in all {
            connection.close().await.map_err(|error| match error {
                Error::Close((_, error)) | Error::Error(error) => fault(error),
                other => Fault::other(other),
            })?;
        }
        Ok(())
    }
}
