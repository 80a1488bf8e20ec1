//! The driver `rusqlite`: a connection that keeps its prepared statements, as an application does that prepares once.
//! All unsafe code of this driver is in this file and in [`litelab_harness::rusqlite`].

use std::collections::BTreeMap;
use std::hint::cold_path;
use std::ptr::NonNull;

use litelab_harness::rusqlite::{connect, fault, run};
use litelab_harness::{Call, Execution, Fault, Job, Open, Session, prepare_each, refuse_options};
use litelab_protocol::{Begin, Connection as Settings, Database, Prepare, Transaction, Value};
use rusqlite::{Connection, Statement};

/// A connection and its prepared statements.
///
/// rusqlite's statements borrow their connection, so that one struct can contain both only if a lifetime is extended.
/// Its statement cache avoids that, but costs a hash and two list operations at each execution, a few per cent of a
/// point read. The connection has a separate allocation, which `drop` frees after the statements.
pub struct Rusqlite {
    statements: Vec<Vec<Prepared>>,
    /// `BEGIN DEFERRED`, `BEGIN IMMEDIATE`, `BEGIN EXCLUSIVE` and `COMMIT`; `None` with [`Prepare::Each`], which sends
    /// them as text, as rusqlite's own `Transaction` does.
    brackets: Option<[Statement<'static>; 4]>,
    connection: NonNull<Connection>,
}

// SAFETY: the connection is reached only through this value and its statements, which move together; SQLite's
// multi-thread mode requires only that no two threads use one connection at the same time.
unsafe impl Send for Rusqlite {}

impl Drop for Rusqlite {
    fn drop(&mut self) {
        self.statements.clear();
        self.brackets = None;
        // SAFETY: created by `Box::leak` in `open`; everything that borrowed from it was dropped above.
        drop(unsafe { Box::from_raw(self.connection.as_ptr()) });
    }
}

/// One statement of a transaction.
struct Prepared {
    /// `None` with [`Prepare::Each`].
    statement: Option<Statement<'static>>,
    columns: usize,
    job: Job,
}

impl Rusqlite {
    /// The connection with an extended lifetime, which does not leave this file: only `self` keeps values that borrow
    /// from it, and `drop` drops these first.
    #[inline]
    fn connection(&self) -> &'static Connection {
        // SAFETY: allocated in `open`, freed only in `drop`.
        unsafe { self.connection.as_ref() }
    }

    fn check(&self, spec: &litelab_protocol::Statement, mode: Prepare) -> Result<Prepared, Fault> {
        let statement = self.connection().prepare(&spec.sql).map_err(fault)?;
        let names: Vec<&str> = statement.column_names().collect();
        let job = Job::check(spec, statement.parameter_count(), &names)?;
        let columns = names.len();
        Ok(Prepared { columns, job, statement: (mode == Prepare::Once).then_some(statement) })
    }
}

impl Open for Rusqlite {
    fn open(database: &Database, settings: &Settings) -> Result<Self, Fault> {
        refuse_options(settings, &[])?;
        // Opened with rusqlite's defaults: read-write, created if absent, URI names, no mutex, 5 s busy timeout.
        let connection = Connection::open(connect::location(database)).map_err(fault)?;
        connect::set(&connection, settings)?;
        let connection = NonNull::from(Box::leak(Box::new(connection)));
        Ok(Self { statements: Vec::new(), brackets: None, connection })
    }
}

impl Session for Rusqlite {
    fn script(&mut self, statements: &[String]) -> Result<(), Fault> {
        connect::script(self.connection(), statements)
    }

    fn settings(&mut self, names: &[String]) -> Result<BTreeMap<String, Value>, Fault> {
        connect::read_back(self.connection(), names)
    }

    fn prepare(&mut self, transactions: &[Transaction], used: &[usize], mode: Prepare) -> Result<(), Fault> {
        self.statements = prepare_each(transactions, used, |spec| self.check(spec, mode))?;
        if mode == Prepare::Once {
            let prepare = |sql| self.connection().prepare(sql).map_err(fault);
            self.brackets = Some([
                prepare("BEGIN DEFERRED")?,
                prepare("BEGIN IMMEDIATE")?,
                prepare("BEGIN EXCLUSIVE")?,
                prepare("COMMIT")?,
            ]);
        }
        Ok(())
    }

