//! The driver `c`: SQLite's API called from C, in `c/driver.c`, without a binding. This module passes the values of an
//! execution to it and reads its rows.

mod connection;
mod driver;
mod row;

use std::collections::BTreeMap;
use std::ffi::{CString, c_int};
use std::hint::cold_path;

use litelab_harness::rusqlite::connect;
use litelab_harness::{Bound, Call, Drawn, Execution, Fault, Job, Open, Session, prepare_each, refuse_options};
use litelab_protocol::{Begin, Connection as Settings, Database, Prepare, Transaction};

use connection::{Connection, Statement, text};
use driver::Value;

/// A connection, its prepared statements, and the buffers that executions reuse.
pub struct C {
    // Dropped before the connection, as are the statements of one execution.
    statements: Vec<Vec<Prepared>>,
    connection: Connection,
    bound: Vec<Value>,
    row: Vec<Value>,
}

// SAFETY: the connection is reached only through this value and its statements, which move together; it is opened for
// use by one thread at a time. Pointers in the values are read only in the call that has set them.
unsafe impl Send for C {}

/// One statement of a transaction.
struct Prepared {
    /// SQL that [`Prepare::Each`] compiles.
    sql: CString,
    /// `None` with [`Prepare::Each`].
    statement: Option<Statement>,
    columns: usize,
    job: Job,
}

impl C {
    /// Compiles a statement, and compares its parameters and columns with those of the trial.
    fn check(&self, spec: &litelab_protocol::Statement, mode: Prepare) -> Result<Prepared, Fault> {
        let sql = text(&*spec.sql)?;
        let statement = self.connection.prepare(&sql, mode)?;
        let names = statement.column_names(&self.connection)?;
        let columns: Vec<&str> = names.iter().map(String::as_str).collect();
        let job = Job::check(spec, statement.parameters(), &columns)?;
        let statement = (mode == Prepare::Once).then_some(statement);
        Ok(Prepared { sql, statement, columns: names.len(), job })
    }
}

impl Open for C {
    fn open(database: &Database, settings: &Settings) -> Result<Self, Fault> {
        refuse_options(settings, &[])?;
        let location = connect::location(database);
        let connection = Connection::open(&text(&*location)?).map_err(|fault| fault.during(&location))?;
        let mut session = Self { statements: Vec::new(), connection, bound: Vec::new(), row: Vec::new() };
        session.script(&settings.settings.iter().map(|setting| setting.sql.clone()).collect::<Vec<_>>())?;
        Ok(session)
    }
}

impl Session for C {
    fn script(&mut self, statements: &[String]) -> Result<(), Fault> {
        statements.iter().try_for_each(|sql| self.connection.exec(sql).map_err(|fault| fault.during(sql)))
    }

    fn settings(&mut self, names: &[String]) -> Result<BTreeMap<String, litelab_protocol::Value>, Fault> {
        self.connection.exec("SELECT count(*) FROM sqlite_schema")?;
        names.iter().map(|name| Ok((name.clone(), self.connection.pragma(name)?))).collect()
    }

    fn prepare(&mut self, transactions: &[Transaction], used: &[usize], mode: Prepare) -> Result<(), Fault> {
        self.statements = prepare_each(transactions, used, |spec| self.check(spec, mode))?;
        let widest = self.statements.iter().flatten().map(|prepared| prepared.columns).max();
        self.row = vec![Value::from(Bound::Null); widest.unwrap_or_default()];
        match mode {
            Prepare::Once => self.connection.prepare_brackets(),
            Prepare::Each => Ok(()),
        }
    }

    #[inline]
    fn begin(&mut self, begin: Begin) -> Result<(), Fault> {
        self.connection.begin(begin)
    }

    #[inline]
    fn commit(&mut self) -> Result<(), Fault> {
        self.connection.commit()
    }

    fn rollback(&mut self) -> Result<(), Fault> {
        self.connection.rollback()
    }

    #[inline]
    fn execute(&mut self, call: &Call<'_>, execution: &mut Execution) -> Result<u64, Fault> {
        let Self { statements, connection, bound, row } = self;
        let Prepared { sql, statement, columns, job } = &mut statements[call.transaction][call.statement];
        bound.clear();
        bound.extend(call.slots.iter().map(|slot| {
            let value = Value::from(call.values.bound(slot, &execution.yielded));
            // The first row may yield under the same name, while the statement continues.
            Value { is_volatile: c_int::from(matches!(slot, Drawn::Yielded(_))), ..value }
        }));
        let mut compiled;
        let statement = match statement {
            Some(statement) => statement,
            None => {
                cold_path();
                compiled = connection.prepare(sql, Prepare::Each)?;
                &mut compiled
            }
        };
        match *columns {
            0 => statement.run(connection, bound),
            columns => statement.fetch(connection, job, bound, &mut row[..columns], call, execution),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_kept_or_not() {
        crate::statement::tests::kept_or_not(|session: &C| {
            session.connection.prepare(c"SELECT 1", Prepare::Each).expect("prepared").handle()
        });
    }
}
