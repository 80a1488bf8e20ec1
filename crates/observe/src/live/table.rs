//! `/proc/locks`, read by a thread of its own.

use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::entry::LockEntry;
use crate::proc_file;

/// Number of locks from which the table is read once a second at most: the read stops all operations on locks meanwhile.
const MANY: usize = 2000;
/// Least time between two reads of a table with [`MANY`] locks.
const LEAST: Duration = Duration::from_secs(1);
/// Time between two reads that nothing requires.
const EVERY: Duration = Duration::from_secs(10);

/// The newest content of `/proc/locks`.
#[derive(Debug)]
pub(super) struct Table {
    newest: Arc<Mutex<Option<Arc<[LockEntry]>>>>,
    /// Requires a read; ends the thread when it is dropped.
    required: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Table {
    /// Reads the table once, and then in a thread: `pause` after the last read where one is required, else [`EVERY`].
    pub(super) fn new(pause: Duration) -> Self {
        let newest = Arc::new(Mutex::new(read()));
        let shared = Arc::clone(&newest);
        let (required, requests) = sync_channel(1);
        // Without a thread, as at a limit of processes, the table stays as it is, and F_GETLK finds the owners.
        let thread = std::thread::Builder::new().name("litelab-locks".to_owned()).spawn(move || {
            loop {
                let last = Instant::now();
                let many = lock(&shared).as_ref().is_some_and(|entries| entries.len() > MANY);
                let least = if many { pause.max(LEAST) } else { pause };
                // It sleeps until a read is due: each time that it woke, it would interrupt a busy program.
                let mut due = last + EVERY;
                loop {
                    match requests.recv_timeout(due.saturating_duration_since(Instant::now())) {
                        Ok(()) => due = last + least,
                        Err(RecvTimeoutError::Timeout) => break,
                        Err(RecvTimeoutError::Disconnected) => return,
                    }
                }
                let table = read();
                *lock(&shared) = table;
            }
        });
        Self { newest, required: Some(required), thread: thread.ok() }
    }

    /// Requires a read as soon as the pause after the last one is over.
    pub(super) fn require(&self) {
        // Fails if one is required already, or without a thread.
        let _ = self.required.as_ref().map(|required| required.try_send(()));
    }

    /// The newest entries.
    pub(super) fn entries(&self) -> Arc<[LockEntry]> {
        lock(&self.newest).clone().unwrap_or_default()
    }

    /// Whether the table exists.
    pub(super) fn works(&self) -> bool {
        lock(&self.newest).is_some()
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        drop(self.required.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported when it happened.
            let _ = thread.join();
        }
    }
}

fn read() -> Option<Arc<[LockEntry]>> {
    Some(LockEntry::table(&proc_file("/proc/locks")?).collect())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
