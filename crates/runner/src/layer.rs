//! Sharing `group-commit`: `onewriter`, whose connections are opened with the PRAGMAs of the profile.

use std::sync::Arc;

use litelab_harness::rusqlite::{Cached, CheckedStatements, connect};
use litelab_harness::{
    Fault, GroupCommit, Library, Reply, Request, Session, Settings, Setup, refuse_options, settings_at_end,
};
use litelab_protocol::Database as Location;
use onewriter::{Checkpoints, Database, Durability, Options};
use rusqlite::Connection;

/// PRAGMA that sets the number of frames after which the layer checkpoints in the background.
const AUTOCHECKPOINT: &str = "wal_autocheckpoint";

/// A database with one writer.
pub struct Layer {
    database: Database,
    writing: Arc<CheckedStatements>,
    reading: Arc<CheckedStatements>,
    passive_after: u32,
}

/// An error of a closure or of the layer, passed through the layer.
struct LayerError(Fault);

impl From<onewriter::Error> for LayerError {
    fn from(error: onewriter::Error) -> Self {
        let message = error.to_string();
        Self(match error.code() {
            Some(code) => Fault::Sqlite { code, message },
            None => Fault::Other(message),
        })
    }
}

/// Reads the settings of one connection for the harness.
type Ask<'a> = &'a (dyn Fn(&mut Cached<'_>) -> Result<Settings, Fault> + Sync);

impl Layer {
    /// Settings as they take effect: SQLite's automatic checkpoint is off, and the layer checkpoints instead.
    fn shown(&self, mut settings: Settings) -> Settings {
        if let Some(own) = settings.get_mut(AUTOCHECKPOINT) {
            *own = i64::from(self.passive_after).into();
        }
        settings
    }

    fn ask_writer(&self, ask: Ask<'_>) -> Result<Settings, Fault> {
        let asked = self.database.write_with(|c| ask(&mut Cached::new(c, &self.writing)).map_err(LayerError));
        asked.map(|settings| self.shown(settings)).map_err(|error| error.0)
    }

    /// Calls `ask` on `readers` read connections.
    fn ask_readers(&self, readers: u32, ask: Ask<'_>, answers: &mut Vec<Settings>) -> Result<(), Fault> {
        let asked = self.database.each_reader(|c| ask(&mut Cached::new(c, &self.reading)).map_err(LayerError));
        let settings = asked.map_err(|error| error.0)?.into_iter().take(readers as usize);
        answers.extend(settings.map(|settings| self.shown(settings)));
        Ok(())
    }
}

/// Number of frames after which SQLite would checkpoint: the statement runs on a separate connection, and the value is
/// read back.
fn autocheckpoint(sql: &str) -> Result<u32, Fault> {
    let read = || -> rusqlite::Result<u32> {
        let connection = Connection::open_in_memory()?;
        connect::run_to_end(&connection, sql)?;
        connection.query_row(&format!("PRAGMA {AUTOCHECKPOINT}"), [], |row| row.get(0))
    };
    read().map_err(|e| Fault::other(e).during(sql))
}

impl Library for Layer {
    async fn open(
        location: &Location,
        settings: &litelab_protocol::Connection,
        connections: u32,
        setup: &Setup,
    ) -> Result<(Self, Vec<Settings>), Fault> {
        refuse_options(settings, &[])?;
        let mut settings = settings.clone();
        let mut checkpoints = Checkpoints::default();
        if let Some(at) = settings.settings.iter().rposition(|setting| setting.name == AUTOCHECKPOINT) {
            checkpoints.passive_after = autocheckpoint(&settings.settings[at].sql)?;
            settings.settings.retain(|setting| setting.name != AUTOCHECKPOINT);
        }
        let set = move |connection: &mut Connection| {
            connect::set(connection, &settings)
                .map_err(|fault| rusqlite::Error::ToSqlConversionFailure(fault.to_string().into()))
        };
        let readers = connections - 1;
        let options = Options::new(connect::location(location))
            .durability(Durability::Unchanged)
            .readers(readers.max(1) as usize)
            .checkpoints(checkpoints)
            .on_writer(set.clone())
            .on_reader(set);
        let database = options.open().map_err(|error| LayerError::from(error).0)?;
        let passive_after = checkpoints.passive_after;
        let layer = Self { database, writing: Arc::default(), reading: Arc::default(), passive_after };
        let (writer, reader) = (setup.only(true), setup.only(false));
        let mut answers = vec![layer.ask_writer(&|session| writer.run(session))?];
        layer.ask_readers(readers, &|session| reader.run(session), &mut answers)?;
        Ok((layer, answers))
    }

    async fn run(&self, mut request: Request<'static>) -> Result<Reply, Fault> {
        let writes = request.writes()?;
        let checked = if writes { self.writing.clone() } else { self.reading.clone() };
        let mut work = move |c: &Connection| request.run_attempt(&mut Cached::new(c, &checked)).map_err(LayerError);
        let done = match writes {
            true => self.database.write_repeatable_async(move |tx| work(tx)).await,
            false => self.database.read_with_async(move |c| work(c)).await,
        };
        done.map_err(|error| error.0)
    }

    async fn settings(self: &Arc<Self>, connections: u32, names: &'static [String]) -> Result<Vec<Settings>, Fault> {
        let mut answers = vec![settings_at_end(|| self.ask_writer(&|session| session.settings(names)))?];
        let ask = |session: &mut Cached<'_>| settings_at_end(|| session.settings(names));
        self.ask_readers(connections - 1, &ask, &mut answers)?;
        Ok(answers)
    }

    async fn close(self) -> Result<(), Fault> {
        self.database.close().map_err(|error| LayerError::from(error).0)
    }
}

impl GroupCommit for Layer {
    fn run_blocking(&self, mut request: Request<'_>) -> Result<Reply, Fault> {
        let writes = request.writes()?;
        let checked = if writes { &self.writing } else { &self.reading };
        let mut work = |c: &Connection| request.run_attempt(&mut Cached::new(c, checked)).map_err(LayerError);
        let done = match writes {
            true => self.database.write_repeatable(|tx| work(tx)),
            false => self.database.read_with(work),
        };
        done.map_err(|error| error.0)
    }
}
