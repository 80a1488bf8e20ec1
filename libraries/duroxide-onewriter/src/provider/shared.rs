//! The scheduler, its lock, and the order of commits.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use duroxide::providers::ProviderError;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::coop::unconstrained;

use crate::change::Change;
use crate::core::Core;
use crate::core::moment::Moment;
use crate::core::promises::Scope;
use crate::error::StoreError;
use crate::provider::finish::Finish;
use crate::store::Store;

type Commit = Pin<Box<dyn Future<Output = Result<(), ProviderError>> + Send>>;

/// Progress of a change.
enum Line {
    /// The store has answered.
    Decided(Result<(), ProviderError>),
    /// The commit is in progress.
    Waits(Commit),
}

/// Number of concurrent changes up to which the store keeps them in order ([`Store::commit`]), with a safety margin.
const IN_LINE: usize = 512;

/// Number of changes whose callers do not wait for the commit.
const LINE: usize = 256;

/// Longest sleep of the clock thread.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// State shared by the provider, its clock thread, and calls that outlive their callers.
pub struct Shared {
    core: Mutex<Core>,
    /// Wakes the clock thread earlier than planned.
    bell: Condvar,
    /// Free places for changes whose callers do not wait for the commit.
    line: Arc<Semaphore>,
    /// Changes that the store has not answered yet.
    under_way: AtomicUsize,
    /// Pinned names that calls have released.
    pub released: Arc<Mutex<Vec<Arc<str>>>>,
    /// Store of the acknowledged changes.
    pub store: Arc<dyn Store>,
}

impl Shared {
    pub fn new(core: Core, store: Arc<dyn Store>) -> Self {
        let (line, under_way) = (Arc::new(Semaphore::new(LINE)), AtomicUsize::new(0));
        Self { core: Mutex::new(core), bell: Condvar::new(), line, under_way, released: Arc::default(), store }
    }

