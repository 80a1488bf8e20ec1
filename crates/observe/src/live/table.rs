//! `/proc/locks`, read by a thread of its own.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::entry::LockEntry;
use crate::proc_file;

/// Number of locks from which the table is read once a second only: the read stops all operations on locks meanwhile.
const MANY: usize = 2000;
const SLOW: Duration = Duration::from_secs(1);

/// The newest content of `/proc/locks`.
#[derive(Debug)]
pub(super) struct Table {
    newest: Arc<Mutex<Option<Arc<[LockEntry]>>>>,
    /// Ends the thread when it is dropped.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Table {
    /// Reads the table once, and then every `pause` in a thread.
    pub(super) fn new(pause: Duration) -> Self {
        let newest = Arc::new(Mutex::new(read()));
        let shared = Arc::clone(&newest);
        let (end, ended) = channel();
        // Without a thread, as at a limit of processes, the table stays as it is, and F_GETLK finds the owners.
        let thread = std::thread::Builder::new().name("litelab-locks".to_owned()).spawn(move || {
            loop {
                let many = lock(&shared).as_ref().is_some_and(|entries| entries.len() > MANY);
                match ended.recv_timeout(if many { SLOW.max(pause) } else { pause }) {
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
                }
                let table = read();
                *lock(&shared) = table;
            }
        });
        Self { newest, end: Some(end), thread: thread.ok() }
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
        drop(self.end.take());
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
