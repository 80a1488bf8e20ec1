//! The driver `deadpool-sqlite`: a pool whose connections are called in the runtime's pool of blocking threads.

use std::sync::Arc;

use deadpool_sqlite::{Config, InteractError, Object, Pool, PoolConfig, PoolError, Runtime};
use litelab_harness::rusqlite::{Cached, CheckedStatements, connect, fault};
use litelab_harness::{Fault, Library, Reply, Request, Session as _, Setup, panicked, refuse_options, settings_at_end};
use litelab_protocol::{Connection as Settings, Database};

/// A pool of the library. Before it lends a connection it runs a query on it, in a separate job.
pub struct Deadpool {
    pool: Pool,
    connections: u32,
    checked: Arc<CheckedStatements>,
}

/// Runs `work` on the connection in a blocking thread.
async fn ask<R, W>(lent: &Object, checked: &Arc<CheckedStatements>, work: W) -> Result<R, Fault>
where
    R: Send + 'static,
    W: for<'a> FnOnce(&mut Cached<'a>) -> Result<R, Fault> + Send + 'static,
{
    let checked = checked.clone();
    let done = lent.interact(move |connection| work(&mut Cached::new(connection, &checked))).await;
    done.unwrap_or_else(|error| match error {
        InteractError::Panic(panic) => Err(panicked(&*panic)),
        cancelled @ InteractError::Cancelled => Err(Fault::other(cancelled)),
    })
}

fn not_lent(error: PoolError) -> Fault {
    match error {
        PoolError::Backend(error) => fault(error),
        other => Fault::other(other),
    }
}

impl Library for Deadpool {
    async fn open(
        database: &Database,
        settings: &Settings,
        connections: u32,
        setup: &Setup,
    ) -> Result<(Self, Vec<litelab_harness::Settings>), Fault> {
        refuse_options(settings, &[])?;
        let mut config = Config::new(connect::location(database));
        config.pool = Some(PoolConfig::new(connections as usize));
        let pool = config.create_pool(Runtime::Tokio1).map_err(Fault::other)?;
        let checked = Arc::new(CheckedStatements::default());
        // All connections are held until the last exists, because the pool opens none while it has a free one.
        let (mut held, mut answers) = (Vec::new(), Vec::new());
        for _ in 0..connections {
            let lent = pool.get().await.map_err(not_lent)?;
            let settings = settings.clone();
            let set = lent.interact(move |connection| connect::set(connection, &settings));
            set.await.map_err(Fault::other)??;
            let setup = setup.clone();
            answers.push(ask(&lent, &checked, move |session: &mut Cached<'_>| setup.run(session)).await?);
            held.push(lent);
        }
        drop(held);
        Ok((Self { pool, connections, checked }, answers))
    }

    async fn replaced(&self, names: &[String]) -> Result<Option<litelab_harness::Settings>, Fault> {
        let mut open = Vec::new();
        for _ in 0..self.connections {
            open.push(self.pool.get().await.map_err(not_lent)?);
        }
        // A connection taken out of the pool is closed when it is dropped.
        open.into_iter().for_each(|lent| drop(Object::take(lent)));
        let newest = self.pool.get().await.map_err(not_lent)?;
        let names = names.to_owned();
        ask(&newest, &self.checked, move |session: &mut Cached<'_>| session.settings(&names)).await.map(Some)
    }

    /// Requests of all connections at once, of which none ends before all have begun, need as many blocking threads.
    async fn settings(
        self: &Arc<Self>,
        connections: u32,
        names: &'static [String],
    ) -> Result<Vec<litelab_harness::Settings>, Fault> {
        let (mut held, mut all) = (Vec::new(), Vec::new());
        for _ in 0..connections {
            held.push(self.pool.get().await.map_err(not_lent)?);
        }
        for lent in &held {
            let read = move |session: &mut Cached<'_>| settings_at_end(|| session.settings(names));
            all.push(ask(lent, &self.checked, read).await?);
        }
        Ok(all)
    }

    async fn run(&self, request: Request<'static>) -> Result<Reply, Fault> {
        let lent = self.pool.get().await.map_err(not_lent)?;
        ask(&lent, &self.checked, move |session: &mut Cached<'_>| request.run(session)).await
    }

    async fn close(self) -> Result<(), Fault> {
        for _ in 0..self.connections {
            // A connection taken out of the pool is closed when it is dropped, by the runtime in the background.
            drop(Object::take(self.pool.get().await.map_err(not_lent)?));
        }
        Ok(())
    }
}
