//! Facts about the machine and the file system below a database.

use std::path::Path;

use litelab_observe::environment::filesystem::{Filesystem, class, is_mount_point};
use litelab_observe::environment::warning::synced_by;
use litelab_observe::environment::{Disk, FsyncConfig, FsyncProbe};
use serde::Serialize;

use crate::facts::Host;

/// Reads the facts for the database at `path`. With `fsync` it measures synced writes in scratch files of the
/// database's folder, for at most a second; otherwise it writes nothing.
#[must_use]
pub fn look(path: &Path, fsync: bool) -> Host {
    let mut host = Host { os: std::env::consts::OS, filesystem_class: "unknown", ..Host::default() };
    let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let folder = real.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Some(filesystem) = Filesystem::of(folder) {
        host.filesystem_class = filesystem.kind.as_deref().map_or("unknown", class);
        host.filesystem = filesystem.kind;
        host.read_only = filesystem.options.iter().any(|option| option == "ro");
        host.mount_options = filesystem.options;
        host.free_bytes = filesystem.free_bytes;
    }
    // File systems without a fixed number of inodes report 0 in total.
    host.free_files = rustix::fs::statvfs(folder).ok().filter(|space| space.f_files > 0).map(|space| space.f_favail);
    host.file_is_mount = is_mount_point(&real);
    host.synced_by = synced_by(folder);
    host.container = container();
    host.wsl = std::fs::read_to_string("/proc/sys/kernel/osrelease")
        .is_ok_and(|release| release.to_lowercase().contains("microsoft"));
    if let Some(disk) = Disk::below(folder) {
        host.disk = word(disk.kind);
        host.write_cache = disk.write_cache.and_then(word);
    }
    if fsync && let Ok(probe) = FsyncProbe::run(folder, FsyncConfig::default()) {
        let milliseconds = |nanoseconds: u64| nanoseconds as f64 / 1e6;
        host.fsync_ms = Some(milliseconds(probe.append.p50_ns));
        host.fsync_worst_ms = Some(milliseconds(probe.append.p99_ns));
    }
    host
}

/// The word that a value serialises to.
fn word(value: impl Serialize) -> Option<String> {
    serde_json::to_value(value).ok()?.as_str().map(str::to_owned)
}

/// Kind of the container this process runs in, by the files and variables that container engines set.
fn container() -> Option<String> {
    if let Some(name) = std::env::var("container").ok().filter(|name| !name.is_empty()) {
        return Some(name);
    }
    if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() {
        return Some("kubernetes".into());
    }
    let files = [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")];
    files.into_iter().find(|(file, _)| Path::new(file).exists()).map(|(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_writes_nothing_and_knows_the_file_system() {
        let folder = tempfile::tempdir().unwrap();
        let host = look(&folder.path().join("app.db"), false);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(host.fsync_ms.is_none() && !host.file_is_mount, "{host:?}");
        if host.os == "linux" {
            assert!(host.filesystem.is_some() && host.free_bytes.is_some(), "{host:?}");
        }
        let measured = look(&folder.path().join("app.db"), true);
        assert!(measured.fsync_ms.is_some_and(|ms| ms > 0.0), "{measured:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "scratch files are gone");
    }
}
