//! The file system below a directory.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::mount::Mount;
use crate::proc_file;

/// File system that stores a database in a directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filesystem {
    /// Mount point, with the name of a person replaced by `*`.
    pub mount_point: Option<String>,
    /// Kernel name of the type: `ext4`, `xfs`, `nfs4`, `fuse.sshfs`, …
    pub kind: Option<String>,
    /// Mount options that affect speed or durability, sorted. Options that may contain names of hosts or people, or
    /// paths, are omitted.
    pub options: Vec<String>,
    /// Total size in bytes.
    pub total_bytes: Option<u64>,
    /// Free space available to this user, in bytes.
    pub free_bytes: Option<u64>,
}

impl Filesystem {
    /// The file system of an existing directory; `None` if the directory does not exist.
    #[must_use]
    pub fn of(dir: &Path) -> Option<Self> {
        let mut filesystem = Self::from_mount(mount_of(dir).as_ref());
        filesystem.measure(dir)?;
        Some(filesystem)
    }

    pub(super) fn from_mount(mount: Option<&Mount>) -> Self {
        Filesystem {
            mount_point: mount.map(Mount::shown_point),
            kind: mount.map(|mount| mount.fs_type.clone()),
            options: mount.map(|mount| mount.options.iter().cloned().collect()).unwrap_or_default(),
            ..Filesystem::default()
        }
    }

    fn measure(&mut self, dir: &Path) -> Option<()> {
        let space = rustix::fs::statvfs(dir).ok()?;
        self.total_bytes = space.f_blocks.checked_mul(space.f_frsize);
        self.free_bytes = space.f_bavail.checked_mul(space.f_frsize);
        #[cfg(target_os = "linux")]
        if self.kind.is_none() {
            // Without mountinfo, as in some sandboxes, statfs still returns the type as a number.
            self.kind = rustix::fs::statfs(dir).ok().and_then(|fs| name_of_magic(fs.f_type as u64)).map(str::to_owned);
        }
        Some(())
    }
}

/// The mount that contains an existing path.
pub(super) fn mount_of(path: &Path) -> Option<Mount> {
    Mount::of(&path.canonicalize().ok()?, &proc_file("/proc/self/mountinfo")?)
}

/// Major and minor number of the device of the superblock that contains an existing path. On btrfs and overlayfs it is
/// another than that of stat(2), and the one in `/proc/locks`.
pub(crate) fn device_of(path: &Path) -> Option<(u32, u32)> {
    let device = mount_of(path)?.device;
    let (major, minor) = device.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Whether an existing path is itself a mount point, such as a single file that is mounted into a container.
#[must_use]
pub fn is_mount_point(path: &Path) -> bool {
    path.canonicalize().is_ok_and(|path| mount_of(&path).is_some_and(|mount| mount.point == path))
}

/// Class of a file system by its kernel name: `local`, `network`, `fuse`, `overlay`, `memory`, `shared` (a folder of
/// the host in a virtual machine or a container) or `unknown`.
#[must_use]
pub fn class(name: &str) -> &'static str {
    match name {
        "nfs" | "nfs4" | "cifs" | "smb2" | "smb3" | "smbfs" | "ncpfs" | "afs" | "ceph" | "glusterfs" | "lustre"
        | "beegfs" | "gfs2" | "ocfs2" | "fuse.sshfs" | "fuse.glusterfs" | "fuse.ceph" | "fuse.s3fs" | "fuse.rclone"
        | "fuse.gcsfuse" | "fuse.juicefs" | "davfs" | "fuse.davfs2" => "network",
        "virtiofs" | "9p" | "vboxsf" | "vmhgfs" | "fuse.vmhgfs-fuse" | "drvfs" | "prl_fs" | "fakeowner"
        | "fuse.grpcfuse" | "fuse.osxfs" => "shared",
        "overlay" | "overlayfs" | "aufs" => "overlay",
        "tmpfs" | "ramfs" | "devtmpfs" => "memory",
        // A local disk behind FUSE by the kernel's own block device.
        "fuseblk" => "local",
        name if name == "fuse" || name.starts_with("fuse.") => "fuse",
        "ext2" | "ext3" | "ext4" | "xfs" | "btrfs" | "zfs" | "f2fs" | "bcachefs" | "jfs" | "reiserfs" | "vfat"
        | "exfat" | "ntfs" | "ntfs3" | "apfs" | "hfs" | "ufs" => "local",
        _ => "unknown",
    }
}

