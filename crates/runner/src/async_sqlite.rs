//! The driver `async-sqlite`: the library runs a thread for each connection. Its pool hands out connections in turn,
//! whether they are free or not, and each connection has a queue.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_sqlite::{Error, Pool, PoolBuilder};
use litelab_harness::rusqlite::{Cached, CheckedStatements, connect, fault};
use litelab_harness::{Fault, Library, Reply, Request, Setup, refuse_options};
use litelab_protocol::{Connection as Settings, Database};

/// A pool of the library; a pool of one connection is equivalent to the library's `Client`.
pub struct AsyncSqlite {
    pool: Pool,
    checked: Arc<CheckedStatements>,
}

fn failed(error: Error) -> Fault {
    match error {
        Error::Rusqlite(error) => fault(error),
        other => Fault::other(other),
    }
}

impl Library for AsyncSqlite {
    async fn open(
        database: &Database,
        settings: &Settings,
        connections: u32,
        setup: &Setup,
    ) -> Result<(Self, Vec<litelab_harness::Settings>), Fault> {
        refuse_options(settings, &[])?;
        let pool = PoolBuilder::new().path(connect::location(database)).num_conns(connections as usize);
        let pool = pool.open().await.map_err(failed)?;
        let checked = Arc::new(CheckedStatements::default());
        let (mut seen, mut answers) = (BTreeSet::new(), Vec::new());
        // Consecutive calls get the connections in turn. Simultaneous calls, as by `conn_for_each`, would prepare
        // statements before the first has created their schema.
        for _ in 0..connections {
            let (settings, setup, checked) = (settings.clone(), setup.clone(), checked.clone());
            let work = move |connection: &mut rusqlite::Connection| {
                let set = connect::set(connection, &settings);
                Ok((
                    std::ptr::from_ref(connection).addr(),
                    set.and_then(|()| setup.run(&mut Cached::new(connection, &checked))),
                ))
            };
            let (which, answer) = pool.conn_mut(work).await.map_err(failed)?;
            seen.insert(which);
            answers.push(answer?);
        }
        if seen.len() < connections as usize {
            return Err(Fault::Other("the pool did not hand out its connections in turn".into()));
        }
        Ok((Self { pool, checked }, answers))
    }

    /// Runs the request in the thread of the connection whose turn it is.
    async fn run(&self, request: Request<'static>) -> Result<Reply, Fault> {
        let checked = self.checked.clone();
        let work = move |connection: &mut rusqlite::Connection| Ok(request.run(&mut Cached::new(connection, &checked)));
        self.pool.conn_mut(work).await.map_err(failed)?
    }

    async fn close(self) -> Result<(), Fault> {
        self.pool.close().await.map_err(failed)
    }
}
