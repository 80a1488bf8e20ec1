//! The driver under test, and what every check needs to use it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use litelab_engine::runner::Runner;
use litelab_engine::trial::Patience;
use litelab_engine::verify;
use litelab_model::Variant;
use litelab_model::study::Location;
use litelab_protocol::{Dialect, DriverDescription, Executor, Failed, Sharing, Trial};

use crate::conversation::{Heard, Started, refused};
use crate::database::{CheckDatabase, File};
use crate::dialect;
use crate::error::{At, Result, ensure};
#[cfg(feature = "servers")]
use crate::server::Schema;

/// A driver of a runner, with a folder for one check.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The runner that has the driver.
    pub runner: &'a Runner,
    /// Description of the driver, as the runner reports it.
    pub driver: &'a DriverDescription,
    /// Longest waits for the runner.
    pub patience: Patience,
    /// The folder of the check: empty at first, removed after the check.
    pub directory: &'a Path,
    /// URL of the server under the driver; `None` for SQLite.
    pub server: Option<&'a str>,
    /// Executor of the trials. Default: the simplest one that the driver has.
    pub executor: Executor,
    /// Sharing of the trials. Default: the first one that the driver has.
    pub sharing: Sharing,
    /// Number of earlier tries of the check, each of which failed by its timing.
    pub tried: u32,
}

impl<'a> Subject<'a> {
    pub fn new(
        runner: &'a Runner,
        driver: &'a DriverDescription,
        patience: Patience,
        directory: &'a Path,
        server: Option<&'a str>,
    ) -> Self {
        let preferred = [Executor::Threads, Executor::Offload, Executor::Dedicated, Executor::Inline];
        let executor = preferred.into_iter().find(|e| driver.executors.contains(e)).unwrap_or(Executor::Processes);
        let sharing = Sharing::OwnConnection;
        let subject = Self { runner, driver, patience, directory, server, executor, sharing, tried: 0 };
        Self { sharing: subject.sharings().into_iter().next().unwrap_or(sharing), ..subject }
    }

    /// Dialect of the driver.
    pub fn dialect(&self) -> Dialect {
        self.driver.dialect
    }

    /// Selects the value for the driver's dialect.
    pub fn by<T>(&self, sqlite: T, postgres: T, mysql: T) -> T {
        dialect::by(self.dialect(), sqlite, postgres, mysql)
    }

    /// Whether the driver has a database to inspect.
    pub fn has_database(&self) -> bool {
        self.driver.name != "noop"
    }

    /// Creates an empty database with this schema: a file, or a new schema on the server.
    pub fn database(&self, schema: &str) -> Result<Box<dyn CheckDatabase>> {
        match self.server {
            #[cfg(feature = "servers")]
            Some(url) => Ok(Box::new(Schema::create(url, schema)?)),
            _ => Ok(Box::new(self.file(schema)?)),
        }
    }

    /// Creates an SQLite file with this schema, whatever the driver's dialect is.
    pub fn file(&self, schema: &str) -> Result<File> {
        File::create(self.new_path(), schema)
    }

