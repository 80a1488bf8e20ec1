//! The driver `async-sqlite`: the library runs a thread for each connection. Its pool hands out connections in turn, whether
//! they are free or not, and each has a queue of its own.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_sqlite::{Error, Pool, PoolBuilder};
use litelab_harness::rusqlite::{Cached, Known, connect, fault};
use litelab_harness::{Fault, Hosted, refuse_options};
use litelab_protocol::{Connection as Settings, Database};

/// A pool of the library; one of a single connection is what its `Client` is.
pub struct AsyncSqlite {
    pool: Pool,
    known: Arc<Known>,
}

/// Runs it in the thread of the connection whose turn it is.
async fn ask<R, W>(pool: &Pool, known: &Arc<Known>, work: W) -> Result<R, Fault>
where
    R: Send + 'static,
    W: for<'a> FnOnce(&mut Cached<'a>) -> R + Send + 'static,
{
    let known = known.clone();
    pool.conn_mut(move |connection| Ok(work(&mut Cached::new(connection, &known)))).await.map_err(failed)
}

fn failed(error: Error) -> Fault {
    match error {
        Error::Rusqlite(error) => fault(error),
        other => Fault::other(other),
    }
}

impl Hosted for AsyncSqlite {
    type Session<'a> = Cached<'a>;

    async fn open<R, F>(
        database: &Database,
        settings: &Settings,
        connections: u32,
        ready: F,
    ) -> Result<(Self, Vec<R>), Fault>
    where
        R: Send + 'static,
        F: for<'a> Fn(&mut Cached<'a>) -> Result<R, Fault> + Clone + Send + Sync + 'static,
    {
        refuse_options(settings, &[])?;
        let pool = PoolBuilder::new().path(connect::location(database)).num_conns(connections as usize);
        let pool = pool.open().await.map_err(failed)?;
        let known = Arc::new(Known::default());
        let (mut seen, mut answers) = (BTreeSet::new(), Vec::new());
        // Called one after the other they come in turn; at once, as by `conn_for_each`, the first could not make the
        // schema that the others prepare for.
        for _ in 0..connections {
            let (settings, ready, known) = (settings.clone(), ready.clone(), known.clone());
            let work = move |connection: &mut rusqlite::Connection| {
                let set = connect::set(connection, &settings);
                Ok((
                    std::ptr::from_ref(connection).addr(),
                    set.and_then(|()| ready(&mut Cached::new(connection, &known))),
                ))
            };
            let (which, answer) = pool.conn_mut(work).await.map_err(failed)?;
            seen.insert(which);
            answers.push(answer?);
        }
        if seen.len() < connections as usize {
            return Err(Fault::Other("the pool did not hand out its connections in turn".into()));
        }
        Ok((Self { pool, known }, answers))
    }

    async fn call<R, W>(&self, work: W) -> Result<R, Fault>
    where
        R: Send + 'static,
        W: for<'a> FnOnce(&mut Cached<'a>) -> R + Send + 'static,
    {
        ask(&self.pool, &self.known, work).await
    }

    async fn close(self) -> Result<(), Fault> {
        self.pool.close().await.map_err(failed)
    }
}
