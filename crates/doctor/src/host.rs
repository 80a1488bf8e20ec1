//! Facts about the machine and the file system below a database.

use std::path::Path;

use litelab_observe::environment::disk::WriteCache;
use litelab_observe::environment::filesystem::{Filesystem, is_mount_point};
use litelab_observe::environment::{DeviceKind, Disk, FsyncConfig, FsyncProbe};

use crate::facts::Host;

/// Reads the facts for the database at `path`. With `fsync` it measures synced writes in scratch files of the
/// database's folder, for at most a second; otherwise it writes nothing.
#[must_use]
pub fn look(path: &Path, fsync: bool) -> Host {
    let mut host = Host { os: std::env::consts::OS, filesystem_class: "unknown", ..Host::default() };
    let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let folder = real.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Some(filesystem) = Filesystem::look(folder) {
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
    host.wsl = text("/proc/sys/kernel/osrelease").is_some_and(|release| release.to_lowercase().contains("microsoft"));
    if let Some(disk) = Disk::below(folder) {
        host.disk = Some(kind(disk.kind).to_owned());
        host.write_cache = disk.write_cache.map(|cache| match cache {
            WriteCache::WriteBack => "write-back".to_owned(),
            WriteCache::WriteThrough => "write-through".to_owned(),
        });
    }
    if fsync && let Ok(probe) = FsyncProbe::run(folder, FsyncConfig::default()) {
        let milliseconds = |nanoseconds: u64| nanoseconds as f64 / 1e6;
        host.fsync_ms = Some(milliseconds(probe.append.p50_ns));
        host.fsync_worst_ms = Some(milliseconds(probe.append.p99_ns));
    }
    host
}

/// Class of a file system by its kernel name.
#[must_use]
pub fn class(name: &str) -> &'static str {
    match name {
        "nfs" | "nfs4" | "cifs" | "smb3" | "smbfs" | "afs" | "ceph" | "glusterfs" | "lustre" | "beegfs" | "gfs2"
        | "ocfs2" | "fuse.sshfs" | "fuse.glusterfs" | "fuse.ceph" | "fuse.s3fs" | "fuse.rclone" | "fuse.gcsfuse"
        | "fuse.juicefs" | "davfs" | "fuse.davfs2" => "network",
        "virtiofs" | "9p" | "vboxsf" | "vmhgfs" | "fuse.vmhgfs-fuse" | "drvfs" | "prl_fs" | "fakeowner"
        | "fuse.grpcfuse" | "fuse.osxfs" => "shared",
        "overlay" | "overlayfs" | "aufs" => "overlay",
        "tmpfs" | "ramfs" => "memory",
        // A local disk behind FUSE by the kernel's own block device.
        "fuseblk" => "local",
        name if name == "fuse" || name.starts_with("fuse.") => "fuse",
        "ext2" | "ext3" | "ext4" | "xfs" | "btrfs" | "zfs" | "f2fs" | "bcachefs" | "jfs" | "reiserfs" | "vfat"
        | "exfat" | "ntfs" | "ntfs3" | "apfs" | "hfs" | "ufs" => "local",
        _ => "unknown",
    }
}

fn kind(kind: DeviceKind) -> &'static str {
    match kind {
        DeviceKind::Rotational => "rotational",
        DeviceKind::Ssd => "ssd",
        DeviceKind::Nvme => "nvme",
        DeviceKind::Virtual => "virtual",
        DeviceKind::Loop => "loop",
        DeviceKind::Network => "network",
        DeviceKind::Ram => "ram",
        DeviceKind::Unknown => "unknown",
    }
}

/// Service that synchronises a folder: by a folder name on its path, or by a marker file of the service above it.
fn synced_by(folder: &Path) -> Option<&'static str> {
    let names = folder.components().filter_map(|part| part.as_os_str().to_str()).find_map(|name| match name {
        "Dropbox" => Some("Dropbox"),
        "OneDrive" => Some("OneDrive"),
        "Google Drive" | "GoogleDrive" => Some("Google Drive"),
        "Mobile Documents" => Some("iCloud"),
        "Nextcloud" => Some("Nextcloud"),
        _ => None,
    });
    let marked = || {
        folder.ancestors().find_map(|above| {
            let has = |name: &str| above.join(name).exists();
            if has(".stfolder") {
                Some("Syncthing")
            } else if has(".dropbox") {
                Some("Dropbox")
            } else if has(".nextcloudsync.log") {
                Some("Nextcloud")
            } else {
                None
            }
        })
    };
    names.or_else(marked)
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

fn text(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
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

    #[test]
    fn file_systems_have_a_class() {
        let classes = ["nfs4", "fuse.sshfs", "fuse.other", "virtiofs", "overlay", "tmpfs", "ext4", "newfs"].map(class);
        assert_eq!(classes, ["network", "network", "fuse", "shared", "overlay", "memory", "local", "unknown"]);
    }

    #[test]
    fn a_synced_folder_is_known_by_name_or_marker() {
        assert_eq!(synced_by(Path::new("/home/a/Dropbox/app")), Some("Dropbox"));
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(synced_by(folder.path()), None);
        std::fs::create_dir(folder.path().join(".stfolder")).unwrap();
        assert_eq!(synced_by(&folder.path().join("data")), Some("Syncthing"));
    }
}
