//! A worker's transactions, and the execution of one: begin, statements, commit, and further attempts by the retry
//! policy.

use std::hint::cold_path;
use std::time::Duration;

use litelab_protocol::draw::Value;
use litelab_protocol::{Begin, Fetch, Role, Step, Transaction, Trial};

use crate::clock::{Clock, pause, pause_us};
use crate::fault::Fault;
use crate::params::{Params, Values};
use crate::record::Counters;
use crate::retry::RetryPolicy;
use crate::session::{AsyncSession, Call, Ending, Execution, Session};
use crate::tally::Tally;

/// State from which a worker executes its transactions, without a connection. It moves as one piece to the thread that
/// has a connection.
pub struct Transactions {
    /// One entry for each step of the role.
    entries: Vec<Entry>,
    /// Index of the next transaction's entry.
    at: usize,
    /// Values drawn for the next transaction.
    values: Values,
    /// The current or last execution. It stays here and is not returned: `Result<Execution, _>` is copied at each
    /// return.
    pub execution: Execution,
    /// Yielded values at the last commit, restored after a rollback.
    committed: Vec<Value>,
    /// Extended codes and messages of the errors of the execution, one for each failed attempt.
    errors: Vec<(i32, String)>,
    retry: &'static RetryPolicy,
    /// Where errors of the worker are counted.
    counts: (&'static Tally, &'static [Counters]),
    /// Clock of the trial, set at `go`.
    pub clock: Clock,
}

/// One step of a role, as one worker executes it.
struct Entry {
    step: &'static Step,
    plan: Plan,
    params: Params,
    /// Number of times that the worker has started it.
    times: u64,
}

/// A transaction as one role executes it.
struct Plan {
    /// Index in the trial.
    index: usize,
    spec: &'static Transaction,
    /// For each statement, the places of its yields among the worker's yielded values.
    yields: Vec<Vec<usize>>,
    any_yields: bool,
    /// See [`first_fetch`].
    timed: Option<usize>,
}

impl Transactions {
    /// The transactions of one worker of a role, by its index in its database. Fails on a statement that binds a
    /// parameter that its transaction does not have.
    pub fn new(
        trial: &'static Trial,
        role: &'static Role,
        worker: u32,
        retry: &'static RetryPolicy,
        counts: (&'static Tally, &'static [Counters]),
    ) -> Result<Self, Fault> {
        let mut names: Vec<String> = Vec::new();
        let mut place = |name: &str| {
            names.iter().position(|known| known == name).unwrap_or_else(|| {
                names.push(name.into());
                names.len() - 1
            })
        };
        let mut entries = Vec::new();
        for step in &role.steps {
            let index = step.transaction as usize;
            let spec = &trial.transactions[index];
            let plan = Plan::new(index, spec, &mut place);
            let params = Params::new(trial.seed, spec, worker, &mut place)?;
            entries.push(Entry { step, plan, params, times: 0 });
        }
        let committed = vec![Value::Null; names.len()];
        let execution = Execution { yielded: committed.clone(), ..Execution::default() };
        let (values, errors, clock) = (Values::default(), Vec::new(), Clock::start());
        Ok(Self { entries, at: 0, values, execution, committed, errors, retry, counts, clock })
    }

    /// Index of the next transaction's step in the role.
    #[inline(always)]
    pub fn at(&self) -> usize {
        self.at
    }

    /// Chooses the next transaction by the index of its step.
    pub fn choose(&mut self, at: usize) {
        self.at = at;
    }

    /// Whether the next transaction writes.
    #[inline(always)]
    pub fn writes(&self) -> bool {
        self.entries[self.at].plan.spec.writes
    }

    /// Draws the values of the next transaction, for the worker at this place of its role.
    #[inline(always)]
    pub fn draw(&mut self, place: u64) {
        let Entry { step, params, times, .. } = &self.entries[self.at];
        let operation = times * u64::from(step.stride) + u64::from(step.offset) + place;
        params.draw(operation, &mut self.values);
    }

    /// Counts the start of the next transaction.
    #[inline(always)]
    pub fn started(&mut self) {
        self.entries[self.at].times += 1;
    }

