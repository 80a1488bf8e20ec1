//! The driver under test, and what every check needs to use it.

use std::path::{Path, PathBuf};

use litelab_engine::runner::Runner;
use litelab_engine::verify;
use litelab_model::Variant;
use litelab_model::study::Location;
use litelab_protocol::{Dialect, DriverDescription, Executor, Failed, Sharing, Trial};

use crate::conversation::{Heard, Limits, Started, refusal};
use crate::place::CheckDatabase;
use crate::{dialect, file};

/// A driver of a runner, with a folder for one check.
pub struct Subject<'a> {
    /// The runner that has the driver.
    pub runner: &'a Runner,
    /// Description of the driver, as the runner reports it.
    pub driver: &'a DriverDescription,
    /// Longest waits for the runner.
    pub limits: Limits,
    /// The folder of the check: empty at first, removed after the check.
    pub directory: &'a Path,
    /// URL of the server under the driver; `None` for SQLite.
    pub server: Option<&'a str>,
}

impl<'a> Subject<'a> {
    pub fn new(
        runner: &'a Runner,
        driver: &'a DriverDescription,
        limits: Limits,
        directory: &'a Path,
        server: Option<&'a str>,
    ) -> Self {
        Self { runner, driver, limits, directory, server }
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

    /// Creates an empty database with this schema: a file of this name, or a new schema on the server.
    pub fn database(&self, name: &str, schema: &str) -> Result<CheckDatabase, String> {
        match self.server {
            Some(url) => CheckDatabase::on_server(url, schema),
            None => self.file(name, schema).map(CheckDatabase::File),
        }
    }

    /// Creates an SQLite file with this schema, whatever the driver's dialect is.
    pub fn file(&self, name: &str, schema: &str) -> Result<PathBuf, String> {
        let path = self.directory.join(name);
        file::create(&path, schema)?;
        Ok(path)
    }

    /// Executor for checks that are not about executors: the simplest one that the driver has.
    pub fn executor(&self) -> Executor {
        let preferred = [Executor::Threads, Executor::Offload, Executor::Dedicated, Executor::Inline];
        preferred.into_iter().find(|e| self.driver.executors.contains(e)).unwrap_or(Executor::Processes)
    }

    /// Sharing for checks that are not about sharing.
    pub fn sharing(&self) -> Sharing {
        self.sharings().into_iter().next().unwrap_or(Sharing::OwnConnection)
    }

    /// Every sharing that the driver has; pools are small enough that workers must wait for a connection.
    pub fn sharings(&self) -> Vec<Sharing> {
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

    /// Every valid combination of executor and sharing. A worker process shares no connection.
    pub fn ways(&self) -> Vec<(Executor, Sharing)> {
        let mut ways = Vec::new();
        for &executor in &self.driver.executors {
            for sharing in self.sharings() {
                if executor != Executor::Processes || sharing == Sharing::OwnConnection {
                    ways.push((executor, sharing));
                }
            }
        }
        ways
    }

    /// Starts a trial and waits for `ready`, without sending `go`.
    pub fn start(&self, trial: &Trial) -> Result<Started, String> {
        Started::new(self, trial)
    }

    /// Runs a trial to its result. The result must be consistent, and the settings of the connections must not have
    /// changed.
    pub fn run(&self, trial: &Trial) -> Result<Heard, String> {
        let mut started = self.start(trial)?;
        started.go();
        let heard = self.finish(trial, started)?;
        let complete = heard.result.operations.iter().all(|o| o.unfinished.is_empty());
        verify::kept(&heard.connections, &heard.result.connections, complete)?;
        Ok(heard)
    }

    /// Reads a started trial to its result, which must be consistent.
    pub fn finish(&self, trial: &Trial, started: Started) -> Result<Heard, String> {
        let heard = started.finish()?;
        verify::counts(&self.variant(trial), &heard.result)?;
        for operation in &heard.result.operations {
            let ticked: u64 = (heard.ticks.iter().flat_map(|(_, t)| &t.counts))
                .filter(|c| c.role == operation.role && c.transaction == operation.transaction)
                .map(|c| c.committed)
                .sum();
            if ticked > operation.committed {
                let name = &operation.transaction;
                return Err(format!("`{name}`: ticks add up to {ticked}, the result to {}", operation.committed));
            }
        }
        Ok(heard)
    }

    /// The variant that the engine's own checks take, made from a trial.
    pub fn variant(&self, trial: &Trial) -> Variant {
        variant(trial, self.dialect())
    }

    /// Runs a trial that must end with `failed` and exit code 1.
    pub fn refusal(&self, trial: &Trial) -> Result<Failed, String> {
        refusal(self, trial)
    }
}

/// The variant that the engine's own checks take, made from a trial.
fn variant(trial: &Trial, dialect: Dialect) -> Variant {
    Variant {
        scenario: 0,
        dimensions: Default::default(),
        driver: trial.driver.clone(),
        profile: String::new(),
        dialect,
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
        search: None,
        kill: None,
        ceiling: None,
        // A check that makes transactions fail counts the failures itself.
        failed_at_most: 1.0,
        vars: Default::default(),
        skipped: Default::default(),
    }
}
