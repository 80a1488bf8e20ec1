//! The driver `noop`, which calls no database: its results are the cost of the harness itself.

use std::collections::BTreeMap;
use std::hint::black_box;

use litelab_protocol::{Begin, Connection, Database, Prepare, Transaction, Value};

use crate::fault::Fault;
use crate::session::{Call, Execution, Open, Session, refuse_options};

/// Name of the driver.
pub const NOOP: &str = "noop";

/// Returns one row without columns from every statement, so that no transaction ends empty.
pub struct Noop;

impl Open for Noop {
    fn open(_: &Database, connection: &Connection) -> Result<Self, Fault> {
        refuse_options(connection, &[]).map(|()| Self)
    }
}

impl Session for Noop {
    fn script(&mut self, _: &[String]) -> Result<(), Fault> {
        Ok(())
    }

    fn settings(&mut self, names: &[String]) -> Result<BTreeMap<String, Value>, Fault> {
        Ok(names.iter().map(|name| (name.clone(), Value::Null)).collect())
    }

    fn prepare(&mut self, _: &[Transaction], _: &[usize], _: Prepare) -> Result<(), Fault> {
        Ok(())
    }

    fn begin(&mut self, _: Begin) -> Result<(), Fault> {
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    fn rollback(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    // Inlined into each of several loops: a call would cost a tenth of the time that this driver measures.
    #[inline(always)]
    fn execute(&mut self, call: &Call<'_>, execution: &mut Execution) -> Result<u64, Fault> {
        for slot in call.slots {
            black_box(call.values.bound(slot, &execution.yielded));
        }
        execution.note_query(call);
        execution.note_first_row(call);
        Ok(1)
    }
}
