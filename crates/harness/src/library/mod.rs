//! Libraries that keep their connections themselves: a worker passes a transaction to the library and waits for its
//! end.

mod dedicated;
mod request;
mod trial;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

use litelab_protocol::histogram::Histogram;
use litelab_protocol::{Connection, Database, ErrorCount, TrialResult, codes};
use tokio::task::JoinSet;

use crate::connections::Setup;
use crate::fault::Fault;
use crate::runtime::broken;
use crate::session::Settings;

pub use dedicated::DedicatedThreads;
pub(crate) use request::AskedStatement;
pub use request::{Reply, Request};
pub use trial::{run, run_group_commit};

use request::Barrier;

/// Connections to a database, kept by a library or by the harness's own threads.
pub trait Library: Send + Sync + Sized + 'static {
    /// Opens `connections` connections, one after the other: runs the settings in order on each, then `setup` on a
    /// session of it. Returns the settings that `setup` has read, in the order of opening.
    ///
    /// # Errors
    /// An error of SQLite's, an option that the driver does not have ([`crate::refuse_options`]), or more connections
    /// than the library supports.
    fn open(
        database: &Database,
        connection: &Connection,
        connections: u32,
        setup: &Setup,
    ) -> impl Future<Output = Result<(Self, Vec<Settings>), Fault>> + Send;

    /// As [`Library::open`], by a complete data source name, as an application opens it: nothing is added to what the
    /// library does. Default: the name is a path for [`Library::open`].
    ///
    /// # Errors
    /// As for [`Library::open`].
    fn open_dsn(
        dsn: &str,
        connection: &Connection,
        connections: u32,
        setup: &Setup,
    ) -> impl Future<Output = Result<(Self, Vec<Settings>), Fault>> + Send {
        async move { Self::open(&Database::File { path: dsn.into() }, connection, connections, setup).await }
    }

    /// Closes a free connection, and reads the settings of the one that the library opens in its place. Default: `None`,
    /// for a library that opens none.
    ///
    /// # Errors
    /// A connection that cannot be opened or read.
    fn replaced(&self, _names: &[String]) -> impl Future<Output = Result<Option<Settings>, Fault>> + Send {
        async { Ok(None) }
    }

    /// Runs the request on a session of one connection when one is free: by [`Request::run`] if the library lends a
    /// connection to a closure, by [`Request::run_async`] if its calls are awaited.
    ///
    /// # Errors
    /// Those of the request, or of a library that does not run it. Each ends the trial, except an error of SQLite's in
    /// a layer ([`GroupCommit`]).
    fn run(&self, request: Request<'static>) -> impl Future<Output = Result<Reply, Fault>> + Send;

    /// Values of these PRAGMAs on each of its `connections` at the end of the trial. Default: one request for each
    /// connection, none of which ends before all have begun, so that each has a different connection.
    ///
    /// # Errors
    /// A request that fails. After an error of SQLite's the settings are empty instead.
    fn settings(
        self: &Arc<Self>,
        connections: u32,
        names: &'static [String],
    ) -> impl Future<Output = Result<Vec<Settings>, Fault>> + Send {
        async move {
            let barrier = Arc::new(Barrier::new(connections));
            let mut asked = JoinSet::new();
            for _ in 0..connections {
                let (library, request) = (self.clone(), Request::settings(names, barrier.clone()));
                let settings = async move { library.run(request).await?.into_settings() };
                // Boxed, so that tokio's code of a task is not compiled for each driver.
                asked.spawn(Box::pin(settings) as Pin<Box<dyn Future<Output = Result<_, Fault>> + Send>>);
            }
            let mut settings = Vec::new();
            while let Some(answer) = asked.join_next().await {
                settings.push(answer.map_err(broken)??);
            }
            Ok(settings)
        }
    }

    /// Work of the library since the first transaction that its calls did not return. Requested once, after all workers
    /// have ended. Default: nothing.
    fn account(&self) -> Account {
        Account::default()
    }

    /// Closes the connections. Background tasks of the library end when the runtime is dropped.
    ///
    /// # Errors
    /// A connection that cannot be closed.
    fn close(self) -> impl Future<Output = Result<(), Fault>> + Send;
}

/// A layer in which the writers of a database share commits: sharing `group-commit`.
///
/// The layer sends begin and commit, so a request is one attempt of a transaction without either. If a request returns
/// an error of SQLite's, the layer rolls it back and counts it. The first connection writes, the others read.
pub trait GroupCommit: Library {
    /// As [`Library::run`], but blocks the thread.
    ///
    /// # Errors
    /// As for [`Library::run`].
    fn run_blocking(&self, request: Request<'_>) -> Result<Reply, Fault>;
}

/// Errors and calls of a library that no worker saw.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Account {
    /// Extended result codes of errors after which the library retried, and their numbers. They count as cured errors
    /// of the first transaction of the trial's first role, because the transactions they belong to are unknown.
    pub cured: Vec<(i32, u64)>,
    /// Durations of its calls, by the name of a timer of [`TrialResult`].
    pub timers: BTreeMap<String, Histogram>,
}

impl Account {
    /// Adds the account to a result.
    fn add_to(self, result: &mut TrialResult) {
        if let Some(first) = result.operations.first_mut() {
            for (code, times) in self.cured {
                let count = first.errors.entry(codes::name(code).into()).or_default();
                count.add(ErrorCount { seen: times, cured: times, message: None });
            }
        }
        for (name, timer) in self.timers {
            result.timers.entry(name).or_default().merge(&timer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use litelab_protocol::Begin;

    use crate::record::CounterTable;

    fn timer(values: &[u64]) -> Histogram {
        let mut timer = Histogram::new();
        values.iter().for_each(|nanos| timer.record(*nanos));
        timer
    }

    /// Accounts of several databases are added one after the other.
    #[test]
    fn an_account_is_added_to_the_first_transaction() {
        let account = |cured: &[(i32, u64)], timers: &[(&str, u64)]| Account {
            cured: cured.to_vec(),
            timers: timers.iter().map(|(name, nanos)| ((*name).into(), timer(&[*nanos]))).collect(),
        };
        let mut trial = crate::testing::trial("x", vec![], vec![], vec![]);
        for name in ["a", "b"] {
            trial.transactions.push(crate::testing::transaction(name, Begin::None, vec![], vec![]));
        }
        trial.roles.push(crate::testing::role("r", 1, &[0, 1], crate::testing::count(1)));
        let counters = CounterTable::new(&trial);
        let mut result = TrialResult { operations: counters.operations(&trial), ..TrialResult::default() };
        account(&[(5, 2), (517, 1)], &[("ack", 30)]).add_to(&mut result);
        account(&[(5, 1)], &[("ack", 10), ("fetch", 1)]).add_to(&mut result);
        let cured = |n| ErrorCount { seen: n, cured: n, message: None };
        assert_eq!(
            result.operations[0].errors,
            BTreeMap::from([("SQLITE_BUSY".to_owned(), cured(3)), ("SQLITE_BUSY_SNAPSHOT".to_owned(), cured(1))])
        );
        assert!(result.operations[1].errors.is_empty());
        let timers = [("ack".to_owned(), timer(&[10, 30])), ("fetch".to_owned(), timer(&[1]))];
        assert_eq!(result.timers, timers.into());
    }
}
