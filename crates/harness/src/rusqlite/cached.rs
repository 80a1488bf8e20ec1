//! A connection of rusqlite that a library has lent to a closure. Its statements stay in rusqlite's own cache, as in an
//! application, which cannot keep a statement without owning the connection.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::{Call, Execution, Fault, Job, Session, prepare_each};
use litelab_protocol::{Begin, Prepare, Statement, Transaction, Value};
use rusqlite::Connection;

use super::connect;
use super::execute::run;
use super::fault::fault;

/// Default capacity of rusqlite's cache of statements.
const DEFAULT: usize = 16;

/// The session in a closure.
pub struct Cached<'a> {
    connection: &'a Connection,
    checked: &'a CheckedStatements,
}

/// Shapes of the statements, by transaction: the same for all connections that are prepared for the same transactions.
#[derive(Default)]
pub struct CheckedStatements(OnceLock<(Prepare, Vec<Vec<Shape>>)>);

/// Properties of a statement that SQLite has compiled.
struct Shape {
    columns: usize,
    job: Job,
}

impl<'a> Cached<'a> {
    /// A session on the connection that the closure has received.
    pub fn new(connection: &'a Connection, checked: &'a CheckedStatements) -> Self {
        Self { connection, checked }
    }

    fn check(&self, spec: &Statement) -> Result<Shape, Fault> {
        let statement = self.connection.prepare_cached(&spec.sql).map_err(fault)?;
        // `column_names` returns a list in one release of rusqlite and an iterator in the next.
        #[allow(clippy::useless_conversion)]
        let names: Vec<&str> = statement.column_names().into_iter().collect();
        let job = Job::check(spec, statement.parameter_count(), &names)?;
        Ok(Shape { columns: names.len(), job })
    }

    fn batch(&self, sql: &str) -> Result<(), Fault> {
        self.connection.execute_batch(sql).map_err(fault)
    }
}

impl Session for Cached<'_> {
    fn script(&mut self, statements: &[String]) -> Result<(), Fault> {
        connect::script(self.connection, statements)
    }

    fn settings(&mut self, names: &[String]) -> Result<BTreeMap<String, Value>, Fault> {
        connect::read_back(self.connection, names)
    }

    fn prepare(&mut self, transactions: &[Transaction], used: &[usize], mode: Prepare) -> Result<(), Fault> {
        if mode == Prepare::Once {
            // rusqlite's default of 16 would compile the statements of a larger trial again at each execution. Those
            // that begin and end a transaction may be cached, too.
            let statements: usize = transactions.iter().map(|transaction| transaction.statements.len()).sum();
            self.connection.set_prepared_statement_cache_capacity(statements + DEFAULT);
        }
        let shapes = prepare_each(transactions, used, |spec| self.check(spec))?;
        // Another connection may have set the same shapes.
        let _set = self.checked.0.set((mode, shapes));
        if mode == Prepare::Each {
            self.connection.flush_prepared_statement_cache();
        }
        Ok(())
    }

    fn begin(&mut self, begin: Begin) -> Result<(), Fault> {
        begin.sql().map_or(Ok(()), |sql| self.batch(sql))
    }

    fn commit(&mut self) -> Result<(), Fault> {
        self.batch("COMMIT")
    }

    fn rollback(&mut self) -> Result<(), Fault> {
        // Some errors (SQLITE_FULL, SQLITE_IOERR, …) roll back by themselves: https://sqlite.org/lang_transaction.html
        if self.connection.is_autocommit() { Ok(()) } else { self.batch("ROLLBACK") }
    }

    fn execute(&mut self, call: &Call<'_>, execution: &mut Execution) -> Result<u64, Fault> {
        let Self { connection, checked } = *self;
        let Some((mode, shapes)) = checked.0.get() else {
            return Err(Fault::Other("nothing was prepared".into()));
        };
        let Shape { columns, job, .. } = &shapes[call.transaction][call.statement];
        // `changes` keeps its value over a statement that counts no changes, such as DDL, so the total must differ.
        let before = connection.total_changes();
        let rows = match mode {
            Prepare::Once => {
                let mut statement = connection.prepare_cached(&call.spec.sql).map_err(fault)?;
                run(connection, &mut statement, *columns, job, call, execution)?
            }
            Prepare::Each => {
                let mut statement = connection.prepare(&call.spec.sql).map_err(fault)?;
                run(connection, &mut statement, *columns, job, call, execution)?
            }
        };
        if *columns > 0 {
            return Ok(rows);
        }
        Ok(if connection.total_changes() == before { 0 } else { connection.changes() })
    }
}