    /// Advances to the next step; after a transaction that ended empty, to the first.
    #[inline(always)]
    pub fn advance(&mut self) {
        let over = self.execution.ending == Ending::Empty || self.at + 1 == self.entries.len();
        self.at = if over { 0 } else { self.at + 1 };
    }

    /// Codes and messages of the errors of the last execution.
    #[inline(always)]
    pub fn errors(&self) -> &[(i32, String)] {
        &self.errors
    }

    /// Executes the next transaction on a session. `shares` is true if the worker may have waited for the session.
    #[inline(always)]
    pub fn execute<S: Session>(&mut self, session: &mut S, shares: bool) -> Result<(), Fault> {
        let acquired = shares.then(|| self.clock.now());
        self.repeat(session, Self::attempt::<S>)?;
        self.execution.acquired = acquired;
        Ok(())
    }

    /// Executes the next transaction by attempts on this target, each of which returns whether it has committed.
    #[inline(always)]
    pub fn repeat<T>(
        &mut self,
        target: &mut T,
        attempt: impl Fn(&mut Self, &mut T) -> Result<bool, Fault>,
    ) -> Result<(), Fault> {
        self.begin();
        loop {
            let committed = attempt(self, target)?;
            match self.settle(committed) {
                None => return Ok(()),
                Some(nanos) => pause(nanos),
            }
        }
    }

    /// As [`Transactions::execute`], with awaited calls. A pause leaves the runtime's thread to other tasks and keeps
    /// the connection.
    pub async fn execute_async<S: AsyncSession>(&mut self, session: &mut S, shares: bool) -> Result<(), Fault> {
        let acquired = shares.then(|| self.clock.now());
        self.begin();
        self.execution.acquired = acquired;
        loop {
            let committed = self.attempt_async(session).await?;
            match self.settle(committed) {
                None => return Ok(()),
                Some(nanos) => tokio::time::sleep(Duration::from_nanos(nanos)).await,
            }
        }
    }

    /// Prepares the first attempt.
    #[inline(always)]
    pub fn begin(&mut self) {
        self.errors.clear();
        self.execution.begin();
    }

    /// Settles an attempt. Returns nanoseconds until the next attempt, or `None` if the execution has ended.
    #[inline(always)]
    pub fn settle(&mut self, committed: bool) -> Option<u64> {
        let execution = &mut self.execution;
        if committed {
            execution.end = self.clock.now();
            if self.entries[self.at].plan.any_yields {
                self.committed.clone_from(&execution.yielded);
            }
            return None;
        }
        cold_path();
        let again = self.retry.after(&self.errors);
        if again.is_none() {
            (execution.ending, execution.rows, execution.end) = (Ending::Failed, 0, self.clock.now());
        }
        again
    }

    /// Counts an error of SQLite's and discards yielded values; any other error ends the trial. Returns `false`: the
    /// attempt has not committed.
    #[cold]
    pub fn fail(&mut self, fault: Fault) -> Result<bool, Fault> {
        match fault {
            Fault::Sqlite { code, message } => {
                let (tally, counters) = self.counts;
                tally.met(self.at, counters, code, &message);
                self.errors.push((code, message));
                self.discard_yielded();
            }
            other => return Err(other.during(&self.entries[self.at].plan.spec.name)),
        }
        Ok(false)
    }

    /// Discards the values yielded since the last commit.
    pub fn discard_yielded(&mut self) {
        if self.entries[self.at].plan.any_yields {
            self.execution.yielded.clone_from(&self.committed);
        }
    }

    /// Executes one attempt: begin, statements, commit, and a rollback after an error.
    #[inline(always)]
    fn attempt<S: Session>(&mut self, session: &mut S) -> Result<bool, Fault> {
        match self.begin_to_commit(session) {
            Ok(()) => Ok(true),
            Err(fault) => {
                cold_path();
                if let Fault::Sqlite { .. } = fault {
                    session.rollback().map_err(|f| f.during("ROLLBACK"))?;
                }
                self.fail(fault)
            }
        }
    }

    #[inline(always)]
    fn begin_to_commit<S: Session>(&mut self, session: &mut S) -> Result<(), Fault> {
        let begin = self.entries[self.at].plan.spec.begin;
        session.begin(begin)?;
        self.statements(session)?;
        if begin != Begin::None {
            session.commit()?;
        }
        Ok(())
    }

