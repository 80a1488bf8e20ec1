//! One execution of a transaction: begin, statements, commit, and again where a retry may cure it.

use std::hint::cold_path;

use litelab_protocol::draw::Value;
use litelab_protocol::{Begin, Retry, Transaction, codes};

use crate::clock::{Clock, pause, pause_us};
use crate::fault::Fault;
use crate::params::{Params, Values};
use crate::record::first_fetch;
use crate::session::{Call, Effect, Session};

/// A transaction as one role runs it.
pub struct Plan<'a> {
    /// Index in the trial.
    pub index: usize,
    pub spec: &'a Transaction,
    /// For each statement the places of its yields among the worker's yielded values.
    pub yields: Vec<Vec<usize>>,
    /// Whether there are any.
    any_yields: bool,
    /// See [`first_fetch`].
    timed: Option<usize>,
}

/// [`Retry`] with its names looked up.
pub struct Retrying {
    pub attempts: u32,
    backoff: u64,
    multiplier: f64,
    longest: u64,
    on: Vec<i32>,
}

/// What a worker keeps from one transaction to the next.
#[derive(Default)]
pub struct Memory {
    /// Values yielded, by place.
    pub yielded: Vec<Value>,
    /// The same as of the last commit: a transaction rolled back has yielded nothing.
    committed: Vec<Value>,
    /// Codes and messages of the errors of this execution.
    pub errors: Vec<(i32, String)>,
}

/// What became of an execution.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Committed,
    Empty,
    Failed,
}

/// An execution; times in nanoseconds from `go`.
pub struct Execution {
    pub ending: Ending,
    /// When the connection was had.
    pub had: Option<u64>,
    /// When the commit, or the last failure, was over.
    pub end: u64,
    /// Of the last try, as the next four.
    pub rows: u64,
    pub query: Option<u64>,
    pub first_row: Option<u64>,
    /// Over all tries.
    pub verified: u64,
    pub mismatches: u64,
}

impl<'a> Plan<'a> {
    /// `place` gives the place of a yielded name.
    pub fn new(index: usize, spec: &'a Transaction, mut place: impl FnMut(&str) -> usize) -> Self {
        let yields: Vec<Vec<usize>> =
            spec.statements.iter().map(|s| s.yields.iter().map(|name| place(name)).collect()).collect();
        let any_yields = yields.iter().any(|places| !places.is_empty());
        Self { index, spec, yields, any_yields, timed: first_fetch(spec) }
    }

    /// The `repetition`-th execution of the `at`-th statement, with these values.
    #[inline(always)]
    pub fn call<'c>(
        &'c self,
        (at, repetition): (usize, usize),
        params: &Params,
        values: &'c Values,
        clock: Clock,
    ) -> Call<'c> {
        Call {
            transaction: self.index,
            statement: at,
            spec: &self.spec.statements[at],
            slots: params.slots(values, at, repetition),
            values,
            yields: &self.yields[at],
            timed: self.timed == Some(at) && repetition == 0,
            clock,
        }
    }
}

impl Memory {
    /// What was yielded is committed.
    #[inline(always)]
    pub fn keep(&mut self, plan: &Plan<'_>) {
        if plan.any_yields {
            self.committed.clone_from(&self.yielded);
        }
    }

    /// An error of this code, and what was yielded is taken back.
    pub fn fail(&mut self, plan: &Plan<'_>, code: i32, message: String) {
        self.errors.push((code, message));
        if plan.any_yields {
            self.yielded.clone_from(&self.committed);
        }
    }

    /// Room for so many names, all null.
    pub fn new(names: usize) -> Self {
        Self { yielded: vec![Value::Null; names], committed: vec![Value::Null; names], errors: Vec::new() }
    }
}

impl Retrying {
    /// Fails on a name that is no result code.
    pub fn new(retry: &Retry) -> Result<Self, Fault> {
        let code = |name: &String| codes::code(name).ok_or_else(|| Fault::Other(format!("`{name}` is no result code")));
        Ok(Self {
            attempts: retry.attempts,
            backoff: retry.backoff_us.saturating_mul(1_000),
            multiplier: retry.multiplier,
            longest: retry.max_backoff_us.saturating_mul(1_000),
            on: retry.on.iter().map(code).collect::<Result<_, _>>()?,
        })
    }

    /// Nanoseconds until the next try after try `done` (from 1) has failed with this code; nothing if there is none.
    pub fn again(&self, done: u32, code: i32) -> Option<u64> {
        (done < self.attempts && self.covers(code)).then(|| self.pause(done))
    }

    /// A primary code stands for its extended ones.
    fn covers(&self, seen: i32) -> bool {
        self.on.iter().any(|&listed| listed == seen || listed == seen & 0xFF)
    }

