//! Programs and libraries are searched for SQLite by a thread of its own, because a large one takes a tenth of a second.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use super::program::Contents;
use crate::image::Images;

/// A process, by id and start.
type Key = (u32, Option<u64>);

/// The thread, and what it has found.
#[derive(Debug)]
pub(super) struct Examiner {
    /// Ends the thread when it is dropped.
    wanted: Option<Sender<(Key, PathBuf)>>,
    found: Receiver<(Key, Contents)>,
    thread: Option<JoinHandle<()>>,
}

impl Examiner {
    pub(super) fn new() -> Self {
        let (wanted, requests) = channel::<(Key, PathBuf)>();
        let (results, found) = channel();
        // Without a thread, as at a limit of processes, versions and languages stay unknown.
        let thread = std::thread::Builder::new().name("litelab-images".to_owned()).spawn(move || {
            let mut images = Images::default();
            for (key, directory) in requests {
                if results.send((key, Contents::of(&directory, &mut images))).is_err() {
                    return;
                }
            }
        });
        Self { wanted: Some(wanted), found, thread: thread.ok() }
    }

    /// Asks for the contents of a process.
    pub(super) fn ask(&self, key: Key, directory: PathBuf) {
        if let Some(wanted) = &self.wanted {
            // Fails only without a thread.
            let _ = wanted.send((key, directory));
        }
    }

    /// What was found since the last call.
    pub(super) fn found(&self) -> impl Iterator<Item = (Key, Contents)> {
        self.found.try_iter()
    }
}

impl Drop for Examiner {
    fn drop(&mut self) {
        drop(self.wanted.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported when it happened.
            let _ = thread.join();
        }
    }
}
