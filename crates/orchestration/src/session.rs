//! The interface `orchestration` on any provider of duroxide: an operation starts an orchestration and waits for its
//! end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use duroxide::providers::Provider;
use duroxide::runtime::Runtime;
use duroxide::{Client, ClientError, ErrorDetails, OrchestrationStatus};
use litelab_harness::{
    Account, AsyncSession, Bound, Call, Column, Execution, Fault, Job, Library, Reply, Request, Row, Settings, Setup,
};
use litelab_protocol::{
    Begin, Connection, Database, Fetch, Interface, Invocation, Prepare, Statement, Transaction, invocation,
};

use super::meter::Meter;
use super::options::{Options, Wait};
use super::warnings;
use super::work::{self, FanOut, LargePayload, Output};

/// Longest wait for an orchestration, the same as in duroxide's stress tests.
const PATIENCE: Duration = Duration::from_secs(60);

/// A provider and its connections.
pub trait Store: Send + Sync + Sized + 'static {
    /// Names of the driver's options in addition to [`Options`].
    const OPTIONS: &'static [&'static str];

    /// Opens this number of connections and applies their settings. Returns, in the order of opening, the values in
    /// effect on each connection for every PRAGMA in `read_back`.
    fn open(
        database: &Database,
        connection: &Connection,
        connections: u32,
    ) -> impl Future<Output = Result<(Self, Vec<Settings>), Fault>> + Send;

    /// The provider for duroxide's runtime.
    fn provider(&self) -> Arc<dyn Provider>;

    /// Runs the statements one after the other, while duroxide's runtime is stopped.
    fn script(&self, statements: &[String]) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Settings in effect on every current connection. The library may have replaced a connection since `open`.
    fn settings(&self) -> impl Future<Output = Result<Vec<Settings>, Fault>> + Send;

    /// Closes all connections.
    fn close(self) -> impl Future<Output = Result<(), Fault>> + Send;
}

/// The driver.
pub struct Orchestrator<S> {
    store: Arc<S>,
    engine: Arc<Engine>,
}

/// duroxide's runtime on the provider, and its clients.
struct Engine {
    meter: Arc<Meter>,
    options: Options,
    client: Client,
    runtime: tokio::sync::Mutex<Option<Arc<Runtime>>>,
    operations: Mutex<Arc<Operations>>,
    /// Whether the first transaction has begun.
    begun: AtomicBool,
}

/// Operations by transaction and statement.
type Operations = Vec<Vec<Option<Operation>>>;

/// The operation that a statement calls.
enum Operation {
    FanOut(Job),
    LargePayload(Job),
}

/// Columns of the operations, in the order of the interface; `fan_out` returns only the first.
const COLUMNS: [&str; 2] = ["succeeded", "bytes"];

/// The operations that [`Orchestrator`] offers in place of SQL.
#[must_use]
pub fn interface() -> Interface {
    let large = ["instance", "activities", "sub_orchestrations", "small_kb", "medium_kb", "large_kb", "delay_ms"];
    let operations = vec![
        invocation::Operation::writing("fan_out", &["instance", "activities", "delay_ms"], &COLUMNS[..1]),
        invocation::Operation::writing("large_payload", &large, &COLUMNS),
    ];
    Interface { name: "orchestration".into(), operations }
}

/// Result of an orchestration.
struct Ended {
    succeeded: i64,
    bytes: i64,
}

impl Row for Ended {
    fn column(&self, at: usize) -> Result<Column<'_>, Fault> {
        Ok(Column::Integer(if at == 0 { self.succeeded } else { self.bytes }))
    }
}

impl<S: Store> Orchestrator<S> {
    /// A client never waits for a connection, because the provider lends connections call by call. `settings` are those
    /// that the session returns.
    fn session(&self, settings: Settings) -> Session<S> {
        let (store, engine) = (self.store.clone(), self.engine.clone());
        Session { store, engine, settings, operations: self.engine.operations() }
    }
}

