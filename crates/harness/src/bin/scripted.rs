//! A runner without a database, for the tests of the harness. The text of a statement is a script of its result.
//!
//! `ROWS 3` returns three rows of one column, the number of rows that the session has returned so far. `FAIL
//! SQLITE_BUSY 2` fails twice and returns one row from then on. `SEES 3` and `SEES NULL` return one row if the first
//! bound value is equal to theirs. `PANIC` panics. Any other text is an error that is not SQLite's.

use std::collections::BTreeMap;
use std::process::ExitCode;

use litelab_harness::{About, Bound, Call, Column, Driver, Execution, Fault, Job, Open, Row, Session, refuse_options};
use litelab_protocol::invocation::Operation;
use litelab_protocol::{Begin, Connection, Database, Executor, Interface, Prepare, Transaction, Value, codes};

/// A session that counts its rows and failures.
#[derive(Default)]
struct Scripted {
    rows: i64,
    failures: u64,
    open: bool,
}

/// A row whose columns all contain its number.
struct Number(i64);

impl Row for Number {
    fn column(&self, _: usize) -> Result<Column<'_>, Fault> {
        Ok(Column::Integer(self.0))
    }
}

impl Open for Scripted {
    fn open(_: &Database, connection: &Connection) -> Result<Self, Fault> {
        refuse_options(connection, &["quiet"]).map(|()| Self::default())
    }
}

impl Session for Scripted {
    fn script(&mut self, _: &[String]) -> Result<(), Fault> {
        Ok(())
    }

    fn settings(&mut self, names: &[String]) -> Result<BTreeMap<String, Value>, Fault> {
        Ok(names.iter().map(|name| (name.clone(), self.rows.into())).collect())
    }

    fn prepare(&mut self, _: &[Transaction], _: &[usize], _: Prepare) -> Result<(), Fault> {
        Ok(())
    }

    fn begin(&mut self, begin: Begin) -> Result<(), Fault> {
        self.open = begin != Begin::None;
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Fault> {
        if std::mem::take(&mut self.open) { Ok(()) } else { Err(Fault::Other("COMMIT without a transaction".into())) }
    }

    fn rollback(&mut self) -> Result<(), Fault> {
        self.open = false;
        Ok(())
    }

    fn execute(&mut self, call: &Call<'_>, execution: &mut Execution) -> Result<u64, Fault> {
        let mut words = call.spec.sql.split_whitespace();
        let rows = match (words.next(), words.next(), words.next()) {
            (Some("ROWS"), Some(rows), None) => rows.parse().map_err(Fault::other)?,
            (Some("FAIL"), Some(name), Some(times)) => {
                if self.failures < times.parse().map_err(Fault::other)? {
                    self.failures += 1;
                    let code = codes::code(name).ok_or_else(|| Fault::Other(format!("`{name}` is no code")))?;
                    return Err(Fault::Sqlite { code, message: "as told".into() });
                }
                1
            }
            (Some("SEES"), Some(expected), None) => {
                let bound = call.slots.first().map(|slot| call.values.bound(slot, &execution.yielded));
                let seen = match bound {
                    Some(Bound::Integer(i)) => i.to_string(),
                    Some(Bound::Null) => "NULL".into(),
                    other => format!("{other:?}"),
                };
                if seen != expected {
                    return Err(Fault::Other(format!("it sees {seen}")));
                }
                1
            }
            (Some("PANIC"), None, None) => panic!("as told"),
            _ => return Err(Fault::Other(format!("`{}` is not in the script", call.spec.sql))),
        };
        let job = Job::new(&call.spec.work, &["number"])?;
        execution.note_query(call);
        for at in 0..rows {
            self.rows += 1;
            let row = Number(self.rows);
            job.run(1, &row, execution)?;
            if at == 0 {
                execution.note_first_row(call);
                execution.remember(call, &row)?;
            }
        }
        Ok(rows)
    }
}

fn about() -> Result<About, Fault> {
    Ok(About { version: "1".into(), sqlite: None })
}

fn interface() -> Interface {
    let operations = vec![
        Operation::writing("enqueue", &["payload", "priority"], &[]),
        Operation::writing("claim", &[], &["id", "payload"]),
    ];
    Interface { name: "queue".into(), operations }
}

fn main() -> ExitCode {
    let queue =
        Driver::new::<Scripted>("queue", about).interface(interface()).sharings(&["own-connection", "one-connection"]);
    let queue = queue.executors(&[Executor::Threads, Executor::Processes]);
    litelab_harness::main("scripted", [Driver::new::<Scripted>("scripted", about), queue])
}
