//! Callers, and the answers that they receive.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use onewriter::{Error, Tx};

use crate::layer::Layer;
use crate::plan::{End, Plan, Record, run};

/// Two databases, and what was done with each.
pub struct World {
    pub layers: [Layer; 2],
    pub calls: [Mutex<Vec<Call>>; 2],
    /// What callers and readers found wrong.
    pub wrong: Mutex<Vec<String>>,
}

/// A call with its answer.
pub struct Call {
    pub plan: Arc<Plan>,
    pub record: Arc<Mutex<Record>>,
    pub answer: Answer,
}

#[derive(Debug)]
pub enum Answer {
    Ok,
    /// The error of the closure.
    Own,
    Layer(Error),
    /// The call panicked.
    Panicked,
    /// The caller dropped the future.
    Dropped,
}

/// A value whose drop may panic.
struct Bomb(bool);

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!self.0 || thread::panicking(), "on purpose");
    }
}

/// The error of a closure.
trait Failure: From<Error> + Send + 'static {
    fn own(id: i64) -> Self;
    fn answer(self, id: i64) -> Answer;
}

enum Fail {
    Own(i64),
    Layer(Error),
}

impl From<Error> for Fail {
    fn from(error: Error) -> Self {
        Self::Layer(error)
    }
}

impl Failure for Fail {
    fn own(id: i64) -> Self {
        Self::Own(id)
    }

    fn answer(self, id: i64) -> Answer {
        match self {
            Self::Own(own) => {
                assert_eq!(own, id, "the error of another closure");
                Answer::Own
            }
            Self::Layer(error) => Answer::Layer(error),
        }
    }
}

/// An error that cannot be made from one of the layer.
struct Picky(i64);

impl From<Error> for Picky {
    fn from(_: Error) -> Self {
        panic!("on purpose")
    }
}

impl Failure for Picky {
    fn own(id: i64) -> Self {
        Self(id)
    }

    fn answer(self, id: i64) -> Answer {
        Fail::Own(self.0).answer(id)
    }
}

/// The result of a closure.
type Reply = (i64, Bomb);

fn closure<E: Failure>(
    plan: &Arc<Plan>,
    world: &Arc<World>,
    record: &Arc<Mutex<Record>>,
) -> impl FnMut(&mut Tx<'_>) -> Result<Reply, E> + Send + use<E> {
    let (plan, world, record) = (plan.clone(), world.clone(), record.clone());
    let mut captured = Some(Bomb(plan.drop_panics));
    move |c| {
        // Each run drops one.
        let _captured = captured.take().unwrap_or_else(|| Bomb(plan.drop_panics));
        match run(&plan, c, &world, &record) {
            End::Ok => Ok((plan.id, Bomb(plan.result_panics))),
            End::Err | End::Panic => Err(E::own(plan.id)),
        }
    }
}

fn answer<E: Failure>(plan: &Plan, result: Result<Reply, E>) -> Answer {
    match result {
        Ok((id, mut bomb)) => {
            bomb.0 = false;
            assert_eq!(id, plan.id, "the result of another closure");
            Answer::Ok
        }
        Err(error) => error.answer(plan.id),
    }
}

fn panicked(world: &World, plan: &Plan, panic: &(dyn Any + Send)) -> Answer {
    let text = panic.downcast_ref::<&str>().copied().map(str::to_owned);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    if !text.contains("on purpose") {
        world.wrong.lock().expect("no panic under it").push(format!("{}: the call panicked: {text}", plan.id));
    }
    Answer::Panicked
}

fn enter(world: &World, plan: Arc<Plan>, record: Arc<Mutex<Record>>, answer: Answer) {
    if matches!(answer, Answer::Ok) && plan.id % 3 == 0 {
        reads_back(world, &plan);
    }
    let call = Call { answer, record, plan };
    world.calls[call.plan.database].lock().expect("no panic under it").push(call);
}

/// A read after the answer contains the write, also on a connection whose last read left a statement running.
fn reads_back(world: &World, plan: &Plan) {
    let read = world.layers[plan.database].db.read_with(|c| {
        let sql = "SELECT count(*) FROM mark WHERE plan = ?1 UNION ALL SELECT 7";
        let mut statement = c.prepare_cached(sql)?;
        let mut rows = statement.query([plan.id])?;
        let count: i64 = rows.next()?.expect("a row").get(0)?;
        if plan.id % 2 == 0 {
            std::mem::forget(rows);
        }
        Ok::<_, Error>(count)
    });
    let wrong = match read {
        // Inside a closure that reads another database, or after the close.
        Ok(1) | Err(Error::Closed | Error::Nested) => return,
        Ok(_) => "is not seen by a read after its answer".into(),
        Err(error) => format!("its read failed: {error}"),
    };
    world.wrong.lock().expect("no panic under it").push(format!("{} {wrong}", plan.id));
}

fn call_blocking<E: Failure>(world: &Arc<World>, plan: &Arc<Plan>, record: &Arc<Mutex<Record>>) -> Answer {
    let closure = closure::<E>(plan, world, record);
    let call = || answer(plan, world.layers[plan.database].write(plan, closure));
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| panicked(world, plan, &*panic))
}

async fn call_async<E: Failure>(world: &Arc<World>, plan: &Arc<Plan>, record: &Arc<Mutex<Record>>) -> Answer {
    let closure = closure::<E>(plan, world, record);
    let mut call = Box::pin(world.layers[plan.database].write_async(plan, closure));
    let polled = std::future::poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(context))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(result)) => Poll::Ready(Ok(result)),
        Err(panic) => Poll::Ready(Err(panic)),
    });
    let answered = polled.await.map(|result| catch_unwind(AssertUnwindSafe(|| answer(plan, result))));
    answered.and_then(|answer| answer).unwrap_or_else(|panic| panicked(world, plan, &*panic))
}

/// Runs the plan for a thread that waits.
pub fn blocks(world: &Arc<World>, plan: Arc<Plan>) {
    let record = Arc::<Mutex<Record>>::default();
    let answer = match plan.conversion_panics {
        true => call_blocking::<Picky>(world, &plan, &record),
        false => call_blocking::<Fail>(world, &plan, &record),
    };
    enter(world, plan, record, answer);
}

async fn call_any(world: &Arc<World>, plan: &Arc<Plan>, record: &Arc<Mutex<Record>>) -> Answer {
    match plan.conversion_panics {
        true => call_async::<Picky>(world, plan, record).await,
        false => call_async::<Fail>(world, plan, record).await,
    }
}

/// Runs the plan for a task.
pub async fn awaits(world: &Arc<World>, plan: Arc<Plan>) {
    let record = Arc::<Mutex<Record>>::default();
    let answer = call_any(world, &plan, &record).await;
    enter(world, plan, record, answer);
}

/// Runs the plan for a task that loses its patience: at once, or after a time.
pub async fn gives_up(world: &Arc<World>, plan: Arc<Plan>, patience: Option<Duration>) {
    let record = Arc::<Mutex<Record>>::default();
    let mut call = Box::pin(call_any(world, &plan, &record));
    let answer = match patience {
        Some(patience) => tokio::time::timeout(patience, call.as_mut()).await.unwrap_or(Answer::Dropped),
        None => match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => answer,
            Poll::Pending => Answer::Dropped,
        },
    };
    // The drop of a captured value may panic here, in the task that gives up.
    let _panicked = catch_unwind(AssertUnwindSafe(|| drop(call)));
    enter(world, plan, record, answer);
}