    fn pause(&self, done: u32) -> u64 {
        // Past 2^63 the conversion saturates, and the longest pause is taken.
        let grown = self.backoff as f64 * self.multiplier.powi(done as i32 - 1);
        (grown as u64).min(self.longest)
    }
}

/// Runs it to its end on a connection that is held already; `shares` says whether the time until then is of interest.
#[inline(always)]
pub fn run<S: Session>(
    plan: &Plan<'_>,
    session: &mut S,
    (params, values): (&Params, &Values),
    memory: &mut Memory,
    retry: &Retrying,
    clock: Clock,
    shares: bool,
) -> Result<Execution, Fault> {
    let had = shares.then(|| clock.now());
    memory.errors.clear();
    let mut done = 0;
    let (mut verified, mut mismatches) = (0, 0);
    loop {
        let mut effect = Effect::new(&mut memory.yielded);
        let tried = attempt(plan, session, params, values, &mut effect, clock);
        let (query, first_row) = (effect.query, effect.first_row);
        verified += effect.verified;
        mismatches += effect.mismatches;
        let (ending, rows) = match tried {
            Ok(tried) => {
                let end = clock.now();
                memory.keep(plan);
                let (ending, rows) = tried;
                return Ok(Execution { ending, had, end, rows, query, first_row, verified, mismatches });
            }
            Err(fault) => {
                cold_path();
                done += 1;
                let code = after_error(plan, session, memory, fault)?;
                if let Some(nanos) = retry.again(done, code) {
                    pause(nanos);
                    continue;
                }
                (Ending::Failed, 0)
            }
        };
        return Ok(Execution { ending, had, end: clock.now(), rows, query, first_row, verified, mismatches });
    }
}

/// Rolls back, and takes back what was yielded. Returns the code; what is no SQLite error goes on up.
#[cold]
fn after_error<S: Session>(plan: &Plan<'_>, session: &mut S, memory: &mut Memory, fault: Fault) -> Result<i32, Fault> {
    let Fault::Sqlite { code, message } = fault else { return Err(fault.during(&plan.spec.name)) };
    session.rollback().map_err(|f| f.during("ROLLBACK"))?;
    memory.fail(plan, code, message);
    Ok(code)
}

/// One try. Returns how it ended and the rows of all its statements.
#[inline(always)]
fn attempt<S: Session>(
    plan: &Plan<'_>,
    session: &mut S,
    params: &Params,
    values: &Values,
    effect: &mut Effect<'_>,
    clock: Clock,
) -> Result<(Ending, u64), Fault> {
    session.begin(plan.spec.begin)?;
    let tried = statements(plan, session, params, values, effect, clock)?;
    if plan.spec.begin != Begin::None {
        session.commit()?;
    }
    Ok(tried)
}

/// What is between begin and commit.
#[inline(always)]
pub fn statements<S: Session>(
    plan: &Plan<'_>,
    session: &mut S,
    params: &Params,
    values: &Values,
    effect: &mut Effect<'_>,
    clock: Clock,
) -> Result<(Ending, u64), Fault> {
    let spec = plan.spec;
    pause_us(spec.hold_us);
    let mut ending = Ending::Committed;
    let mut rows = 0;
    'statements: for (at, statement) in spec.statements.iter().enumerate() {
        for repetition in 0..statement.repeat as usize {
            let seen = session.execute(&plan.call((at, repetition), params, values, clock), effect)?;
            rows += seen;
            if statement.required && seen == 0 {
                ending = Ending::Empty;
                break 'statements;
            }
        }
        pause_us(statement.hold_us);
    }
    Ok((ending, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retrying(on: &[&str]) -> Retrying {
        let on = on.iter().map(|s| (*s).into()).collect();
        let retry = Retry { attempts: 5, backoff_us: 100, multiplier: 2.0, max_backoff_us: 350, on };
        Retrying::new(&retry).expect("valid")
    }

    #[test]
    fn pauses_grow_up_to_the_longest() {
        let retry = retrying(&["SQLITE_BUSY"]);
        assert_eq!([1, 2, 3, 400].map(|n| retry.pause(n)), [100_000, 200_000, 350_000, 350_000]);
    }

    #[test]
    fn a_primary_code_stands_for_its_extended_ones_only() {
        let retry = retrying(&["SQLITE_BUSY", "SQLITE_LOCKED_SHAREDCACHE"]);
        assert!(retry.covers(5) && retry.covers(517) && retry.covers(262));
        assert!(!retry.covers(6) && !retry.covers(13));
        // Five tries: after the fifth there is no other.
        assert_eq!((retry.again(1, 5), retry.again(4, 517), retry.again(5, 5)), (Some(100_000), Some(350_000), None));
        assert_eq!(retry.again(1, 6), None);
    }

    #[test]
    fn an_unknown_code_is_refused() {
        let retry = Retry { on: vec!["SQLITE_BUSSY".into()], ..Retry::default() };
        assert!(Retrying::new(&retry).is_err());
    }
}
