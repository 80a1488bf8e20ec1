//! Libraries whose calls are awaited one by one: a task begins, executes and commits by itself, and each call goes to the
//! library's thread and comes back.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Arc;
use std::time::Duration;

use litelab_protocol::{Begin, Connection, Database, ErrorCount, Part, Prepare, Transaction, Trial, TrialResult, Value, codes};

use crate::clock::Clock;
use crate::fault::Fault;
use crate::hosted::{self, Host, Preparation, Settings};
use crate::params::{Params, Values};
use crate::session::{Call, Effect};
use crate::tasks::Hands;
use crate::transaction::{Ending, Execution, Memory, Plan, Retrying};

/// One or several connections to a database, lent for the length of a transaction.
pub trait Awaited: Send + Sync + Sized + 'static {
    /// A connection that was lent; it goes back when it is dropped.
    type Session: AwaitedSession;

    /// Opens so many connections, and runs the settings in order on each.
    ///
    /// # Errors
    /// Where that does not work, or there is an option that the driver does not know ([`crate::refuse_options`]).
    fn open(
        database: &Database,
        connection: &Connection,
        connections: u32,
    ) -> impl Future<Output = Result<Self, Fault>> + Send;

    /// Waits for a connection.
    ///
    /// # Errors
    /// Where there will be none.
    fn take(&self) -> impl Future<Output = Result<Self::Session, Fault>> + Send;

    /// What the library has done since the first transaction, beyond what its calls returned; asked once, when all
    /// workers have ended. Nothing, unless a driver knows better.
    fn account(&self) -> Account {
        Account::default()
    }

    /// What is set on each of its connections at the trial's end, of which there are so many: each is taken, and all are held
    /// until the last has been asked.
    ///
    /// # Errors
    /// Where that does not work.
    fn settings(
        &self,
        connections: u32,
        names: &[String],
    ) -> impl Future<Output = Result<Vec<BTreeMap<String, Value>>, Fault>> + Send {
        async move {
            let (mut held, mut all) = (Vec::new(), Vec::new());
            for _ in 0..connections {
                let mut session = self.take().await?;
                all.push(match session.settings(names).await {
                    // The core sees for itself what became of the database.
                    Err(Fault::Sqlite { .. }) => BTreeMap::new(),
                    asked => asked?,
                });
                held.push(session);
            }
            Ok(all)
        }
    }

    /// Closes them, when all are back.
    ///
    /// # Errors
    /// Where that does not work.
    fn close(self) -> impl Future<Output = Result<(), Fault>> + Send;
}

/// What a library did by itself while the workers waited for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Extended result codes of errors that no caller saw, for the library tried again, and how often it met each. They are
    /// counted, as cured, with the first transaction of the trial's first role: whose they were only the library knows.
    pub cured: Vec<(i32, u64)>,
    /// Where its time went.
    pub parts: Vec<Part>,
}

impl Account {
    /// Writes it into a result.
    pub(crate) fn enter(self, result: &mut TrialResult) {
        if let Some(first) = result.operations.first_mut() {
            for (code, times) in self.cured {
                let count = first.errors.entry(codes::name(code).into()).or_default();
                count.add(ErrorCount { seen: times, cured: times, message: None });
            }
        }
        for part in self.parts {
            match result.breakdown.iter_mut().find(|p| p.name == part.name) {
                Some(sum) => {
                    sum.calls += part.calls;
                    sum.nanos += part.nanos;
                }
                None => result.breakdown.push(part),
            }
        }
    }
}

/// As [`crate::Session`], each call awaited.
pub trait AwaitedSession: Send {
    /// Runs each statement to its end.
    ///
    /// # Errors
    /// Where one of them does not work.
    fn script(&mut self, statements: &[String]) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Runs one read transaction, then asks for each PRAGMA by name; null for one that returns no row.
    ///
    /// # Errors
    /// Where that does not work.
    fn settings(&mut self, names: &[String]) -> impl Future<Output = Result<BTreeMap<String, Value>, Fault>> + Send;

    /// Compiles what the connection will be asked for: the transactions at these indices of the trial's list.
    ///
    /// # Errors
    /// Where one of them cannot be executed as it stands: its parameters, columns or yields are not there.
    fn prepare(
        &mut self,
        transactions: &[Transaction],
        used: &[usize],
        mode: Prepare,
    ) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Sends the begin; nothing for autocommit.
    ///
    /// # Errors
    /// [`Fault::Sqlite`] is counted, anything else ends the trial; so with the next three.
    fn begin(&mut self, begin: Begin) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Sends `COMMIT`.
    ///
    /// # Errors
    /// As for `begin`.
    fn commit(&mut self) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Sends `ROLLBACK` where a transaction is open.
    ///
    /// # Errors
    /// Any ends the trial.
    fn rollback(&mut self) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Binds, runs and fetches once. Returns the rows fetched, or changed where the statement yields none.
    ///
    /// # Errors
    /// As for `begin`.
    fn execute(&mut self, call: &Call<'_>, effect: &mut Effect<'_>) -> impl Future<Output = Result<u64, Fault>> + Send;
}

/// The trial on one driver.
pub fn run<A: Awaited>(trial: &Trial, input: &mut dyn BufRead) -> Result<(), Fault> {
    hosted::on::<Calls<A>>(trial, input)
}

