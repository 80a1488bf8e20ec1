//! Facts about the processes that have the database open.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use litelab_observe::{FRAME_HEADER, GoModule, Holders, Lock, SqliteSource, WalIndex, sidecar};

use crate::facts::{Defect, Process, SqliteImage};
use crate::{bundle, defect};

static VERSIONS: LazyLock<BTreeMap<String, String>> =
    LazyLock::new(|| toml::from_str(include_str!("../../../advisories/source-ids.toml")).unwrap_or_default());

/// Examines the processes that have the database at `path` open. The second value tells whether all processes could be
/// examined.
#[must_use]
pub fn look(path: &Path) -> (Vec<Process>, bool) {
    let holders = Holders::of(path);
    let index = WalIndex::read(&sidecar(path, "-shm")).ok().flatten();
    let processes = holders.processes.into_iter().map(|holder| {
        let marks = holder.locks.iter().filter_map(|lock| match lock {
            // Slot 0 reads the database file alone, and no checkpoint may write to it meanwhile.
            Lock::Read(0) => index.filter(|index| index.backlog() > 0).map(|_| 0),
            lock => index?.mark(*lock),
        });
        let snapshot = marks.min();
        let pins_bytes = index.filter(|_| snapshot.is_some()).map(|index| {
            let frame = u64::from(index.page_size.unwrap_or_default()) + FRAME_HEADER;
            let frames = holder.locks.iter().map(|lock| index.pinned(*lock)).max().unwrap_or(0);
            u64::from(frames) * frame
        });
        let copy = |found: SqliteSource| {
            let version = version(&found.source_id);
            SqliteImage { image: found.image, version, source_id: found.source_id }
        };
        let drivers: Vec<_> = holder.modules.iter().filter_map(driver).collect();
        let program = holder.program;
        let sqlite: Vec<SqliteImage> = program.sqlite.into_iter().map(copy).collect();
        Process {
            pid: holder.pid,
            companion: companion(&program.name, &program.command),
            name: program.name,
            sqlite_defects: common_defects(&sqlite),
            sqlite,
            locks: holder.locks.iter().map(Lock::to_string).collect(),
            snapshot,
            pins_bytes,
            deleted: holder.deleted,
            other_namespace: program.other_namespace,
            descriptors: holder.descriptors,
            writable: holder.writable,
            driver_defects: drivers.iter().flat_map(|(name, version)| defect::of_driver(name, version)).collect(),
            drivers: drivers.iter().map(|(name, version)| format!("{name} {version}")).collect(),
        }
    });
    (processes.collect(), holders.complete)
}

/// Driver in a module of Go, and its version.
fn driver(module: &GoModule) -> Option<(&'static str, String)> {
    let bundle = bundle::ALL.iter().find(|bundle| bundle.package == module.path)?;
    Some((bundle.drivers.first()?, module.version.trim_start_matches('v').to_owned()))
}

/// Defects that every copy of a known version has: which copy has the database open cannot be seen.
fn common_defects(copies: &[SqliteImage]) -> Vec<Defect> {
    let mut of_copies = copies.iter().filter_map(|copy| copy.version.as_deref()).map(defect::of_sqlite);
    let Some(mut common) = of_copies.next() else { return Vec::new() };
    for other in of_copies {
        common.retain(|one| other.iter().any(|other| other.name == one.name));
    }
    common
}

/// Version of SQLite by its source id.
#[must_use]
pub fn version(source_id: &str) -> Option<String> {
    VERSIONS.iter().find(|(start, _)| source_id.starts_with(start.as_str())).map(|(_, version)| version.clone())
}

/// Known programs that keep a database open beside the application: `litestream`, `sqlite3` and others.
#[must_use]
pub fn companion(name: &str, command: &str) -> Option<&'static str> {
    let program = command.split(' ').next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
    let known = ["litestream", "sqlite3_rsync", "litefs", "restic", "borg", "sqlite3"];
    known.into_iter().find(|known| name == *known || program == *known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_linked_sqlite_is_in_the_table() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let id: String = connection.query_row("SELECT sqlite_source_id()", [], |row| row.get(0)).unwrap();
        assert_eq!(version(&id).as_deref(), Some(rusqlite::version()));
        assert_eq!(version("2026-10-16 14:45:20 ffffffff"), None);
    }

    #[test]
    fn every_bundled_sqlite_is_in_the_table() {
        for (release, sqlite) in bundle::ALL.iter().flat_map(|bundle| &bundle.releases) {
            let known = VERSIONS.values().any(|version| *version == sqlite.to_string());
            assert!(known, "SQLite {sqlite} of release {release} has no source id");
        }
    }

    #[test]
    fn a_module_may_be_a_driver() {
        let module = |path: &str| GoModule { path: path.into(), version: "v1.40.0".into() };
        assert_eq!(driver(&module("modernc.org/sqlite")), Some(("go:modernc", "1.40.0".into())));
        assert_eq!(driver(&module("modernc.org/libc")), None);
    }

    #[test]
    fn only_defects_of_all_copies_count() {
        let copy =
            |version: Option<&str>| SqliteImage { version: version.map(str::to_owned), ..SqliteImage::default() };
        let names = |copies: &[SqliteImage]| {
            let names = common_defects(copies).into_iter().map(|defect| defect.name);
            names.filter(|name| !name.starts_with("CVE")).collect::<Vec<_>>()
        };
        assert_eq!(names(&[copy(Some("3.50.4")), copy(None)]), ["WAL-reset bug"]);
        assert_eq!(names(&[copy(Some("3.50.4")), copy(Some("3.40.1"))]), ["WAL-reset bug"]);
        assert_eq!(names(&[copy(Some("3.50.4")), copy(Some("3.54.1"))]), [] as [&str; 0]);
    }

    #[test]
    fn companions_are_known_by_the_program() {
        assert_eq!(companion("litestream", "/usr/bin/litestream replicate"), Some("litestream"));
        assert_eq!(companion("python3", "python3 litestream.py"), None);
        assert_eq!(companion("sqlite3", "sqlite3 app.db"), Some("sqlite3"));
    }
}