/// Name for a type number of Linux's `include/uapi/linux/magic.h` or of a file system's own headers. ext2, ext3 and
/// ext4 share one.
#[cfg(target_os = "linux")]
fn name_of_magic(magic: u64) -> Option<&'static str> {
    // f_type is a signed word on some architectures.
    Some(match magic & 0xffff_ffff {
        0xef53 => "ext4",
        0x5846_5342 => "xfs",
        0x9123_683e => "btrfs",
        0x2fc1_2fc1 => "zfs",
        0xf2f5_2010 => "f2fs",
        0x0102_1994 => "tmpfs",
        0x8584_58f6 => "ramfs",
        0x794c_7630 => "overlay",
        0x6969 => "nfs",
        0xff53_4d42 | 0xfe53_4d42 => "cifs",
        0x0102_1997 => "9p",
        0x6573_5546 => "fuse",
        _ => return None,
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn agrees_with_stat_and_df() {
        let dir = tempfile::tempdir().unwrap();
        let filesystem = Filesystem::of(dir.path()).unwrap();
        let df = |column: &str| {
            let output =
                Command::new("df").args(["-B1", &format!("--output={column}")]).arg(dir.path()).output().unwrap();
            String::from_utf8(output.stdout).unwrap().lines().nth(1).unwrap().trim().to_owned()
        };
        assert_eq!(filesystem.kind.as_deref(), Some(df("fstype").as_str()));
        assert_eq!(filesystem.mount_point.as_deref(), Some(df("target").as_str()));
        assert_eq!(filesystem.total_bytes, df("size").parse().ok());
        // Other programs write to the disk between the two readings.
        let free: u64 = df("avail").parse().unwrap();
        assert!(filesystem.free_bytes.unwrap().abs_diff(free) < 1 << 30);
        assert!(filesystem.options.iter().any(|option| option == "rw"), "{filesystem:?}");
    }

    #[test]
    fn the_number_and_the_name_of_a_type_agree() {
        for dir in ["/", "/dev/shm", "/tmp"] {
            let magic = rustix::fs::statfs(dir).unwrap().f_type as u64;
            if let (Some(name), Some(mount)) = (name_of_magic(magic), mount_of(Path::new(dir))) {
                assert_eq!(name.trim_end_matches(char::is_numeric), mount.fs_type.trim_end_matches(char::is_numeric));
            }
        }
        assert_eq!(name_of_magic(0), None);
    }

    #[test]
    fn the_root_is_a_mount_point_and_a_folder_is_none() {
        let dir = tempfile::tempdir().unwrap();
        assert!(is_mount_point(Path::new("/")) && !is_mount_point(dir.path()));
    }

    #[test]
    fn file_systems_have_a_class() {
        for (expected, kinds) in [
            ("network", "nfs nfs4 cifs smb2 smb3 smbfs ncpfs fuse.sshfs fuse.glusterfs"),
            ("shared", "9p virtiofs vboxsf"),
            ("fuse", "fuse fuse.other"),
            ("overlay", "overlay"),
            ("memory", "tmpfs ramfs devtmpfs"),
            ("local", "ext4 xfs btrfs zfs f2fs apfs fuseblk"),
            ("unknown", "newfs"),
        ] {
            kinds.split(' ').for_each(|kind| assert_eq!(class(kind), expected, "{kind}"));
        }
    }

    #[test]
    fn no_such_directory() {
        assert_eq!(Filesystem::of(Path::new("/nonexistent/x")), None);
    }
}
