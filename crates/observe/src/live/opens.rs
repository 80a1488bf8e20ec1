//! Opens of the databases, told by inotify(7): programs that begin to use a database are then looked for at once.

use std::path::Path;

#[cfg(target_os = "linux")]
use {
    rustix::fd::OwnedFd,
    rustix::fs::inotify::{self, CreateFlags, WatchFlags},
};

/// Watches on database files. Opens of this process count, too, until [`Opens::any`] has told them.
#[derive(Debug, Default)]
pub(super) struct Opens {
    /// `None` where the kernel does not tell.
    #[cfg(target_os = "linux")]
    watches: Option<OwnedFd>,
}

#[cfg(target_os = "linux")]
impl Opens {
    /// Watches these files in place of those before. Files that do not exist are left out.
    pub(super) fn follow<'a>(&mut self, files: impl Iterator<Item = &'a Path>) {
        let watch = |watches: OwnedFd| {
            let mut files = files.filter(|file| file.exists());
            // Fails at the limit of watches, or if a file may not be read.
            let all = files.all(|file| inotify::add_watch(&watches, file, WatchFlags::OPEN).is_ok());
            all.then_some(watches)
        };
        self.watches = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok().and_then(watch);
    }

    /// Whether a file was opened since the last call; `true` where the kernel does not tell.
    pub(super) fn any(&self) -> bool {
        let Some(watches) = &self.watches else { return true };
        let mut events = [0; 4096];
        let mut any = false;
        // Equal events in succession are one, so that few fill the buffer.
        while rustix::io::read(watches, &mut events).is_ok_and(|bytes| bytes > 0) {
            any = true;
        }
        any
    }
}

#[cfg(not(target_os = "linux"))]
impl Opens {
    pub(super) fn follow<'a>(&mut self, _: impl Iterator<Item = &'a Path>) {}

    pub(super) fn any(&self) -> bool {
        true
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn an_open_is_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let [file, other, absent] = ["file", "other", "absent"].map(|name| folder.path().join(name));
        for file in [&file, &other] {
            std::fs::write(file, "").unwrap();
        }
        let mut opens = Opens::default();
        assert!(opens.any(), "nothing is watched yet");
        opens.follow([file.as_path(), &absent].into_iter());
        assert!(!opens.any());
        std::fs::File::open(&other).unwrap();
        assert!(!opens.any());
        std::fs::File::open(&file).unwrap();
        std::fs::File::open(&file).unwrap();
        assert!(opens.any() && !opens.any());
        opens.follow([other.as_path()].into_iter());
        std::fs::File::open(&file).unwrap();
        assert!(!opens.any(), "no longer watched");
    }
}
