//! Test for copies that share blocks with the original (`FICLONE`: btrfs, XFS, bcachefs, newer ZFS and others).

use std::io::Write;
use std::path::Path;

/// Whether files in an existing directory can be reflinked, tested with two nameless scratch files. `None` if the test
/// failed.
pub(super) fn supports_reflink(dir: &Path) -> Option<bool> {
    let mut from = tempfile::tempfile_in(dir).ok()?;
    let to = tempfile::tempfile_in(dir).ok()?;
    from.write_all(&[1; 4096]).ok()?;
    #[cfg(target_os = "linux")]
    {
        use rustix::io::Errno;
        match rustix::fs::ioctl_ficlone(&to, &from) {
            Ok(()) => Some(true),
            // Errors for "unsupported": no such operation, another file system, no such ioctl, not for these files.
            Err(Errno::OPNOTSUPP | Errno::XDEV | Errno::NOTTY | Errno::INVAL | Errno::NOSYS) => Some(false),
            Err(_) => None,
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (from, to);
        Some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_directory_cannot_be_tried() {
        assert_eq!(supports_reflink(Path::new("/nonexistent/x")), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn file_systems_that_cannot() {
        use crate::environment::filesystem::mount_of;
        // Tests those directories that exist on a file system without reflinks.
        for dir in ["/dev/shm", "/tmp", "/"] {
            let kind = mount_of(Path::new(dir)).map(|mount| mount.fs_type);
            if matches!(kind.as_deref(), Some("ext4" | "tmpfs")) {
                assert_ne!(supports_reflink(Path::new(dir)), Some(true), "{dir}");
            }
        }
    }
}
