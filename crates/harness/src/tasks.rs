//! A worker that is a task of an asynchronous runtime: the loop of [`crate::worker`], waiting without blocking.

use std::time::Duration;

use litelab_protocol::{Load, Order};

use crate::awaited::{self, AwaitedSession};
use crate::clock::{Clock, End, NEVER};
use crate::desk::{Desk, Window};
use crate::fault::Fault;
use crate::group::{self, Next};
use crate::params::Values;
use crate::session::Session;
use crate::transaction::{self, Ending, Execution, Memory, Retrying};
use crate::worker::{Done, Task, Worker, by_weight, limit};

/// A task's way to a connection, and where its transactions run.
pub trait Way: Send + Sized + 'static {
    /// Whether a transaction may end without the task having waited for anything. Such a task would keep its thread of the
    /// runtime for itself, which no application's does: there is a request to be awaited between two transactions.
    const NEVER_WAITS: bool;

    /// Runs the transaction that the hands are at. All of it goes there and comes back, for a thread that it is handed to
    /// can borrow nothing from a task.
    fn execute(self, hands: Box<Hands>) -> impl Future<Output = Result<(Self, Box<Hands>, Execution), Fault>> + Send;
}

/// What a worker executes its transactions with, but for a connection.
pub struct Hands {
    steps: Vec<Task<'static>>,
    /// Which of them is next.
    at: usize,
    memory: Memory,
    values: Values,
    retry: &'static Retrying,
    clock: Clock,
}

impl Hands {
    /// The trial's index of the transaction that is next.
    pub fn transaction(&self) -> usize {
        self.steps[self.at].plan.index
    }

    /// Whether the transaction that is next writes.
    pub fn writes(&self) -> bool {
        self.steps[self.at].plan.spec.writes
    }

    /// Runs it on a connection that is held; `shares` says whether the time until then is of interest.
    pub fn execute<S: Session>(&mut self, session: &mut S, shares: bool) -> Result<Execution, Fault> {
        let Task { plan, params, .. } = &self.steps[self.at];
        transaction::run(plan, session, (params, &self.values), &mut self.memory, self.retry, self.clock, shares)
    }

    /// One try of it, in a transaction that a layer has begun, for [`Hands::judge`].
    pub fn once<S: Session>(&mut self, session: &mut S) -> Result<Execution, Fault> {
        let Task { plan, params, .. } = &self.steps[self.at];
        group::once(plan, session, (params, &self.values), &mut self.memory, self.clock)
    }

    /// Nothing has been tried yet.
    pub fn begin(&mut self) {
        self.memory.errors.clear();
    }

    /// What follows a try.
    pub fn judge(&mut self, tried: Result<Execution, Fault>) -> Result<Next, Fault> {
        group::judge(tried, &self.steps[self.at].plan, &mut self.memory, self.retry)
    }

    /// The same on a connection whose calls are awaited.
    pub async fn execute_awaited<S: AwaitedSession>(
        &mut self,
        session: &mut S,
        shares: bool,
    ) -> Result<Execution, Fault> {
        let Task { plan, params, .. } = &self.steps[self.at];
        awaited::transaction(plan, session, (params, &self.values), &mut self.memory, self.retry, self.clock, shares)
            .await
    }

    /// Draws the values of what is next, for the worker at this place of its role.
    fn draw(&mut self, place: u64) {
        let task = &self.steps[self.at];
        task.params.draw(task.operation(place), &mut self.values);
    }

    /// Writes down what became of what began at `start`, and turns to the one after it. Nothing where nobody waits for it any
    /// more.
    fn note(
        &mut self,
        execution: &Execution,
        (start, due): (u64, Option<u64>),
        (desk, window): (&Desk, Window<'_>),
    ) -> Option<()> {
        let task = &self.steps[self.at];
        desk.pass((self.at, start), execution, window, |record| {
            task.count(record, execution, &self.memory.errors);
            if start >= window.warm {
                record.measure(execution, start, due);
            }
        })?;
        let first = execution.ending == Ending::Empty || self.at + 1 == self.steps.len();
        self.at = if first { 0 } else { self.at + 1 };
        Some(())
    }
}

/// Works until the role ends, or something goes wrong that is not SQLite's. None where nobody waits for it any more.
pub async fn run<W: Way>(worker: Worker<'static, W>, clock: Clock) -> Result<Option<Done<W>>, Fault> {
    let Worker { id, role, handle: mut way, steps, memory, retry, schedule, window, desk, choice } = worker;
    let end = window.end;
    let mut hands = Box::new(Hands { steps, at: 0, memory, values: Values::default(), retry, clock });
    let (limit, every) = (limit(role), u64::from(role.workers_in_role));
    let mut number = id.place;
    while number < limit {
        let due = match schedule.map(|schedule| schedule.take(end.time)) {
            None => None,
            Some(Some(due)) => Some(due),
            Some(None) => {
                // Nothing more arrives, but the role lasts until its time.
                sleep(end, clock, NEVER).await;
                break;
            }
        };
        if role.order == Order::Weighted {
            hands.at = by_weight(role, &choice, number);
        }
        hands.draw(id.place);
        if let Some(due) = due {
            sleep(end, clock, due).await;
        }
        let start = clock.now();
        if end.is_past(start) {
            if let (Some(schedule), Some(due)) = (schedule, due) {
                schedule.leave(due);
            }
            break;
        }
        let at = hands.at;
        hands.steps[at].times += 1;
        number += every;

        desk.begin(at, start, due);
        let mut execution;
        (way, hands, execution) = way.execute(hands).await?;
        // The commit has returned for the application when the task that awaits it goes on.
        execution.end = clock.now();
        if hands.note(&execution, (start, due), (desk, window)).is_none() {
            return Ok(None);
        }
        match role.load {
            Load::Closed { think_us: think @ 1.. } => {
                sleep(end, clock, clock.now().saturating_add(think.saturating_mul(1_000))).await;
            }
            _ if W::NEVER_WAITS => tokio::task::yield_now().await,
            _ => {}
        }
    }
    Ok(desk.end(clock.now(), window).map(|()| Done { id, handle: way }))
}

/// [`End::sleep`], by the runtime's timer: it is one of whole milliseconds and wakes up to two too late, as it does in an
/// application.
async fn sleep(end: End<'_>, clock: Clock, due: u64) {
    while let Some(nanos) = end.next_pause(clock, due) {
        tokio::time::sleep(Duration::from_nanos(nanos)).await;
    }
}
