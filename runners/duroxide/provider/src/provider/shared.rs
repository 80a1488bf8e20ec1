//! The schedule and its lock.

use std::future::poll_fn;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Instant;

use duroxide::providers::ProviderError;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::change::Change;
use crate::core::Core;
use crate::core::moment::Moment;
use crate::core::promises::Scope;
use crate::provider::finish::Finish;
use crate::store::{Store, StoreError};

/// Changes that may wait for the disk of which nobody waits to hear.
const LINE: usize = 256;

/// What the provider, its clock, and calls that outlive their callers share.
pub struct Shared {
    core: Mutex<Core>,
    /// Rings when the clock has to look earlier than it meant to.
    bell: Condvar,
    /// As many places as changes may wait for the disk of which nobody waits to hear.
    line: Arc<Semaphore>,
    /// Where what is acknowledged is kept.
    pub store: Arc<dyn Store>,
}

impl Shared {
    pub fn new(core: Core, store: Arc<dyn Store>) -> Self {
        Self { core: Mutex::new(core), bell: Condvar::new(), line: Arc::new(Semaphore::new(LINE)), store }
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
            let result = shared.store.commit(change).await;
            undecided.shared = None;
            shared.with(|core, now| then(core, now, result.is_ok()));
            result.map_err(|error| told(operation, error))
        })
        .await
    }

    /// As `commit`, but returns as soon as the change stands in line, and before that if it need not: told nothing of what
    /// the store says later. Until then it is a promise.
    pub async fn commit_in_line(
        self: &Arc<Self>,
        operation: &'static str,
        of: Scope,
        change: Change,
        then: impl FnOnce(&mut Core, Moment, bool) + Send + 'static,
    ) -> Result<(), ProviderError> {
        // It is never closed.
        let place = Arc::clone(&self.line).acquire_owned().await;
        let shared = Arc::clone(self);
        let mut commit = Box::pin(async move { shared.commit(operation, change, then).await });
        let begun = poll_fn(|context| Poll::Ready(commit.as_mut().poll(context))).await;
        if let Poll::Ready(result) = begun {
            return result;
        }
        let Ok(runtime) = Handle::try_current() else { return commit.await };
        // Made before anybody goes on with the commit, which alone can decide it.
        let promise = self.with(|core, _| core.promise(of));
        let shared = Arc::clone(self);
        drop(runtime.spawn(async move {
            let _told = commit.await;
            shared.with(|core, _| core.decide(promise));
            drop(place);
        }));
        Ok(())
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
