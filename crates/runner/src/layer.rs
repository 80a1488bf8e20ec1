//! Access `group-commit`: `onewriter`, whose connections are opened with the profile's PRAGMAs.

use std::collections::BTreeMap;
use std::sync::Arc;

use litelab_harness::rusqlite::{Cached, Known, connect};
use litelab_harness::{Call, Effect, Fault, Group, Session, Side, refuse_options};
use litelab_protocol::{Begin, Connection as Settings, Database as Location, Prepare, Transaction, Value};
use onewriter::{Checkpoints, Database, Durability, Options};
use rusqlite::Connection;

/// The PRAGMA that is the layer's business: what it says is when the layer checkpoints in the background.
const AUTOCHECKPOINT: &str = "wal_autocheckpoint";

/// A database with one writer.
pub struct Layer {
    database: Database,
    writing: Arc<Known>,
    reading: Arc<Known>,
    passive_after: u32,
}

/// What a closure sees. Transactions are begun and ended around it.
pub struct Inside<'a> {
    cached: Cached<'a>,
    passive_after: u32,
}

impl Session for Inside<'_> {
    fn script(&mut self, statements: &[String]) -> Result<(), Fault> {
        self.cached.script(statements)
    }

    fn settings(&mut self, names: &[String]) -> Result<BTreeMap<String, Value>, Fault> {
        let mut settings = self.cached.settings(names)?;
        // SQLite's own is off: the layer was asked when it checkpoints.
        if let Some(own) = settings.get_mut(AUTOCHECKPOINT) {
            *own = i64::from(self.passive_after).into();
        }
        Ok(settings)
    }

    fn prepare(&mut self, transactions: &[Transaction], used: &[usize], mode: Prepare) -> Result<(), Fault> {
        self.cached.prepare(transactions, used, mode)
    }

    fn begin(&mut self, _: Begin) -> Result<(), Fault> {
        Err(not_ours())
    }

    fn commit(&mut self) -> Result<(), Fault> {
        Err(not_ours())
    }

    fn rollback(&mut self) -> Result<(), Fault> {
        Err(not_ours())
    }

    #[inline]
    fn execute(&mut self, call: &Call<'_>, effect: &mut Effect<'_>) -> Result<u64, Fault> {
        self.cached.execute(call, effect)
    }
}

fn not_ours() -> Fault {
    Fault::Other("the layer begins and ends transactions".into())
}

/// What a closure was told, on its way through the layer.
struct Told(Fault);

impl From<onewriter::Error> for Told {
    fn from(error: onewriter::Error) -> Self {
        let message = error.to_string();
        Self(match error.code() {
            Some(code) => Fault::Sqlite { code, message },
            None => Fault::Other(message),
        })
    }
}

impl Layer {
    fn inside<'a>(&self, connection: &'a Connection, known: &'a Known) -> Inside<'a> {
        Inside { cached: Cached::new(connection, known), passive_after: self.passive_after }
    }

    /// One after the other each of the connections that read, which are all lent meanwhile.
    fn each_reader<R>(
        &self,
        readers: u32,
        ready: &dyn Fn(&mut Inside<'_>, Side) -> Result<R, Fault>,
        answers: &mut Vec<R>,
    ) -> Result<(), Fault> {
        if readers == 0 {
            return Ok(());
        }
        self.read(|session| {
            answers.push(ready(session, Side::Reader)?);
            self.each_reader(readers - 1, ready, answers)
        })
    }
}

/// The frames after which SQLite would checkpoint: the statement is run on a connection of its own, and read back.
fn autocheckpoint(sql: &str) -> Result<u32, Fault> {
    let read = || -> rusqlite::Result<u32> {
        let connection = Connection::open_in_memory()?;
        connect::run_to_end(&connection, sql)?;
        connection.query_row(&format!("PRAGMA {AUTOCHECKPOINT}"), [], |row| row.get(0))
    };
    read().map_err(|e| Fault::other(e).during(sql))
}

impl Group for Layer {
    type Session<'a> = Inside<'a>;