    /// Path of a file that does not exist yet.
    pub fn new_path(&self) -> PathBuf {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        self.directory.join(format!("{}.db", NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    /// Every sharing that the driver has; pools are small enough that workers must wait for a connection.
    fn sharings(&self) -> Vec<Sharing> {
        let all = [
            Sharing::OwnConnection,
            Sharing::OneConnection,
            Sharing::Pool { connections: 2 },
            Sharing::AppLock,
            Sharing::WriterReaders { readers: 2 },
            Sharing::GroupCommit { readers: 2 },
        ];
        all.into_iter().filter(|a| self.has_sharing(a.kind())).collect()
    }

    /// Whether the driver claims a sharing.
    pub fn has_sharing(&self, kind: &str) -> bool {
        self.driver.sharings.iter().any(|a| a == kind)
    }

    /// The driver under every valid combination of executor and sharing. A worker process shares no connection.
    pub fn ways(&self) -> Vec<Self> {
        let mut ways = Vec::new();
        for &executor in &self.driver.executors {
            for sharing in self.sharings() {
                if executor != Executor::Processes || sharing == Sharing::OwnConnection {
                    ways.push(Self { executor, sharing, ..*self });
                }
            }
        }
        ways
    }

    /// Makes a check under every combination of executor and sharing. Returns them in words.
    pub fn in_all_ways(&self, check: impl Fn(&Self) -> Result) -> Result<String> {
        let ways = self.ways();
        ensure!(!ways.is_empty(), "it has no sharing that goes with one of its executors");
        for way in &ways {
            check(way).at(way.way())?;
        }
        Ok(ways.iter().map(Self::way).collect::<Vec<_>>().join(", "))
    }

    /// Executor and sharing in words.
    pub fn way(&self) -> String {
        format!("{} on {}", self.sharing, self.executor)
    }

    /// Starts a trial and waits for `ready`, without sending `go`.
    pub fn start(&self, trial: &Trial) -> Result<Started> {
        Started::new(self.runner, self.directory, self.patience, trial)
    }

    /// Runs a trial that must end with `failed` and exit code 1, before or after `go`.
    pub fn refusal(&self, trial: &Trial) -> Result<Failed> {
        refused(self.runner, self.directory, self.patience, trial, true)
    }

    /// Starts a trial that must end with `failed` and exit code 1 in place of `ready`.
    pub fn refused_at_once(&self, trial: &Trial) -> Result<Failed> {
        refused(self.runner, self.directory, self.patience, trial, false)
    }

    /// Runs a trial to its result. The result must be consistent, and the settings of the connections must not have
    /// changed.
    pub fn run(&self, trial: &Trial) -> Result<Heard> {
        let mut started = self.start(trial)?;
        started.go();
        let heard = self.finish(trial, started)?;
        let complete = heard.result.operations.iter().all(|o| o.unfinished.is_empty());
        verify::kept(&heard.connections, &heard.result.connections, complete)?;
        Ok(heard)
    }

    /// Runs a trial while the suite blocks all writers of table `t`: for the time `held` after `go`, or until the trial
    /// has ended.
    pub fn run_locked(&self, trial: &Trial, on: &dyn CheckDatabase, held: Option<Duration>) -> Result<Heard> {
        let mut started = self.start(trial)?;
        let mut lock = Some(on.hold("t")?);
        started.go();
        if let Some(held) = held {
            std::thread::sleep(held);
            drop(lock.take());
        }
        let heard = self.finish(trial, started);
        drop(lock);
        heard
    }

    /// Reads a started trial to its result, which must be consistent.
    pub fn finish(&self, trial: &Trial, started: Started) -> Result<Heard> {
        let heard = started.finish()?;
        verify::counts(&self.variant(trial), &heard.result)?;
        for operation in &heard.result.operations {
            let (ticked, _) = heard.ticked_of(operation);
            let (name, all) = (&operation.transaction, operation.committed);
            ensure!(ticked <= all, "`{name}`: ticks add up to {ticked}, the result to {all}");
        }
        Ok(heard)
    }

    /// The variant that the engine's own checks take, made from a trial.
    pub fn variant(&self, trial: &Trial) -> Variant {
        Variant {
            scenario: 0,
            dimensions: Default::default(),
            driver: trial.driver.clone(),
            profile: String::new(),
            dialect: self.dialect(),
            server: None,
            settings: Vec::new(),
            location: Location::File,
            databases: trial.databases.len() as u32,
            schema: String::new(),
            data: None,
            trial: trial.clone(),
            invariants: Vec::new(),
            content: Vec::new(),
            duration_ms: None,
            processes: None,
            search: None,
            kill: None,
            ceiling: None,
            // A check that makes transactions fail counts the failures itself.
            failed_at_most: 1.0,
            vars: Default::default(),
            own_begins: Vec::new(),
            skipped: Default::default(),
        }
    }
}
