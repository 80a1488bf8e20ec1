//! The database, and layers that are broken on purpose, which the checker must find.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use onewriter::{Database, Error, Tx};

use crate::plan::Plan;

/// A defect of the layer, seen by some of the closures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Answers a write that is not in the database.
    Lost,
    /// Keeps a part of a write.
    Half,
    /// Gives no answer.
    NoAnswer,
    /// Rolls back a write, and answers that it was kept.
    RolledBack,
    /// Keeps a write, and answers that it failed.
    Kept,
    /// Runs a part of a write twice.
    Twice,
    /// A failing write takes its neighbours with it.
    Neighbour,
    /// A write lands in the database without a caller.
    Stray,
}

pub const FAULTS: [Fault; 8] = [
    Fault::Lost,
    Fault::Half,
    Fault::NoAnswer,
    Fault::RolledBack,
    Fault::Kept,
    Fault::Twice,
    Fault::Neighbour,
    Fault::Stray,
];

pub struct Layer {
    pub db: Database,
    pub fault: Option<Fault>,
}

/// Whether [`Fault::NoAnswer`] has been found.
static RELEASED: AtomicBool = AtomicBool::new(false);

/// Ends the calls without an answer, so that their round removes its files.
pub fn release() {
    RELEASED.store(true, Relaxed);
}

fn wait_for_release() {
    while !RELEASED.load(Relaxed) {
        thread::sleep(Duration::from_millis(5));
    }
}

/// The answer of the caller, if it is not that of the database.
type Instead<T, E> = Arc<Mutex<Option<Result<T, E>>>>;

impl Layer {
    fn handle(&self, plan: &Plan) -> Database {
        plan.patience.map_or_else(|| self.db.clone(), |patience| self.db.with_timeout(patience))
    }

    /// The defect that this closure meets.
    fn fault(&self, plan: &Plan) -> Option<Fault> {
        self.fault.filter(|_| plan.id % 4 == 1)
    }

    pub fn write<T: Send, E: From<Error> + Send>(
        &self,
        plan: &Plan,
        closure: impl FnMut(&mut Tx<'_>) -> Result<T, E> + Send,
    ) -> Result<T, E> {
        let (closure, instead) = broken(self.fault(plan), plan.id, closure);
        if self.fault(plan) == Some(Fault::NoAnswer) {
            wait_for_release();
        }
        let db = self.handle(plan);
        let answer = if plan.is_repeatable { db.write_repeatable(closure) } else { db.write_with(closure) };
        instead.lock().expect("no panic under it").take().unwrap_or(answer)
    }

    pub async fn write_async<T: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        plan: &Plan,
        closure: impl FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let (closure, instead) = broken(self.fault(plan), plan.id, closure);
        if self.fault(plan) == Some(Fault::NoAnswer) {
            wait_for_release();
        }
        let db = self.handle(plan);
        let answer = match plan.is_repeatable {
            true => db.write_repeatable_async(closure).await,
            false => db.write_with_async(closure).await,
        };
        instead.lock().expect("no panic under it").take().unwrap_or(answer)
    }
}

/// The closure as a layer with this defect runs it, and the answer that such a layer gives.
fn broken<T, E: From<Error>>(
    fault: Option<Fault>,
    id: i64,
    mut closure: impl FnMut(&mut Tx<'_>) -> Result<T, E>,
) -> (impl FnMut(&mut Tx<'_>) -> Result<T, E>, Instead<T, E>) {
    let instead = Instead::default();
    let told = instead.clone();
    let tell = move |result| *told.lock().expect("no panic under it") = Some(result);
    let refused = || Err(Error::Closed.into());
    let run = move |c: &mut Tx<'_>| {
        let batch = |c: &Tx<'_>, sql: &str| c.execute_batch(sql).is_ok();
        match fault {
            None | Some(Fault::NoAnswer) => closure(c),
            Some(Fault::Lost) => {
                batch(c, "SAVEPOINT lost");
                let result = closure(c);
                batch(c, "ROLLBACK TO lost");
                result
            }
            Some(Fault::Half) => {
                let result = closure(c);
                batch(c, &format!("DELETE FROM item WHERE plan = {id} AND key > 1"));
                result
            }
            Some(Fault::RolledBack) => match closure(c) {
                Ok(value) => {
                    tell(Ok(value));
                    refused()
                }
                Err(error) => Err(error),
            },
            Some(Fault::Kept) => {
                let result = closure(c);
                match result {
                    Ok(value) => {
                        tell(refused());
                        Ok(value)
                    }
                    Err(error) => Err(error),
                }
            }
            Some(Fault::Twice) => {
                let result = closure(c);
                batch(c, &format!("UPDATE item SET value = value + 1 WHERE plan = {id}"));
                result
            }
            Some(Fault::Neighbour) => {
                let result = closure(c);
                if result.is_err() {
                    batch(c, "INSERT OR ROLLBACK INTO tally VALUES (1, 0)");
                }
                result
            }
            Some(Fault::Stray) => {
                let result = closure(c);
                batch(c, &format!("INSERT INTO mark VALUES ({}, 0)", -id));
                result
            }
        }
    };
    (run, instead)
}
