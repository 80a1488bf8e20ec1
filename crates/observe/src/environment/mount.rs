//! Mount of a path, from `/proc/self/mountinfo`.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use procfs_core::process::MountInfo;

/// The fields used from one line of mountinfo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) point: PathBuf,
    pub(super) fs_type: String,
    /// `major:minor`. Anonymous (major 0) for any file system that is not on one block device, and for btrfs and ZFS.
    pub(super) device: String,
    /// Source of the mount. May name hosts, users and volumes, so it must not be shown.
    pub(super) source: String,
    pub(super) options: BTreeSet<String>,
}

/// Options with a value that affect performance or durability. The values of others may contain addresses, user names
/// and paths.
const VALUED: &[&str] = &[
    "actimeo",
    "allocsize",
    "barrier",
    "cache",
    "commit",
    "compress",
    "compress-force",
    "data",
    "discard",
    "errors",
    "logbsize",
    "logbufs",
    "max_batch_time",
    "min_batch_time",
    "proto",
    "rsize",
    "size",
    "stripe",
    "sunit",
    "swidth",
    "vers",
    "wsize",
];
/// Maximum length at which an option without a value is shown: longer text may be chosen by a user.
const LONGEST_WORD: usize = 24;

impl Mount {
    /// The mount that contains `path`, which must be absolute and free of symbolic links: the deepest mount point, and
    /// of two on the same directory the later one, which hides the other.
    pub(super) fn of(path: &Path, mountinfo: &str) -> Option<Self> {
        let mounts = mountinfo.lines().filter_map(Self::parse).filter(|mount| path.starts_with(&mount.point));
        mounts.max_by_key(|mount| mount.point.components().count())
    }

    fn parse(line: &str) -> Option<Self> {
        let info = MountInfo::from_line(line).ok()?;
        let options = info.mount_options.iter().chain(&info.super_options);
        Some(Mount {
            point: unescaped(&info.mount_point.to_string_lossy()).into(),
            device: info.majmin,
            source: unescaped(&info.mount_source.unwrap_or_default()),
            options: options.filter_map(|(key, value)| shown(key, value.as_deref())).collect(),
            fs_type: info.fs_type,
        })
    }

    /// Mount point for display, without the name of a person.
    pub(super) fn shown_point(&self) -> String {
        let mut shown = PathBuf::new();
        let mut above = PathBuf::new();
        for component in self.point.components() {
            let personal = ["/home", "/var/home", "/media", "/run/media"].iter().any(|dir| above == Path::new(dir));
            match component {
                Component::Normal(_) if personal => shown.push("*"),
                other => shown.push(other),
            }
            above.push(component);
        }
        shown.to_string_lossy().into_owned()
    }
}

fn shown(key: &str, value: Option<&str>) -> Option<String> {
    match value {
        Some(value) => VALUED.contains(&key).then(|| format!("{key}={value}")),
        None => {
            let word = key.len() <= LONGEST_WORD
                && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte));
            word.then(|| key.to_owned())
        }
    }
}

/// Decodes the escapes of mountinfo: space, tab, newline and backslash as three octal digits after a backslash.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let digits = rest.get(at + 1..at + 4);
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(u8::is_ascii);
        out.push(byte.map_or('\\', char::from));
        rest = &rest[at + if byte.is_some() { 4 } else { 1 }..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
22 1 253:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,errors=remount-ro,data=ordered
30 22 0:25 / /data rw,noatime - nfs4 files.example.org:/export/alice rw,vers=4.2,rsize=1048576,addr=10.0.0.9,clientaddr=10.0.0.8
31 30 8:1 / /data/my\\040disk rw - xfs /dev/sda1 rw,logbufs=8,noquota
32 22 0:40 / /over rw - overlay overlay rw,lowerdir=/var/lib/x:/var/lib/y,upperdir=/home/alice/up
33 22 0:41 / /over rw - tmpfs tmpfs rw,size=1024k
34 22 0:42 / /media/alice/Stick rw - exfat /dev/sdb1 rw,uid=1000
a line that is none
";

    #[test]
    fn the_deepest_and_the_latest_mount_win() {
        let of = |path: &str| Mount::of(Path::new(path), TABLE).unwrap();
        assert_eq!(of("/srv/app").fs_type, "ext4");
        assert_eq!(of("/data/x/y").fs_type, "nfs4");
        assert_eq!(of("/data/my disk/x").device, "8:1");
        assert_eq!(of("/database").fs_type, "ext4", "a mount point is a whole path, not a prefix of letters");
        assert_eq!(of("/over/x").fs_type, "tmpfs");
        assert_eq!(Mount::of(Path::new("/x"), ""), None);
    }

    #[test]
    fn options_are_shown_only_when_they_name_nobody() {
        let of = |path: &str| Vec::from_iter(Mount::of(Path::new(path), TABLE).unwrap().options);
        assert_eq!(of("/"), ["data=ordered", "errors=remount-ro", "relatime", "rw"]);
        assert_eq!(of("/data"), ["noatime", "rsize=1048576", "rw", "vers=4.2"]);
        let overlay = TABLE.lines().find(|line| line.contains("overlay")).unwrap();
        assert_eq!(Vec::from_iter(Mount::parse(overlay).unwrap().options), ["rw"]);
    }

    #[test]
    fn names_of_people_are_left_out_of_mount_points() {
        assert_eq!(Mount::of(Path::new("/media/alice/Stick"), TABLE).unwrap().shown_point(), "/media/*/Stick");
        assert_eq!(Mount::of(Path::new("/data"), TABLE).unwrap().shown_point(), "/data");
    }

    #[test]
    fn octal_escapes() {
        assert_eq!(unescaped(r"a\040b\134c"), r"a b\c");
        assert_eq!(unescaped(r"a\04"), r"a\04");
        assert_eq!(unescaped("\\é99x"), "\\é99x");
    }
}