    fn open<R, F>(location: &Location, settings: &Settings, readers: u32, ready: F) -> Result<(Self, Vec<R>), Fault>
    where
        R: Send,
        F: Fn(&mut Inside<'_>, Side) -> Result<R, Fault> + Sync,
    {
        refuse_options(settings, &[])?;
        let mut settings = settings.clone();
        let mut checkpoints = Checkpoints::default();
        if let Some(at) = settings.settings.iter().rposition(|setting| setting.name == AUTOCHECKPOINT) {
            checkpoints.passive_after = autocheckpoint(&settings.settings[at].sql)?;
            settings.settings.retain(|setting| setting.name != AUTOCHECKPOINT);
        }
        let set = move |connection: &Connection| {
            connect::set(connection, &settings)
                .map_err(|fault| rusqlite::Error::ToSqlConversionFailure(fault.to_string().into()))
        };
        let options = Options::new(connect::location(location))
            .durability(Durability::AsSet)
            .readers(readers as usize)
            .checkpoints(checkpoints)
            .on_connection(set);
        let database = options.open().map_err(|error| Told::from(error).0)?;
        let passive_after = checkpoints.passive_after;
        let layer = Self { database, writing: Arc::default(), reading: Arc::default(), passive_after };
        let ready = |session: &mut Inside<'_>, side| ready(session, side);
        let first = layer.database.write(|c| ready(&mut layer.inside(c, &layer.writing), Side::Writer).map_err(Told));
        let mut answers = vec![first.map_err(|told| told.0)?];
        layer.each_reader(readers, &ready, &mut answers)?;
        Ok((layer, answers))
    }

    fn write<R: Send>(
        &self,
        transaction: usize,
        work: impl FnOnce(&mut Inside<'_>) -> Result<R, Fault> + Send,
    ) -> Result<R, Fault> {
        let work = |c: &Connection| work(&mut self.inside(c, &self.writing)).map_err(Told);
        let done = match self.writing.is_one_statement(transaction) {
            true => self.database.write_unguarded(work),
            false => self.database.write(work),
        };
        done.map_err(|told| told.0)
    }

    fn read<R>(&self, work: impl FnOnce(&mut Inside<'_>) -> Result<R, Fault>) -> Result<R, Fault> {
        let done = self.database.read(|c| work(&mut self.inside(c, &self.reading)).map_err(Told));
        done.map_err(|told| told.0)
    }

    async fn write_async<R, W>(&self, transaction: usize, work: W) -> Result<R, Fault>
    where
        R: Send + 'static,
        W: for<'a> FnOnce(&mut Inside<'a>) -> Result<R, Fault> + Send + 'static,
    {
        let is_one_statement = self.writing.is_one_statement(transaction);
        let (known, passive_after) = (self.writing.clone(), self.passive_after);
        let work =
            move |c: &Connection| work(&mut Inside { cached: Cached::new(c, &known), passive_after }).map_err(Told);
        let done = match is_one_statement {
            true => self.database.write_unguarded_async(work).await,
            false => self.database.write_async(work).await,
        };
        done.map_err(|told| told.0)
    }

    async fn read_async<R, W>(&self, work: W) -> Result<R, Fault>
    where
        R: Send + 'static,
        W: for<'a> FnOnce(&mut Inside<'a>) -> Result<R, Fault> + Send + 'static,
    {
        let (known, passive_after) = (self.reading.clone(), self.passive_after);
        let work =
            move |c: &Connection| work(&mut Inside { cached: Cached::new(c, &known), passive_after }).map_err(Told);
        let done = self.database.read_async(work).await;
        done.map_err(|told| told.0)
    }

    fn close(self) -> Result<(), Fault> {
        self.database.close().map_err(|error| Told::from(error).0)
    }
}
