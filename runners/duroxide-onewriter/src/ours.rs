//! The provider `duroxide-onewriter`, and the same provider without storage.

use std::sync::Arc;

use duroxide::providers::Provider;
use duroxide_onewriter::{Acks, Durability, Options, Polling};
use litelab_harness::{Fault, Settings};
use litelab_orchestration::Store;
use litelab_protocol::{Connection, Database, Value};
use rusqlite::types::ValueRef;

/// Option: the failure that an acknowledged call survives, `full` (a loss of power; default) or `normal` (the end of
/// the process).
const DURABILITY: &str = "durability";
/// Option: a fetch without work waits for a notification with `long` (default), or returns with `short`.
const POLLING: &str = "polling";
/// Option: with `awaited` (default) a dispatcher receives an acknowledgement after its commit; with `ordered` as soon
/// as the write is queued for the commit, for which activities and clients wait.
const ACKS: &str = "acks";

/// The provider on a file.
pub struct OneWriter {
    provider: Arc<duroxide_onewriter::OneWriter>,
    database: onewriter::Database,
    names: Vec<String>,
    /// Number of read connections.
    readers: usize,
}

impl Store for OneWriter {
    const OPTIONS: &'static [&'static str] = &[DURABILITY, POLLING, ACKS];

    async fn open(
        database: &Database,
        connection: &Connection,
        connections: u32,
    ) -> Result<(Self, Vec<Settings>), Fault> {
        let Database::File { path } = database else {
            return Err(Fault::Other("the provider keeps its tables in a file, and not in memory".into()));
        };
        let readers = connections as usize - 1;
        let provider = options(connection)?.readers(readers).open(path).map_err(Fault::other)?;
        let Some(database) = provider.database().cloned() else {
            return Err(Fault::Other("the provider has no database".into()));
        };
        let names = connection.read_back.clone();
        let settings = read_back(&database, &names, readers)?;
        Ok((Self { provider: Arc::new(provider), database, names, readers }, settings))
    }

    fn provider(&self) -> Arc<dyn Provider> {
        self.provider.clone()
    }

    async fn script(&self, _: &[String]) -> Result<(), Fault> {
        Err(Fault::Other("the provider takes no SQL".into()))
    }

    async fn settings(&self) -> Result<Vec<Settings>, Fault> {
        read_back(&self.database, &self.names, self.readers)
    }

    async fn close(self) -> Result<(), Fault> {
        self.provider.close().map_err(Fault::other)
    }
}

/// The provider without storage.
pub struct Ceiling {
    provider: Arc<duroxide_onewriter::OneWriter>,
    /// Settings of connections that do not exist: every PRAGMA is null.
    settings: Vec<Settings>,
}

impl Store for Ceiling {
    const OPTIONS: &'static [&'static str] = &[DURABILITY, POLLING, ACKS];

    async fn open(_: &Database, connection: &Connection, connections: u32) -> Result<(Self, Vec<Settings>), Fault> {
        let provider = options(connection)?.volatile().map_err(Fault::other)?;
        let null = |name: &String| (name.clone(), Value::Null);
        let settings: Settings = connection.read_back.iter().map(null).collect();
        let settings = vec![settings; connections as usize];
        Ok((Self { provider: Arc::new(provider), settings: settings.clone() }, settings))
    }

    fn provider(&self) -> Arc<dyn Provider> {
        self.provider.clone()
    }

    async fn script(&self, _: &[String]) -> Result<(), Fault> {
        Err(Fault::Other("the provider takes no SQL".into()))
    }

    async fn settings(&self) -> Result<Vec<Settings>, Fault> {
        Ok(self.settings.clone())
    }

    async fn close(self) -> Result<(), Fault> {
        self.provider.close().map_err(Fault::other)
    }
}

/// Parses the three options. The provider sets its own PRAGMAs.
fn options(connection: &Connection) -> Result<Options, Fault> {
    if let Some(setting) = connection.settings.first() {
        let reason = format!("PRAGMA {}: the provider sets its own; it has option `{DURABILITY}`", setting.name);
        return Err(Fault::Other(reason));
    }
    let durability = choice(connection, DURABILITY, [("full", Durability::Full), ("normal", Durability::Normal)])?;
    let polling = choice(connection, POLLING, [("long", Polling::Long), ("short", Polling::Short)])?;
    let acks = choice(connection, ACKS, [("awaited", Acks::Awaited), ("ordered", Acks::Ordered)])?;
    Ok(Options::default().durability(durability).polling(polling).acks(acks))
}

/// The value of an option with two values; default: the first.
fn choice<T: Copy>(connection: &Connection, name: &str, of: [(&str, T); 2]) -> Result<T, Fault> {
    let Some(value) = connection.options.get(name) else { return Ok(of[0].1) };
    let found = of.iter().find(|(word, _)| value.as_str() == Some(word));
    found.map(|(_, choice)| *choice).ok_or_else(|| {
        let [(first, _), (second, _)] = of;
        Fault::Other(format!("option `{name}`: {value} is neither \"{first}\" nor \"{second}\""))
    })
}

/// Settings of the write connection and of `readers` read connections, all of them held at the same time.
fn read_back(database: &onewriter::Database, names: &[String], readers: usize) -> Result<Vec<Settings>, Fault> {
    let asked = |connection: &rusqlite::Connection| ask(connection, names).map_err(onewriter::Error::from);
    let mut settings = vec![database.write(asked).map_err(Fault::other)?];
    each_reader(database, readers, &asked, &mut settings).map_err(Fault::other)?;
    Ok(settings)
}

type Asked<'a> = &'a dyn Fn(&rusqlite::Connection) -> Result<Settings, onewriter::Error>;

fn each_reader(
    database: &onewriter::Database,
    left: usize,
    asked: Asked<'_>,
    settings: &mut Vec<Settings>,
) -> Result<(), onewriter::Error> {
    if left == 0 {
        return Ok(());
    }
    database.read(|connection| {
        settings.push(asked(connection)?);
        each_reader(database, left - 1, asked, settings)
    })
}

/// The value of each PRAGMA on a connection within a transaction.
fn ask(connection: &rusqlite::Connection, names: &[String]) -> rusqlite::Result<Settings> {
    let mut settings = Settings::new();
    for name in names {
        let mut statement = connection.prepare(&format!("PRAGMA {name}"))?;
        let mut rows = statement.query([])?;
        let value = match rows.next()? {
            Some(row) => setting(row.get_ref(0)?),
            None => Value::Null,
        };
        settings.insert(name.clone(), value);
    }
    Ok(settings)
}

/// Converts a value with its type in SQLite.
fn setting(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(integer) => integer.into(),
        ValueRef::Real(real) => real.into(),
        ValueRef::Text(text) | ValueRef::Blob(text) => String::from_utf8_lossy(text).into_owned().into(),
    }
}