    fn lock(&self) -> MutexGuard<'_, Core> {
        // A panic inside is a defect of this crate, and may leave the scheduler half changed.
        self.core.lock().unwrap_or_else(|poisoned: PoisonError<_>| {
            let mut core = poisoned.into_inner();
            core.fail("the schedule is inconsistent after a panic");
            core
        })
    }

    /// Runs `act` under the lock, then notifies the callers that it woke. Does not await.
    pub fn with<T>(&self, act: impl FnOnce(&mut Core, Moment) -> T) -> T {
        let mut core = self.lock();
        // Read the clock under the lock, so that time never runs backwards between two holders.
        let now = Moment::now();
        for name in std::mem::take(&mut *self.released.lock().unwrap_or_else(PoisonError::into_inner)) {
            core.unpin(&name, now);
        }
        let result = act(&mut core, now);
        let (woken, is_earlier) = core.leave(now);
        drop(core);
        if is_earlier {
            self.bell.notify_one();
        }
        for caller in woken {
            caller.notify_one();
        }
        result
    }

    /// Commits a change, then calls `then` with whether it was kept. Both happen even if the caller is dropped
    /// meanwhile, because memory and disk must agree.
    pub async fn commit(
        self: &Arc<Self>,
        operation: &'static str,
        change: Change,
        then: impl FnOnce(&mut Core, Moment, bool) + Send + 'static,
    ) -> Result<(), ProviderError> {
        if change.rows().is_empty() {
            self.with(|core, now| then(core, now, true));
            return Ok(());
        }
        let shared = Arc::clone(self);
        Finish::new(async move {
            let mut undecided = Undecided { shared: Some(&shared) };
            shared.under_way.fetch_add(1, Relaxed);
            let result = shared.store.commit(change).await;
            shared.under_way.fetch_sub(1, Relaxed);
            undecided.shared = None;
            shared.with(|core, now| then(core, now, result.is_ok()));
            result.map_err(|error| told(operation, error))
        })
        .await
    }

    /// Like [`Shared::commit`]. If the commit takes time, `in_line` is called as soon as the change is queued; changes
    /// queued after that are committed later.
    pub async fn commit_shown(
        self: &Arc<Self>,
        operation: &'static str,
        change: Change,
        in_line: impl FnOnce(&mut Core, Moment),
        then: impl FnOnce(&mut Core, Moment, bool) + Send + 'static,
    ) -> Result<(), ProviderError> {
        match self.stand_in_line(operation, change, in_line, then).await {
            Line::Decided(result) => result,
            Line::Waits(commit) => commit.await,
        }
    }

    /// Acquires a place in line for a change whose caller does not wait for the commit. Must be called before any state
    /// changes, so that a caller dropped while waiting leaves nothing behind.
    pub async fn place(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        Arc::clone(&self.line).acquire_owned().await.ok()
    }

    /// Like [`Shared::commit_shown`], but returns when the change is queued, without the result of the commit.
    pub async fn commit_in_line(
        self: &Arc<Self>,
        operation: &'static str,
        change: Change,
        in_line: impl FnOnce(&mut Core, Moment),
        then: impl FnOnce(&mut Core, Moment, bool) + Send + 'static,
        place: OwnedSemaphorePermit,
    ) -> Result<(), ProviderError> {
        let commit = match self.stand_in_line(operation, change, in_line, then).await {
            Line::Decided(result) => return result,
            Line::Waits(commit) => commit,
        };
        let Ok(runtime) = Handle::try_current() else { return commit.await };
        drop(runtime.spawn(async move {
            let _told = commit.await;
            drop(place);
        }));
        Ok(())
    }

    /// Starts the commit of a change.
    async fn stand_in_line(
        self: &Arc<Self>,
        operation: &'static str,
        change: Change,
        in_line: impl FnOnce(&mut Core, Moment),
        then: impl FnOnce(&mut Core, Moment, bool) + Send + 'static,
    ) -> Line {
        let shared = Arc::clone(self);
        // Tokio's cooperative budget could delay the first poll, and other changes would be queued earlier.
        let mut commit: Commit = Box::pin(unconstrained(async move { shared.commit(operation, change, then).await }));
        let begun = poll_fn(|context| Poll::Ready(commit.as_mut().poll(context))).await;
        if let Poll::Ready(result) = begun {
            return Line::Decided(result);
        }
        if self.under_way.load(Relaxed) <= IN_LINE {
            self.with(in_line);
        }
        Line::Waits(commit)
    }

    /// Returns after the commit of every promise made before this call: those of one instance, or all if `instance` is
    /// `None`. If the scheduler is broken, it returns immediately, and the next call returns the error.
    pub async fn decided(&self, instance: Option<&str>) {
        let mut asked = None;
        loop {
            let undecided = self.with(|core, _| {
                let of = match instance {
                    None => Scope::Everything,
                    // An instance without a name entry has had no turn.
                    Some(name) => Scope::Instance(core.find(name)?),
                };
                core.when_decided(of, &mut asked)
            });
            match undecided {
                Some(settled) => settled.notified().await,
                None => return,
            }
        }
    }

    /// Main loop of the clock thread: makes due objects visible if no call does. Returns when the provider is dropped.
    pub fn run_clock(&self) {
        let mut core = self.lock();
        while !core.is_stopped() {
            let now = Moment::now();
            core.tick(now);
            let next = core.set_alarm(now);
            for caller in core.leave(now).0 {
                caller.notify_one();
            }
            core = match next {
                None => self.bell.wait(core).unwrap_or_else(PoisonError::into_inner),
                Some(next) => {
                    // Timers are due by the wall clock, which may go on while this thread's clock stands still, as in a
                    // machine that is suspended.
                    let wait = next.saturating_duration_since(Instant::now()).min(LONGEST_SLEEP);
                    self.bell.wait_timeout(core, wait).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Ends the clock thread.
    pub fn stop(&self) {
        self.lock().stop();
        self.bell.notify_all();
    }
}

/// A change with unknown outcome: its runtime has ended before the commit.
struct Undecided<'a> {
    shared: Option<&'a Shared>,
}

impl Drop for Undecided<'_> {
    fn drop(&mut self) {
        if let Some(shared) = self.shared {
            shared.with(|core, _| core.fail("the runtime ended while a change was being kept: open the provider anew"));
        }
    }
}

/// Converts a store error into the error type of the runtime.
pub fn told(operation: &str, error: StoreError) -> ProviderError {
    if error.retryable {
        ProviderError::retryable(operation, error.what)
    } else {
        ProviderError::permanent(operation, error.what)
    }
}
