//! The executors `inline` and `offload`: a driver that blocks, called by a task on the runtime's own thread, or in its pool
//! of blocking threads. Connections are shared with the standard library's locks, as an application does that knows no
//! better: a task that waits for one blocks its thread.

use std::io::BufRead;

use litelab_protocol::{Line, Trial};

use crate::access::{Handle, Shared};
use crate::fault::Fault;
use crate::lookout::{Left, end_now};
use crate::runtime::{self, Program};
use crate::session::Open;
use crate::tasks::{Hands, Way};
use crate::transaction::Execution;
use crate::{say, trial};

/// One of the two.
pub trait Blocking<S>: Way {
    fn new(handle: Handle<'static, S>) -> Self;
    fn into_handle(self) -> Handle<'static, S>;
}

/// On the thread that runs the task.
pub struct Inline<S: 'static>(Handle<'static, S>);

/// By `spawn_blocking`, the lock taken inside.
pub struct Offload<S: 'static>(Box<Handle<'static, S>>);

fn execute<S: Open>(handle: &mut Handle<'static, S>, hands: &mut Hands) -> Result<Execution, Fault> {
    let mut lease = handle.lease(hands.writes());
    let shares = lease.shares();
    let execution = hands.execute(lease.session(), shares)?;
    lease.end();
    Ok(execution)
}

impl<S: Open> Way for Inline<S> {
    const NEVER_WAITS: bool = true;

    async fn execute(mut self, mut hands: Box<Hands>) -> Result<(Self, Box<Hands>, Execution), Fault> {
        let execution = execute(&mut self.0, &mut hands)?;
        Ok((self, hands, execution))
    }
}

impl<S: Open> Blocking<S> for Inline<S> {
    fn new(handle: Handle<'static, S>) -> Self {
        Self(handle)
    }

    fn into_handle(self) -> Handle<'static, S> {
        self.0
    }
}

impl<S: Open> Way for Offload<S> {
    const NEVER_WAITS: bool = false;

    async fn execute(mut self, mut hands: Box<Hands>) -> Result<(Self, Box<Hands>, Execution), Fault> {
        let job = tokio::task::spawn_blocking(move || {
            let execution = execute(&mut self.0, &mut hands)?;
            Ok((self, hands, execution))
        });
        job.await.map_err(runtime::broken).flatten()
    }
}

impl<S: Open> Blocking<S> for Offload<S> {
    fn new(handle: Handle<'static, S>) -> Self {
        Self(Box::new(handle))
    }

    fn into_handle(self) -> Handle<'static, S> {
        *self.0
    }
}

/// The trial on one driver.
pub fn run<S: Open, W: Blocking<S>>(trial: &Trial, input: &mut dyn BufRead) -> Result<(), Fault> {
    let program = Program::begin(trial)?;
    let (trial, stage) = (program.trial, program.stage);
    let (shared, own, connections) = trial::open::<S>(trial)?;
    let kept = Kept::new(shared);
    let workers = stage.workers(map(stage.handles(kept.get(), own), W::new))?;
    if !trial::ready_and_go(connections, input)? {
        return Ok(());
    }
    let Left { done, probe, hangs } = program.work(workers);
    let mut result = stage.result(probe);
    if hangs {
        end_now(result);
    }
    let own = done.into_iter().filter_map(|worker| Some((worker.id, worker.handle.into_handle().into_own()?)));
    let own = own.collect();
    drop(program.runtime);
    // SAFETY: the tasks have ended, and with them and `done` all that borrowed.
    result.connections = trial::close(trial, unsafe { kept.into_inner() }, own)?;
    say(&Line::Result(Box::new(result)))
}

fn map<H, W>(mut handle: impl FnMut(usize) -> H, way: fn(H) -> W) -> impl FnMut(usize) -> W {
    move |database| way(handle(database))
}

/// What tasks borrow, and what is wanted back when they are done. It leaks unless it is.
struct Kept<S>(*mut Vec<Shared<S>>);

impl<S> Kept<S> {
    fn new(shared: Vec<Shared<S>>) -> Self {
        Self(Box::into_raw(Box::new(shared)))
    }

    fn get(&self) -> &'static [Shared<S>] {
        // SAFETY: allocated in `new`, and freed by nothing but `into_inner`, whose caller knows of this.
        unsafe { &*self.0 }
    }

    /// # Safety
    /// Nothing that `get` returned is used after this.
    unsafe fn into_inner(self) -> Vec<Shared<S>> {
        // SAFETY: allocated in `new`; nothing else refers to it, says the caller.
        *unsafe { Box::from_raw(self.0) }
    }
}
