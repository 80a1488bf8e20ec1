//! A driver as its runner lists it.

use std::io::BufRead;

use litelab_protocol::{DriverDescription, Executor, Inspect, Inspection, SqliteBuild, Trial};

use crate::awaited::{self, Awaited};
use crate::fault::Fault;
use crate::group::{self, Group};
use crate::hosted::{self, Hosted};
use crate::noop::Noop;
use crate::session::Open;
use crate::{inspect, trial};

/// [`litelab_protocol::Access::kind`]s that this library opens.
const ACCESSES: [&str; 5] = ["per-worker", "shared", "pool", "write-lock", "split"];
/// The same, and the one that is a [`Group`]'s.
const WITH_GROUP: [&str; 6] = ["per-worker", "shared", "pool", "write-lock", "split", "group-commit"];

/// One driver of a runner: its name, what it can, and the verbs compiled for its [`Open`] or [`Hosted`].
pub struct Driver {
    pub(crate) name: &'static str,
    pub(crate) accesses: &'static [&'static str],
    pub(crate) executors: &'static [Executor],
    pub(crate) interface: Option<&'static str>,
    pub(crate) in_memory: bool,
    about: fn() -> Result<About, Fault>,
    pub(crate) run: Run,
    /// Instead, under access `group-commit`.
    pub(crate) group: Option<Run>,
    pub(crate) inspect: fn(&Inspect) -> Result<Inspection, Fault>,
}

type Run = fn(&Trial, &mut dyn BufRead) -> Result<(), Fault>;

/// What `describe` says of a driver beyond what it can.
pub struct About {
    /// Version of the library.
    pub version: String,
    /// The SQLite inside, if there is one.
    pub sqlite: Option<SqliteBuild>,
}

impl Driver {
    /// A driver that takes SQL, with every access and executor there is. `about` is asked by `describe` alone, and may
    /// open a database in memory.
    #[must_use]
    pub const fn new<S: Open>(name: &'static str, about: fn() -> Result<About, Fault>) -> Self {
        Self {
            name,
            accesses: &ACCESSES,
            executors: &Executor::ALL,
            interface: None,
            in_memory: true,
            about,
            run: trial::with::<S>,
            group: None,
            inspect: inspect::with::<S>,
        }
    }

    /// A driver that keeps its connections itself, and runs what it is given on them: under this executor, and these
    /// accesses by [`litelab_protocol::Access::kind`].
    #[must_use]
    pub const fn hosted<H: Hosted>(
        name: &'static str,
        about: fn() -> Result<About, Fault>,
        executor: &'static [Executor],
        accesses: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            accesses,
            executors: executor,
            interface: None,
            in_memory: true,
            about,
            run: hosted::run::<H>,
            group: None,
            inspect: inspect::hosted::<H>,
        }
    }

    /// A driver whose calls are awaited one by one, under executor `dedicated`: its library has a thread for each
    /// connection.
    #[must_use]
    pub const fn awaited<A: Awaited>(
        name: &'static str,
        about: fn() -> Result<About, Fault>,
        accesses: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            accesses,
            executors: &[Executor::Dedicated],
            interface: None,
            in_memory: true,
            about,
            run: awaited::run::<A>,
            group: None,
            inspect: inspect::awaited::<A>,
        }
    }

    /// What every runner has: [`Noop`].
    pub(crate) fn noop() -> Self {
        Self::new::<Noop>("noop", || Ok(About { version: env!("CARGO_PKG_VERSION").into(), sqlite: None }))
    }

    /// And access `group-commit`, by this layer.
    #[must_use]
    pub const fn group<G: Group>(mut self) -> Self {
        self.accesses = &WITH_GROUP;
        self.group = Some(group::run::<G>);
        self
    }

    /// Of the accesses only these, by [`litelab_protocol::Access::kind`].
    #[must_use]
    pub const fn accesses(mut self, kinds: &'static [&'static str]) -> Self {
        self.accesses = kinds;
        self
    }

    /// Of the executors only these.
    #[must_use]
    pub const fn executors(mut self, executors: &'static [Executor]) -> Self {
        self.executors = executors;
        self
    }

    /// No SQL but the operations of this interface of [`litelab_protocol::invocation`]: what else a trial asks for is
    /// refused before anything is opened.
    #[must_use]
    pub const fn interface(mut self, name: &'static str) -> Self {
        self.interface = Some(name);
        self.in_memory = false;
        self
    }

    /// Such a library that keeps its tables in memory as well, where a trial asks for it; others are refused that.
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
            accesses: self.accesses.iter().map(|kind| (*kind).into()).collect(),
            executors: self.executors.to_vec(),
            interface: self.interface.map(Into::into),
            dialect: litelab_protocol::Dialect::Sqlite,
        })
    }
}

/// Finds one by name.
pub(crate) fn find<'a>(drivers: &'a [Driver], name: &str) -> Result<&'a Driver, Fault> {
    drivers.iter().find(|driver| driver.name == name).ok_or_else(|| {
        let known: Vec<_> = drivers.iter().map(|driver| driver.name).collect();
        Fault::Other(format!("driver `{name}` is none of {}", known.join(", ")))
    })
}

/// The version of a package in the text of a lock file, for libraries that have no constant with their own.
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

    #[test]
    fn an_unknown_name_is_answered_with_those_there_are() {
        let list = [Driver::noop()];
        assert!(find(&list, "noop").is_ok());
        assert!(find(&list, "nop").is_err_and(|f| f.to_string() == "driver `nop` is none of noop"));
    }
}
