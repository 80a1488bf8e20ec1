//! The driver `apalis-sqlite`: operations of interface `queue` as calls of the library, each of which the worker
//! awaits.

use std::collections::BTreeMap;

use litelab_harness::{
    AsyncSession, Bound, Call, Column, Execution, Fault, Job, Open, Row, Session, refuse_options, waiting,
};
use litelab_protocol::{Begin, Connection, Database, Fetch, Invocation, Prepare, Statement, Transaction, Value};
use tokio::runtime::Runtime;

use super::pool;
use super::queue::{Claimed, Queue};

/// Option: number of tasks that a claim fetches from the file at once, to return them one by one; default: 1. The
/// library's default is 10. A claim of the interface is of one task, and no other worker can claim the further ones.
const BATCH_SIZE: &str = "batch_size";

/// A queue and its runtime, which is that of an application without other work. sqlx runs SQLite in a thread for each
/// connection.
pub struct Apalis {
    runtime: Runtime,
    queue: Queue,
    operations: Vec<Vec<Option<Operation>>>,
}

/// Operation of a statement.
enum Operation {
    Enqueue,
    Claim(Job),
    Finish { done: bool },
}

/// Columns of a claim, in the order of the interface.
pub(super) const COLUMNS: [&str; 2] = ["id", "payload"];

impl Row for Claimed {
    fn column(&self, at: usize) -> Result<Column<'_>, Fault> {
        Ok(Column::Text(if at == 0 { self.id.as_bytes() } else { self.payload.as_bytes() }))
    }
}

impl Operation {
    /// Parses the operation. The harness has compared the statement with the definition of the interface.
    fn new(statement: &Statement) -> Result<Option<Self>, Fault> {
        let invocation = Invocation::parse(&statement.sql).map_err(Fault::Other)?;
        Ok(match invocation.as_ref().map(|i| i.operation.as_str()) {
            Some("enqueue") => Some(Self::Enqueue),
            Some("claim") => Some(Self::Claim(Job::new(&statement.work, &COLUMNS)?)),
            Some("complete") => Some(Self::Finish { done: true }),
            Some("fail") => Some(Self::Finish { done: false }),
            _ => None,
        })
    }
}

impl Open for Apalis {
    fn open(database: &Database, connection: &Connection) -> Result<Self, Fault> {
        refuse_options(connection, &[BATCH_SIZE])?;
        let batch = match connection.options.get(BATCH_SIZE) {
            None => 1,
            Some(value) => value.as_u64().filter(|size| (1..=1_000).contains(size)).ok_or_else(|| {
                Fault::Other(format!("option `{BATCH_SIZE}`: {value} is not a number from 1 to 1000"))
            })?,
        };
        let runtime = waiting()?;
        let queue = runtime.block_on(async {
            let pool = pool::open(database, connection).await?;
            Queue::register(pool, batch as usize).await
        })?;
        Ok(Self { runtime, queue, operations: Vec::new() })
    }
}

impl Session for Apalis {
    fn script(&mut self, statements: &[String]) -> Result<(), Fault> {
        self.runtime.block_on(async { pool::lend(self.queue.pool()).await?.script(statements).await })
    }

    fn settings(&mut self, names: &[String]) -> Result<BTreeMap<String, Value>, Fault> {
        self.runtime.block_on(async { pool::lend(self.queue.pool()).await?.settings(names).await })
    }

    fn prepare(&mut self, transactions: &[Transaction], _: &[usize], _: Prepare) -> Result<(), Fault> {
        let all = |t: &Transaction| t.statements.iter().map(Operation::new).collect::<Result<_, _>>();
        self.operations = transactions.iter().map(all).collect::<Result<_, _>>()?;
        Ok(())
    }

    fn begin(&mut self, _: Begin) -> Result<(), Fault> {
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    /// The library's transactions roll back when they are dropped.
    fn rollback(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    fn execute(&mut self, call: &Call<'_>, execution: &mut Execution) -> Result<u64, Fault> {
        let argument = |at: usize| call.values.bound(&call.slots[at], &execution.yielded);
        match &self.operations[call.transaction][call.statement] {
            Some(Operation::Enqueue) => {
                let priority = if let Bound::Integer(priority) = argument(1) { priority.max(0) as usize } else { 0 };
                let payload = argument(0).to_text();
                self.runtime.block_on(self.queue.enqueue(payload, priority))?;
                Ok(1)
            }
            Some(Operation::Claim(job)) => {
                let Some(task) = self.runtime.block_on(self.queue.claim())? else { return Ok(0) };
                execution.note_query(call);
                if call.spec.fetch != Fetch::None {
                    job.run(COLUMNS.len(), &task, execution)?;
                }
                execution.note_first_row(call);
                execution.remember(call, &task)?;
                Ok(1)
            }
            Some(Operation::Finish { done }) => {
                let id = argument(0).to_text();
                Ok(u64::from(self.runtime.block_on(self.queue.finish(&id, *done))?))
            }
            None => Err(Fault::Other(format!("`{}` is no operation of this driver", call.spec.sql))),
        }
    }
}

impl Drop for Apalis {
    fn drop(&mut self) {
        self.runtime.block_on(self.queue.close());
    }
}