    /// Executes the statements between begin and commit.
    #[inline(always)]
    pub fn statements<S: Session>(&mut self, session: &mut S) -> Result<(), Fault> {
        let Self { entries, at, values, execution, clock, .. } = self;
        let Entry { plan, params, .. } = &entries[*at];
        execution.attempt();
        (execution.ending, execution.rows) = statements(plan, (params, &*values), session, execution, *clock)?;
        Ok(())
    }

    /// As [`Transactions::attempt`], with awaited calls.
    async fn attempt_async<S: AsyncSession>(&mut self, session: &mut S) -> Result<bool, Fault> {
        let Self { entries, at, values, execution, clock, .. } = self;
        let Entry { plan, params, .. } = &entries[*at];
        execution.attempt();
        match begin_to_commit_async(plan, (params, &*values), session, execution, *clock).await {
            Ok(executed) => {
                (execution.ending, execution.rows) = executed;
                Ok(true)
            }
            Err(fault) => {
                if let Fault::Sqlite { .. } = fault {
                    session.rollback().await.map_err(|f| f.during("ROLLBACK"))?;
                }
                self.fail(fault)
            }
        }
    }
}

/// Executes the statements between begin and commit. Returns the end of the attempt and the rows of all statements.
#[inline(always)]
fn statements<S: Session>(
    plan: &Plan,
    (params, values): (&Params, &Values),
    session: &mut S,
    execution: &mut Execution,
    clock: Clock,
) -> Result<(Ending, u64), Fault> {
    let spec = plan.spec;
    pause_us(spec.hold_us);
    let mut rows = 0;
    for (at, statement) in spec.statements.iter().enumerate() {
        for repetition in 0..statement.repeat as usize {
            let seen = session.execute(&plan.call((at, repetition), params, values, clock), execution)?;
            rows += seen;
            if statement.required && seen == 0 {
                return Ok((Ending::Empty, rows));
            }
        }
        pause_us(statement.hold_us);
    }
    Ok((Ending::Committed, rows))
}

/// As [`statements`], with begin and commit; each call is awaited.
async fn begin_to_commit_async<S: AsyncSession>(
    plan: &Plan,
    (params, values): (&Params, &Values),
    session: &mut S,
    execution: &mut Execution,
    clock: Clock,
) -> Result<(Ending, u64), Fault> {
    let spec = plan.spec;
    session.begin(spec.begin).await?;
    pause_us_async(spec.hold_us).await;
    let (mut ending, mut rows) = (Ending::Committed, 0);
    'statements: for (at, statement) in spec.statements.iter().enumerate() {
        for repetition in 0..statement.repeat as usize {
            let seen = session.execute(&plan.call((at, repetition), params, values, clock), execution).await?;
            rows += seen;
            if statement.required && seen == 0 {
                ending = Ending::Empty;
                break 'statements;
            }
        }
        pause_us_async(statement.hold_us).await;
    }
    if spec.begin != Begin::None {
        session.commit().await?;
    }
    Ok((ending, rows))
}

async fn pause_us_async(micros: u64) {
    if micros > 0 {
        tokio::time::sleep(Duration::from_micros(micros)).await;
    }
}

/// Index of the statement to which the times `query` and `first_row` belong; `None` if the trial does not record them.
pub fn first_fetch(transaction: &Transaction) -> Option<usize> {
    let fetches = transaction.statements.iter().position(|s| matches!(s.fetch, Fetch::All | Fetch::Buffer));
    fetches.filter(|_| transaction.timed_rows)
}

impl Plan {
    /// Plan of a transaction. `place` returns the place of a yielded name.
    fn new(index: usize, spec: &'static Transaction, mut place: impl FnMut(&str) -> usize) -> Self {
        let yields: Vec<Vec<usize>> =
            spec.statements.iter().map(|s| s.yields.iter().map(|name| place(name)).collect()).collect();
        let any_yields = yields.iter().any(|places| !places.is_empty());
        Self { index, spec, yields, any_yields, timed: first_fetch(spec) }
    }

    /// Call of the `repetition`-th execution of the `at`-th statement with these values.
    #[inline(always)]
    fn call<'c>(
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
