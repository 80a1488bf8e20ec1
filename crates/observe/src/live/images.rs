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
    /// Number of requests without an answer.
    open: usize,
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
        Self { wanted: Some(wanted), found, thread: thread.ok(), open: 0 }
    }

    /// Asks for the contents of a process.
    pub(super) fn ask(&mut self, key: Key, directory: PathBuf) {
        // Fails only without a thread.
        let is_sent = self.wanted.as_ref().is_some_and(|wanted| wanted.send((key, directory)).is_ok());
        self.open += usize::from(is_sent);
    }

    /// Whether a request has no answer yet.
    pub(super) fn is_busy(&self) -> bool {
        self.open > 0 && self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// What was found since the last call.
    pub(super) fn found(&mut self) -> impl Iterator<Item = (Key, Contents)> {
        self.found.try_iter().inspect(|_| self.open -= 1)
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