impl<S: Store> Library for Orchestrator<S> {
    async fn open(
        database: &Database,
        connection: &Connection,
        connections: u32,
        setup: &Setup,
    ) -> Result<(Self, Vec<Settings>), Fault> {
        warnings::listen();
        let options = Options::read(connection, S::OPTIONS)?;
        let (store, settings) = S::open(database, connection, connections).await?;
        let meter = Arc::new(Meter::new(store.provider(), options.runtime.dispatcher_min_poll_interval));
        let engine = Engine {
            client: Client::new(meter.clone()),
            meter,
            options,
            runtime: tokio::sync::Mutex::new(None),
            operations: Mutex::default(),
            begun: AtomicBool::new(false),
        };
        let library = Self { store: Arc::new(store), engine: Arc::new(engine) };
        let mut answers = Vec::new();
        for settings in settings {
            answers.push(setup.run_async(&mut library.session(settings)).await?);
        }
        Ok((library, answers))
    }

    async fn run(&self, request: Request<'static>) -> Result<Reply, Fault> {
        request.run_async(&mut self.session(Settings::new())).await
    }

    async fn settings(self: &Arc<Self>, _: u32, _: &'static [String]) -> Result<Vec<Settings>, Fault> {
        self.store.settings().await
    }

    fn account(&self) -> Account {
        let heard = warnings::heard();
        let mut timers = self.engine.meter.timers();
        if heard.pauses.count() > 0 {
            timers.insert("back-off".into(), heard.pauses);
        }
        Account { cured: heard.retried.into_iter().collect(), timers }
    }

    async fn close(self) -> Result<(), Fault> {
        self.engine.stop().await;
        // duroxide may hold the provider until its aborted tasks have ended.
        drop(self.engine);
        match Arc::into_inner(self.store) {
            Some(store) => store.close().await,
            None => Err(Fault::Other("the provider is still in use".into())),
        }
    }
}

impl Engine {
    fn operations(&self) -> Arc<Operations> {
        self.operations.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Starts duroxide's dispatchers unless they run.
    async fn start(&self) {
        let mut runtime = self.runtime.lock().await;
        if runtime.is_none() {
            let (activities, orchestrations) = (work::activities(), work::orchestrations());
            let options = self.options.runtime.clone();
            *runtime = Some(Runtime::start_with_options(self.meter.clone(), activities, orchestrations, options).await);
        }
    }

    /// Stops the dispatchers if they run. Their current work is dropped, and sqlx replaces a connection that was in
    /// use.
    async fn stop(&self) {
        if let Some(runtime) = self.runtime.lock().await.take() {
            runtime.shutdown(None).await;
        }
    }

    /// Starts an orchestration and waits for its end. Returns its output.
    async fn run(&self, instance: &str, name: &str, input: String) -> Result<Output, Fault> {
        if !self.begun.swap(true, Ordering::Relaxed) {
            self.meter.begin();
            warnings::begin();
        }
        let told = self.meter.expect(instance);
        let ended = async {
            self.client.start_orchestration(instance, name, input).await?;
            if self.options.wait == Wait::Told {
                // After the message or the timeout, the client reads the status.
                let _told = tokio::time::timeout(PATIENCE, told).await;
            }
            self.client.wait_for_orchestration(instance, PATIENCE).await
        }
        .await;
        self.meter.seen(instance);
        match ended {
            Ok(OrchestrationStatus::Completed { output, .. }) => serde_json::from_str(&output).map_err(Fault::other),
            Ok(OrchestrationStatus::Failed { details, .. }) => Err(failure(&details)),
            Ok(_) => Err(lost(format!("{instance} has neither completed nor failed"))),
            Err(ClientError::Timeout) => Err(lost(format!("{instance} was not done after {PATIENCE:?}"))),
            Err(error) => Err(lost(error.to_string())),
        }
    }
}

/// A failed orchestration is a failed transaction; the trial continues.
fn failure(details: &ErrorDetails) -> Fault {
    lost(format!("{}: {}", details.category(), details.display_message()))
}

/// The error has the SQLite code that the message names; else `SQLITE_BUSY` if it mentions a lock, or `SQLITE_ERROR`.
fn lost(message: String) -> Fault {
    eprintln!("{message}");
    Fault::Sqlite { code: warnings::code(&message), message }
}

/// A client of duroxide.
pub struct Session<S> {
    store: Arc<S>,
    engine: Arc<Engine>,
    settings: Settings,
    operations: Arc<Operations>,
}

impl Operation {
    /// The harness has already checked the statement against the definition of the interface.
    fn new(statement: &Statement) -> Result<Option<Self>, Fault> {
        let invocation = Invocation::parse(&statement.sql).map_err(Fault::Other)?;
        let job = |columns: &[&str]| Job::new(&statement.work, columns);
        Ok(match invocation.as_ref().map(|i| i.operation.as_str()) {
            Some("fan_out") => Some(Self::FanOut(job(&COLUMNS[..1])?)),
            Some("large_payload") => Some(Self::LargePayload(job(&COLUMNS)?)),
            _ => None,
        })
    }
}

impl<S: Store> AsyncSession for Session<S> {
    async fn script(&mut self, statements: &[String]) -> Result<(), Fault> {
        if statements.is_empty() {
            return Ok(());
        }
        self.engine.stop().await;
        self.store.script(statements).await
    }

