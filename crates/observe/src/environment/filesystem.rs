//! The file system below a directory.

use std::path::Path;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::mount::Mount;
use super::reflink::supports_reflink;
use crate::proc_file;

/// What a database in a directory is stored on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Filesystem {
    /// Mount point, with a person's name in it replaced by `*`.
    pub mount_point: Option<String>,
    /// Type as the kernel names it: `ext4`, `xfs`, `nfs4`, `fuse.sshfs`, …
    pub kind: Option<String>,
    /// Mount options that bear on speed or durability, sorted; those that may name hosts, people or paths are left
    /// out.
    pub options: Vec<String>,
    /// Size.
    pub total_bytes: Option<u64>,
    /// Space that this user can still fill.
    pub free_bytes: Option<u64>,
    /// Block size.
    pub block_bytes: Option<u64>,
    /// Whether a file can be copied by sharing its blocks; `None` when it could not be tried.
    pub reflink: Option<bool>,
}

impl Filesystem {
    /// The file system of an existing directory; `None` when there is no such directory. Tries a reflink with two
    /// scratch files.
    #[must_use]
    pub fn of(dir: &Path) -> Option<Self> {
        let mount = mount_of(dir);
        let mut filesystem = Self::from_mount(mount.as_ref());
        filesystem.reflink = supports_reflink(dir);
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

    #[cfg(unix)]
    fn measure(&mut self, dir: &Path) -> Option<()> {
        let space = rustix::fs::statvfs(dir).ok()?;
        self.total_bytes = space.f_blocks.checked_mul(space.f_frsize);
        self.free_bytes = space.f_bavail.checked_mul(space.f_frsize);
        self.block_bytes = Some(space.f_bsize);
        #[cfg(target_os = "linux")]
        if self.kind.is_none() {
            // No mountinfo, as in some sandboxes: statfs still has the type, as a number.
            self.kind = rustix::fs::statfs(dir).ok().and_then(|fs| name_of_magic(fs.f_type as u64)).map(str::to_owned);
        }
        Some(())
    }

    #[cfg(not(unix))]
    fn measure(&mut self, dir: &Path) -> Option<()> {
        dir.is_dir().then_some(())
    }
}

/// The mount that holds a path which exists.
pub(super) fn mount_of(path: &Path) -> Option<Mount> {
    Mount::of(&path.canonicalize().ok()?, &proc_file("/proc/self/mountinfo")?)
}

/// Numbers from Linux's `include/uapi/linux/magic.h` and the file systems' own headers. All of ext2 to ext4 have one.
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
        // Others write to the disk between the two readings.
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
    fn no_such_directory() {
        assert_eq!(Filesystem::of(Path::new("/nonexistent/x")), None);
    }
}
