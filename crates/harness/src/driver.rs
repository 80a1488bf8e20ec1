//! The drivers of a runner.

use std::io::BufRead;

use litelab_protocol::{DriverDescription, Executor, Inspect, Inspection, Interface, SqliteBuild};

use crate::fault::Fault;
use crate::library::{self, GroupCommit, Library};
use crate::noop::{NOOP, Noop};
use crate::session::Open;
use crate::state::TrialState;
use crate::{inspect, sharing};

/// [`litelab_protocol::Sharing::kind`]s that the harness implements.
const SHARINGS: [&str; 5] = ["own-connection", "one-connection", "pool", "app-lock", "writer-readers"];
/// [`SHARINGS`] and the one that [`GroupCommit`] implements.
const WITH_GROUP_COMMIT: [&str; 6] =
    ["own-connection", "one-connection", "pool", "app-lock", "writer-readers", "group-commit"];

/// One driver of a runner: its name, what it can do, and the verbs compiled for it.
pub struct Driver {
    pub(crate) name: &'static str,
    pub(crate) sharings: &'static [&'static str],
    pub(crate) executors: &'static [Executor],
    pub(crate) interface: Option<Interface>,
    pub(crate) in_memory: bool,
    about: fn() -> Result<About, Fault>,
    pub(crate) run: Run,
    /// Replaces `run` under sharing `group-commit`.
    pub(crate) group_commit: Option<Run>,
    pub(crate) inspect: fn(&Inspect) -> Result<Inspection, Fault>,
}

type Run = fn(&'static TrialState, &mut dyn BufRead) -> Result<(), Fault>;

/// Versions of a driver, for `describe`.
pub struct About {
    /// Version of the library.
    pub version: String,
    /// Build of SQLite that the library links; `None` without one.
    pub sqlite: Option<SqliteBuild>,
}

impl Driver {
    /// A driver whose calls block and that takes SQL, with every executor and every sharing except `group-commit`. Only
    /// `describe` calls `about`, which may open a database in memory.
    #[must_use]
    pub fn new<S: Open>(name: &'static str, about: fn() -> Result<About, Fault>) -> Self {
        Self::of(name, about, sharing::run::<S>, inspect::sessions::<S>)
    }

    /// A library that keeps its connections itself, under these executors and every sharing except `group-commit`.
    /// [`Executor::Dedicated`] describes a library with one thread for each connection.
    #[must_use]
    pub fn library<L: Library>(
        name: &'static str,
        about: fn() -> Result<About, Fault>,
        executors: &'static [Executor],
    ) -> Self {
        Self::of(name, about, library::run::<L>, inspect::library::<L>).executors(executors)
    }

    fn of(
        name: &'static str,
        about: fn() -> Result<About, Fault>,
        run: Run,
        inspect: fn(&Inspect) -> Result<Inspection, Fault>,
    ) -> Self {
        Self {
            name,
            sharings: &SHARINGS,
            executors: &Executor::ALL,
            interface: None,
            in_memory: true,
            about,
            run,
            group_commit: None,
            inspect,
        }
    }

    /// The driver [`Noop`], which every runner has.
    pub(crate) fn noop() -> Self {
        Self::new::<Noop>(NOOP, || Ok(About { version: env!("CARGO_PKG_VERSION").into(), sqlite: None }))
    }

    /// Adds sharing `group-commit`, which this layer implements.
    #[must_use]
    pub const fn group_commit<G: GroupCommit>(mut self) -> Self {
        self.sharings = &WITH_GROUP_COMMIT;
        self.group_commit = Some(library::run_group_commit::<G>);
        self
    }

    /// Restricts the kinds of sharing to these, by [`litelab_protocol::Sharing::kind`].
    #[must_use]
    pub const fn sharings(mut self, kinds: &'static [&'static str]) -> Self {
        self.sharings = kinds;
        self
    }

    /// Restricts the executors to these.
    #[must_use]
    pub const fn executors(mut self, executors: &'static [Executor]) -> Self {
        self.executors = executors;
        self
    }

    /// Accepts the operations of this interface instead of SQL: a trial with any other statement is refused before
    /// anything is opened.
    #[must_use]
    pub fn interface(mut self, interface: Interface) -> Self {
        self.interface = Some(interface);
        self.in_memory = false;
        self
    }

    /// Accepts databases in memory in a driver with an interface. Default: a trial in memory is refused.
    #[must_use]
    pub const fn in_memory(mut self) -> Self {
        self.in_memory = true;
        self
    }

    pub(crate) fn describe(&self) -> Result<DriverDescription, Fault> {
        let About { version, sqlite } = (self.about)()?;
        Ok(DriverDescription {
            name: self.name.into(),
            version,
            sqlite,
            sharings: self.sharings.iter().map(|kind| (*kind).into()).collect(),
            executors: self.executors.to_vec(),
            interface: self.interface.clone(),
            dialect: litelab_protocol::Dialect::Sqlite,
        })
    }
}

/// Finds a driver by name.
pub(crate) fn find<'a>(drivers: &'a [Driver], name: &str) -> Result<&'a Driver, Fault> {
    drivers.iter().find(|driver| driver.name == name).ok_or_else(|| {
        let known: Vec<_> = drivers.iter().map(|driver| driver.name).collect();
        Fault::Other(format!("driver `{name}` is none of {}", known.join(", ")))
    })
}

/// Version of a package in the text of a lock file, for libraries that have no constant with their version.
#[must_use]
pub fn locked_version<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let name = format!("name = \"{package}\"\n");
    let entry = lock.split("[[package]]").find(|entry| entry.trim_start().starts_with(&name))?;
    entry.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_package_itself() {
        let lock = "version = 4\n\n[[package]]\nname = \"ab\"\nversion = \"1.2\"\n\n[[package]]\nname = \"a\"\nversion = \"3\"\n";
        assert_eq!((locked_version(lock, "a"), locked_version(lock, "b")), (Some("3"), None));
    }
}
