//! The schedule and its lock.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Instant;

use duroxide::providers::ProviderError;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::coop::unconstrained;

use crate::change::Change;
use crate::core::Core;
use crate::core::moment::Moment;
use crate::core::promises::Scope;
use crate::provider::finish::Finish;
use crate::store::{Store, StoreError};

type Commit = Pin<Box<dyn Future<Output = Result<(), ProviderError>> + Send>>;

/// What has become of a change so far.
enum Line {
    /// The store has answered.
    Decided(Result<(), ProviderError>),
    /// It stands in line.
    Waits(Commit),
}

/// Of so many changes under way each stands in line where it was put. The line has an end ([`Store::commit`]), behind which it
/// is not said who will come before whom.
const IN_LINE: usize = 512;

/// Changes that may wait for the disk of which nobody waits to hear.
const LINE: usize = 256;

/// What the provider, its clock, and calls that outlive their callers share.
pub struct Shared {
    core: Mutex<Core>,
    /// Rings when the clock has to look earlier than it meant to.
    bell: Condvar,
    /// As many places as changes may wait for the disk of which nobody waits to hear.
    line: Arc<Semaphore>,
    /// Changes of which the store has not said whether it has kept them.
    under_way: AtomicUsize,
    /// Where what is acknowledged is kept.
    pub store: Arc<dyn Store>,
}

impl Shared {
    pub fn new(core: Core, store: Arc<dyn Store>) -> Self {
        let (line, under_way) = (Arc::new(Semaphore::new(LINE)), AtomicUsize::new(0));
        Self { core: Mutex::new(core), bell: Condvar::new(), line, under_way, store }
    }

    fn lock(&self) -> MutexGuard<'_, Core> {
        // A panic inside is a mistake of this crate's, and the schedule may be half changed.
        self.core.lock().unwrap_or_else(|poisoned: PoisonError<_>| {
            let mut core = poisoned.into_inner();
            core.fail("the schedule is inconsistent after a panic");
            core
        })
    }

    /// Does something with the schedule, and then notifies those whom it concerns. Never awaits.
    pub fn with<T>(&self, act: impl FnOnce(&mut Core, Moment) -> T) -> T {
        let mut core = self.lock();
        // Not before the lock is held: time must not run backwards between two that hold it.
        let now = Moment::now();
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

    /// Keeps a change, and does the second half of the call: told whether the change has been kept. That is done even if the
    /// caller goes away meanwhile, for the disk and memory have to agree.
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

    /// As `commit`; `in_line` is done as soon as the change stands in line, if it has to stand there: what is to be kept after
    /// that is kept later.
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

    /// A place in line for a change of which nobody waits to hear. To be asked for before anything is begun: whoever goes away
    /// while he waits for it leaves nothing behind.
    pub async fn place(&self) -> Option<OwnedSemaphorePermit> {
        // It is never closed.
        Arc::clone(&self.line).acquire_owned().await.ok()
    }

    /// As `commit_shown`, but returns when the change stands in line: told nothing of what the store says later.
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

    /// Begins to keep a change.
    async fn stand_in_line(
        self: &Arc<Self>,
        operation: &'static str,
        change: Change,
        in_line: impl FnOnce(&mut Core, Moment),
        then: impl FnOnce(&mut Core, Moment, bool) + Send + 'static,
    ) -> Line {
        let shared = Arc::clone(self);
        // The runtime would let it begin later where this task has done much already, and others would be before it in line.
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

    /// Returns when what was promised before this call is decided: of the instance that is called so, or everything where
    /// none is named. At once where the schedule has failed, which the next call will say.
    pub async fn decided(&self, instance: Option<&str>) {
        let mut asked = None;
        loop {
            let undecided = self.with(|core, _| {
                let of = match instance {
                    None => Scope::Everything,
                    // Who is not known by name has had no turn.
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

    /// The clock: makes visible what is due when nobody else looks. Returns when the provider is dropped.
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
                    let wait = next.saturating_duration_since(Instant::now());
                    self.bell.wait_timeout(core, wait).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Ends the clock.
    pub fn stop(&self) {
        self.lock().stop();
        self.bell.notify_all();
    }
}

/// A change of which nobody will know whether it is kept: its runtime has ended in the middle of it.
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

/// As the runtime wants to be told.
pub fn told(operation: &str, error: StoreError) -> ProviderError {
    if error.retryable {
        ProviderError::retryable(operation, error.what)
    } else {
        ProviderError::permanent(operation, error.what)
    }
}
