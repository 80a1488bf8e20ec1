//! Copies that share blocks with the original (`FICLONE`: btrfs, XFS, bcachefs, newer ZFS and others).

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Makes `to` share all blocks of `from`. Fails with `Unsupported` if the file system or the operating system does not
/// support it, and then leaves `to` unchanged.
///
/// # Errors
/// `Unsupported`, or any other error of the system call.
pub fn reflink(from: &File, to: &File) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::io::Errno;
        rustix::fs::ioctl_ficlone(to, from).map_err(|errno| match errno {
            // Errors for "unsupported": no such operation, another file system, no such ioctl, not for these files.
            Errno::OPNOTSUPP | Errno::XDEV | Errno::NOTTY | Errno::INVAL | Errno::NOSYS => {
                io::ErrorKind::Unsupported.into()
            }
            other => other.into(),
        })
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (from, to);
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Whether files in an existing directory can be reflinked, tested with two nameless scratch files. `None` if the test
/// failed.
#[must_use]
pub fn supports_reflink(dir: &Path) -> Option<bool> {
    let mut from = tempfile::tempfile_in(dir).ok()?;
    let to = tempfile::tempfile_in(dir).ok()?;
    from.write_all(&[1; 4096]).ok()?;
    match reflink(&from, &to) {
        Ok(()) => Some(true),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Some(false),
        Err(_) => None,
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
