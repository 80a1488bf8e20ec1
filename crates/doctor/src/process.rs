//! Facts about the processes that have the database open.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use litelab_observe::{Holders, Lock, WalIndex, sidecar};

use crate::facts::{Process, SqliteImage};

/// Bytes that a frame of the log has beside its page (<https://sqlite.org/fileformat2.html#walformat>).
const FRAME_HEADER: u64 = 24;

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
            Lock::Read(slot) => index?.read_marks.get(usize::from(*slot)).copied().flatten(),
            _ => None,
        });
        let snapshot = marks.min();
        let pins_bytes = snapshot.zip(index).map(|(snapshot, index)| {
            let frame = u64::from(index.page_size.unwrap_or_default()) + FRAME_HEADER;
            u64::from(index.frames.saturating_sub(snapshot)) * frame
        });
        Process {
            pid: holder.pid,
            companion: companion(&holder.name, &holder.command),
            name: holder.name,
            sqlite: holder
                .sqlite
                .into_iter()
                .map(|found| SqliteImage {
                    image: found.image,
                    version: version(&found.source_id),
                    source_id: found.source_id,
                })
                .collect(),
            locks: holder.locks.iter().map(Lock::to_string).collect(),
            snapshot,
            pins_bytes,
            deleted: holder.deleted,
            other_namespace: holder.other_namespace,
            descriptors: holder.descriptors,
        }
    });
    (processes.collect(), holders.complete)
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
    ["litestream", "sqlite3_rsync", "litefs", "restic", "borg"]
        .into_iter()
        .find(|known| name == *known || program == *known)
        .or_else(|| (program == "sqlite3" || name == "sqlite3").then_some("sqlite3"))
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
    fn companions_are_known_by_the_program() {
        assert_eq!(companion("litestream", "/usr/bin/litestream replicate"), Some("litestream"));
        assert_eq!(companion("python3", "python3 litestream.py"), None);
        assert_eq!(companion("sqlite3", "sqlite3 app.db"), Some("sqlite3"));
    }
}