    async fn settings(&mut self, _: &[String]) -> Result<Settings, Fault> {
        Ok(self.settings.clone())
    }

    async fn prepare(&mut self, transactions: &[Transaction], _: &[usize], _: Prepare) -> Result<(), Fault> {
        let all = |t: &Transaction| t.statements.iter().map(Operation::new).collect::<Result<_, _>>();
        let operations: Operations = transactions.iter().map(all).collect::<Result<_, _>>()?;
        *self.engine.operations.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(operations);
        self.engine.start().await;
        Ok(())
    }

    async fn begin(&mut self, _: Begin) -> Result<(), Fault> {
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    /// An orchestration that was started continues, but no client waits for it.
    async fn rollback(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    async fn execute(&mut self, call: &Call<'_>, execution: &mut Execution) -> Result<u64, Fault> {
        let argument = |at: usize| call.values.bound(&call.slots[at], &execution.yielded);
        let count = |at: usize| number(argument(at), call);
        let instance = argument(0).to_text();
        let operation = self.operations.get(call.transaction).and_then(|all| all.get(call.statement)?.as_ref());
        let (name, input, expected, job) = match operation {
            Some(Operation::FanOut(job)) => {
                let input = FanOut { task_count: count(1)?, delay_ms: count(2)? };
                (work::FAN_OUT, serde_json::to_string(&input), input.task_count, job)
            }
            Some(Operation::LargePayload(job)) => {
                let input = LargePayload {
                    activities: count(1)?,
                    sub_orchestrations: count(2)?,
                    small: count(3)? as usize,
                    medium: count(4)? as usize,
                    large: count(5)? as usize,
                    delay_ms: count(6)?,
                };
                (work::LARGE_PAYLOAD, serde_json::to_string(&input), input.expected(), job)
            }
            None => return Err(Fault::Other(format!("`{}` is no operation of this driver", call.spec.sql))),
        };
        let output = self.engine.run(&instance, name, input.map_err(Fault::other)?).await?;
        if output.succeeded != expected {
            return Err(lost(format!("{instance}: {} of {expected} activities succeeded", output.succeeded)));
        }
        execution.note_query(call);
        let row = Ended { succeeded: output.succeeded as i64, bytes: output.payload.len() as i64 };
        if call.spec.fetch != Fetch::None {
            let columns = if name == work::FAN_OUT { 1 } else { COLUMNS.len() };
            job.run(columns, &row, execution)?;
        }
        execution.note_first_row(call);
        execution.remember(call, &row)?;
        Ok(1)
    }
}

/// A count or size.
fn number(value: Bound<'_>, call: &Call<'_>) -> Result<u64, Fault> {
    match value {
        Bound::Integer(number @ 0..=1_000_000) => Ok(number as u64),
        other => Err(Fault::Other(format!("`{}`: {other:?} is not a number from 0 to 1000000", call.spec.sql))),
    }
}
