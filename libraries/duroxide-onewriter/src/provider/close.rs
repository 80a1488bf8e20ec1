//! The end of a provider.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::Builder;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::error::{Error, StoreError};
use crate::provider::OneWriter;
use crate::store::Store;

impl OneWriter {
    /// Completes pending changes, checkpoints the log and closes the file. Later calls of the provider fail; the file can
    /// be opened again when this returns.
    ///
    /// This blocks, for up to the busy timeout of SQLite (5 s) if another process reads the file. In asynchronous code
    /// use [`OneWriter::close_async`].
    ///
    /// # Errors
    /// If the final checkpoint fails; all acknowledged changes are still durable then.
    pub fn close(&self) -> Result<(), Error> {
        self.refuse();
        self.shared.store.close().map_err(Error::Close)
    }

    /// Like [`OneWriter::close`], in a thread of its own. If the future is dropped, the file is closed nevertheless.
    ///
    /// # Errors
    /// As for [`OneWriter::close`].
    pub async fn close_async(&self) -> Result<(), Error> {
        self.refuse();
        let (done, closed) = oneshot::channel();
        in_background(Arc::clone(&self.shared.store), |result| {
            let _caller_dropped = done.send(result);
        });
        let no_thread = || StoreError { what: "no thread, or a panic in it".into(), retryable: false };
        closed.await.unwrap_or_else(|_| Err(no_thread())).map_err(Error::Close)
    }

    /// Refuses all later calls.
    fn refuse(&self) {
        self.closes.store(true, Relaxed);
        self.shared.with(|core, _| core.fail("the provider is closed"));
    }
}

/// Closes the file unless it is closed. In a tokio runtime a thread of its own does it, because the last commit and the
/// checkpoint would block a thread that other tasks need.
impl Drop for OneWriter {
    fn drop(&mut self) {
        self.shared.stop();
        if self.closes.load(Relaxed) {
            return;
        }
        self.refuse();
        match Handle::try_current() {
            Ok(_) => in_background(Arc::clone(&self.shared.store), drop),
            Err(_) => drop(self.shared.store.close()),
        }
    }
}

/// Closes the store in a thread of its own. If the operating system refuses one, `then` is dropped, and the store closes
/// its file when it is dropped.
fn in_background(store: Arc<dyn Store>, then: impl FnOnce(Result<(), StoreError>) + Send + 'static) {
    let _thread = Builder::new().name("duroxide-close".into()).spawn(move || then(store.close()));
}