/// A transaction is calls.
struct Calls<A>(A);

impl<A: Awaited> Host for Calls<A> {
    async fn open(
        database: &'static Database,
        connection: &'static Connection,
        connections: u32,
        preparation: Preparation,
    ) -> Result<(Self, Vec<Settings>), Fault> {
        let Preparation { setup, read_back, transactions, used, prepare } = preparation;
        let host = A::open(database, connection, connections).await?;
        let (mut open, mut all) = (Vec::new(), Vec::new());
        for at in 0..connections {
            let mut session = host.take().await?;
            if at == 0 {
                session.script(setup).await?;
            }
            all.push(session.settings(read_back).await?);
            session.prepare(transactions, &used, prepare).await?;
            open.push(session);
        }
        drop(open);
        Ok((Self(host), all))
    }

    async fn execute(&self, mut hands: Box<Hands>, shares: bool) -> Result<(Box<Hands>, Execution), Fault> {
        let mut session = self.0.take().await?;
        let execution = hands.execute_awaited(&mut session, shares).await?;
        Ok((hands, execution))
    }

    async fn script(&self, statements: &'static [String]) -> Result<(), Fault> {
        self.0.take().await?.script(statements).await
    }

    async fn settings(self: &Arc<Self>, connections: u32, names: &'static [String]) -> Result<Vec<Settings>, Fault> {
        self.0.settings(connections, names).await
    }

    fn account(&self) -> Account {
        self.0.account()
    }

    async fn close(self) -> Result<(), Fault> {
        self.0.close().await
    }
}

/// [`crate::transaction::run`], awaited: a pause leaves the runtime's thread to others, the connection is kept.
pub async fn transaction<S: AwaitedSession>(
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
    let (mut verified, mut mismatches) = (0, 0);
    loop {
        let mut effect = Effect::new(&mut memory.yielded);
        let tried = attempt(plan, session, params, values, &mut effect, clock).await;
        let (query, first_row) = (effect.query, effect.first_row);
        verified += effect.verified;
        mismatches += effect.mismatches;
        let (ending, rows) = match tried {
            Ok(tried) => {
                memory.keep(plan);
                tried
            }
            Err(Fault::Sqlite { code, message }) => {
                session.rollback().await.map_err(|f| f.during("ROLLBACK"))?;
                memory.fail(plan, code, message);
                let done = memory.errors.len() as u32;
                if let Some(nanos) = retry.again(done, code) {
                    tokio::time::sleep(Duration::from_nanos(nanos)).await;
                    continue;
                }
                (Ending::Failed, 0)
            }
            Err(fault) => return Err(fault.during(&plan.spec.name)),
        };
        return Ok(Execution { ending, had, end: clock.now(), rows, query, first_row, verified, mismatches });
    }
}

/// One try. Returns how it ended and the rows of all its statements.
async fn attempt<S: AwaitedSession>(
    plan: &Plan<'_>,
    session: &mut S,
    params: &Params,
    values: &Values,
    effect: &mut Effect<'_>,
    clock: Clock,
) -> Result<(Ending, u64), Fault> {
    let spec = plan.spec;
    session.begin(spec.begin).await?;
    pause(spec.hold_us).await;
    let mut ending = Ending::Committed;
    let mut rows = 0;
    'statements: for (at, statement) in spec.statements.iter().enumerate() {
        for repetition in 0..statement.repeat as usize {
            let seen = session.execute(&plan.call((at, repetition), params, values, clock), effect).await?;
            rows += seen;
            if statement.required && seen == 0 {
                ending = Ending::Empty;
                break 'statements;
            }
        }
        pause(statement.hold_us).await;
    }
    if spec.begin != Begin::None {
        session.commit().await?;
    }
    Ok((ending, rows))
}

async fn pause(micros: u64) {
    if micros > 0 {
        tokio::time::sleep(Duration::from_micros(micros)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Board;

    /// Of several hosts, one after the other.
    #[test]
    fn an_account_is_added_to_the_first_transaction() {
        let part = |name: &str, calls, nanos| Part { name: name.into(), calls, nanos };
        let account = |cured: &[(i32, u64)], parts: &[Part]| Account { cured: cured.to_vec(), parts: parts.to_vec() };
        let mut trial = crate::testing::trial("x", vec![], vec![], vec![]);
        for name in ["a", "b"] {
            trial.transactions.push(crate::testing::transaction(name, Begin::None, vec![], vec![]));
        }
        trial.roles.push(crate::testing::role("r", 1, &[0, 1], crate::testing::count(1)));
        let board = Board::new(&trial);
        let mut result = TrialResult { operations: board.operations(&trial), ..TrialResult::default() };
        account(&[(5, 2), (517, 1)], &[part("ack", 3, 30)]).enter(&mut result);
        account(&[(5, 1)], &[part("ack", 1, 10), part("fetch", 1, 1)]).enter(&mut result);
        let cured = |n| ErrorCount { seen: n, cured: n, message: None };
        assert_eq!(
            result.operations[0].errors,
            BTreeMap::from([("SQLITE_BUSY".to_owned(), cured(3)), ("SQLITE_BUSY_SNAPSHOT".to_owned(), cured(1))])
        );
        assert!(result.operations[1].errors.is_empty());
        assert_eq!(result.breakdown, [part("ack", 4, 40), part("fetch", 1, 1)]);
    }
}