    #[inline]
    fn begin(&mut self, begin: Begin) -> Result<(), Fault> {
        let place = match begin {
            Begin::None => return Ok(()),
            Begin::Deferred => 0,
            Begin::Immediate => 1,
            Begin::Exclusive => 2,
        };
        match (&mut self.brackets, begin.sql()) {
            (Some(prepared), _) => prepared[place].raw_execute().map(drop).map_err(fault),
            (None, Some(sql)) => self.connection().execute_batch(sql).map_err(fault),
            (None, None) => Ok(()),
        }
    }

    #[inline]
    fn commit(&mut self) -> Result<(), Fault> {
        match &mut self.brackets {
            Some(prepared) => prepared[3].raw_execute().map(drop).map_err(fault),
            None => self.connection().execute_batch("COMMIT").map_err(fault),
        }
    }

    fn rollback(&mut self) -> Result<(), Fault> {
        let connection = self.connection();
        // Some errors (SQLITE_FULL, SQLITE_IOERR, …) roll back by themselves: https://sqlite.org/lang_transaction.html
        if !connection.is_autocommit() {
            connection.execute_batch("ROLLBACK").map_err(fault)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn execute(&mut self, call: &Call<'_>, execution: &mut Execution) -> Result<u64, Fault> {
        let connection = self.connection();
        let prepared = &mut self.statements[call.transaction][call.statement];
        let (columns, job) = (prepared.columns, &prepared.job);
        let before = if columns == 0 { connection.total_changes() } else { 0 };
        let rows = match &mut prepared.statement {
            Some(statement) => run(connection, statement, columns, job, call, execution)?,
            None => {
                // Preparing takes longer than the compiler could save in the code after it.
                cold_path();
                let mut statement = connection.prepare(&call.spec.sql).map_err(fault)?;
                run(connection, &mut statement, columns, job, call, execution)?
            }
        };
        if columns > 0 {
            return Ok(rows);
        }
        // `changes` keeps its value over a statement that counts no changes (such as DDL), so the total must differ.
        Ok(if connection.total_changes() == before { 0 } else { connection.changes() })
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use litelab_harness::testing::{select, transaction};
    use litelab_harness::{Clock, Values};
    use litelab_protocol::Fetch;
    use rusqlite::ffi;

    /// Bytes of the statements prepared on the connection: <https://sqlite.org/c3ref/c_dbstatus_options.html>.
    fn statement_memory(db: *mut ffi::sqlite3) -> i32 {
        let (mut current, mut highest) = (0, 0);
        // SAFETY: the connection is open, and both pointers are writable.
        unsafe { ffi::sqlite3_db_status(db, ffi::SQLITE_DBSTATUS_STMT_USED, &mut current, &mut highest, 0) };
        current
    }

    #[test]
    fn statements_are_kept_or_not() {
        // SAFETY: the handle is used while the connection is open.
        kept_or_not(|session: &Rusqlite| unsafe { session.connection().handle() });
    }

    /// Checks whether a driver keeps statements, by their memory after one was executed.
    pub fn kept_or_not<S: Open>(handle: fn(&S) -> *mut ffi::sqlite3) {
        let spec = select("SELECT 1 WHERE 1 = 0 OR 2", &[], Fetch::All);
        let transaction = transaction("t", Begin::None, vec![], vec![spec.clone()]);
        let memory = Database::Memory { shared: false, name: "m".into(), setup: vec![], teardown: vec![] };
        for (mode, kept) in [(Prepare::Once, true), (Prepare::Each, false)] {
            let mut session = S::open(&memory, &Settings::default()).expect("open");
            session.prepare(std::slice::from_ref(&transaction), &[0], mode).expect("prepare");
            let (clock, values) = (Clock::start(), Values::default());
            let call = Call {
                transaction: 0,
                statement: 0,
                spec: &spec,
                slots: &[],
                values: &values,
                yields: &[],
                timed: false,
                clock,
            };
            assert_eq!(session.execute(&call, &mut Execution::default()).expect("a row"), 1);
            assert_eq!(statement_memory(handle(&session)) > 0, kept, "{mode:?}");
        }
    }
}
