//! Libraries that keep their connections themselves: a worker hands over a transaction, and waits for it.

mod dedicated;
mod request;
mod trial;

use std::collections::BTreeMap;
use std::sync::Arc;

use litelab_protocol::histogram::Histogram;
use litelab_protocol::{Connection, Database, ErrorCount, TrialResult, codes};
use tokio::task::JoinSet;

use crate::connections::Setup;
use crate::fault::Fault;
use crate::runtime::broken;
use crate::session::Settings;

pub use dedicated::DedicatedThreads;
pub use request::{Reply, Request};
pub use trial::{run, run_group_commit};

use request::Barrier;

/// One or several connections to a database, which a library (or the harness's own threads) keeps.
pub trait Library: Send + Sync + Sized + 'static {
    /// Opens so many connections. On each, one after the other, runs the PRAGMAs in order, and then `setup` on a session of it.
    /// Returns the answers of `setup` in the order of opening.
    ///
    /// # Errors
    /// Where that fails, there is an option that the driver does not have ([`crate::refuse_options`]), or the library cannot keep
    /// so many.
    fn open(
        database: &Database,
        connection: &Connection,
        connections: u32,
        setup: &Setup,
    ) -> impl Future<Output = Result<(Self, Vec<Settings>), Fault>> + Send;

    /// Runs the request on a session of one of the connections, when one is free: by [`Request::run`] in a closure where the
    /// library lends a connection to one, by [`Request::run_async`] where its calls are awaited.
    ///
    /// # Errors
    /// Those of the request, and where the library does not run it. Any ends the trial, except an error of SQLite's in a layer
    /// ([`GroupCommit`]).
    fn run(&self, request: Request<'static>) -> impl Future<Output = Result<Reply, Fault>> + Send;

    /// What is set on each of its `connections` at the trial's end: of these PRAGMAs. Default: as many requests at once, none of
    /// which ends before all have begun, so that each has a connection of its own.
    ///
    /// # Errors
    /// Where a connection cannot be asked; an error of SQLite's gives no settings instead.
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
                asked.spawn(async move { library.run(request).await?.into_settings() });
            }
            let mut settings = Vec::new();
            while let Some(answer) = asked.join_next().await {
                settings.push(answer.map_err(broken)??);
            }
            Ok(settings)
        }
    }

    /// What the library has done since the first transaction, beyond what its calls returned; asked once, when all workers have
    /// ended. Default: nothing.
    fn account(&self) -> Account {
        Account::default()
    }

    /// Closes the connections. What the library does in the background ends when the runtime is dropped.
    ///
    /// # Errors
    /// Where that fails.
    fn close(self) -> impl Future<Output = Result<(), Fault>> + Send;
}

/// A layer that makes the writers of a database share commits: sharing `group-commit`.
///
/// It begins and commits by itself, so a request is one attempt of a transaction without either. An error of SQLite's that it
/// returns is rolled back by the layer and counted. The first connection writes, the others read.
pub trait GroupCommit: Library {
    /// As [`Library::run`]; the thread waits.
    ///
    /// # Errors
    /// As for [`Library::run`].
    fn run_blocking(&self, request: Request<'_>) -> Result<Reply, Fault>;
}

/// What a library did by itself while the workers waited for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Account {
    /// Extended result codes of errors that no caller got, for the library tried again, and how often each occurred. They are
    /// counted, as cured, with the first transaction of the trial's first role: whose they were is not known.
    pub cured: Vec<(i32, u64)>,
    /// Its calls, by the name of a timer of [`TrialResult`].
    pub timers: BTreeMap<String, Histogram>,
}

impl Account {
    /// Adds it to a result.
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

    /// Of several hosts, one after the other.
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
