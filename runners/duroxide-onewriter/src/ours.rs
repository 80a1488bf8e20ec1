//! The provider `duroxide-onewriter`, and the same provider without storage.

use std::sync::Arc;

use duroxide::providers::Provider;
use duroxide_onewriter::{Acks, Durability, OneWriter, Options, Polling};
use litelab_harness::rusqlite::connect;
use litelab_harness::{Fault, Settings};
use litelab_orchestration::Store;
use litelab_protocol::{self as protocol, Database, Value};
use rusqlite::Connection;

/// Option: the failure that an acknowledged call survives, `full` (a loss of power; default) or `normal` (the end of
/// the process).
const DURABILITY: &str = "durability";
/// Option: a fetch without work waits for a notification with `long` (default), or returns with `short`.
const POLLING: &str = "polling";
/// Option: with `awaited` (default) a dispatcher receives an acknowledgement after its commit; with `ordered` as soon
/// as the write is queued for the commit, for which activities and clients wait.
const ACKS: &str = "acks";

/// The provider: on a file, or, if `VOLATILE`, without storage.
pub struct Ours<const VOLATILE: bool> {
    provider: Arc<OneWriter>,
    names: Vec<String>,
    /// Number of read connections.
    readers: usize,
}

impl<const VOLATILE: bool> Ours<VOLATILE> {
    /// Settings of the write connection and of the read connections, all of them held at the same time. Without storage
    /// no connection exists, and every PRAGMA is null.
    fn read_back(&self) -> Result<Vec<Settings>, Fault> {
        let Some(database) = self.provider.database() else {
            let null = |name: &String| (name.clone(), Value::Null);
            return Ok(vec![self.names.iter().map(null).collect(); self.readers + 1]);
        };
        let asked = |connection: &Connection| Ok(connect::read_back(connection, &self.names));
        let written = database.write_with(|tx| asked(tx)).map_err(|e: onewriter::Error| Fault::other(e))?;
        let read = database.each_reader(asked).map_err(|e: onewriter::Error| Fault::other(e))?;
        std::iter::once(written).chain(read).collect()
    }
}

impl<const VOLATILE: bool> Store for Ours<VOLATILE> {
    const OPTIONS: &'static [&'static str] = &[DURABILITY, POLLING, ACKS];

    async fn open(
        database: &Database,
        connection: &protocol::Connection,
        connections: u32,
    ) -> Result<(Self, Vec<Settings>), Fault> {
        let readers = connections as usize - 1;
        let options = options(connection)?.readers(readers);
        let provider = match database {
            _ if VOLATILE => options.volatile(),
            Database::File { path } => options.open(path),
            _ => return Err(Fault::Other("the provider keeps its tables in a file, and not in memory".into())),
        };
        let provider = Arc::new(provider.map_err(Fault::other)?);
        let ours = Self { provider, names: connection.read_back.clone(), readers };
        let settings = ours.read_back()?;
        Ok((ours, settings))
    }

    fn provider(&self) -> Arc<dyn Provider> {
        self.provider.clone()
    }

    async fn script(&self, _: &[String]) -> Result<(), Fault> {
        Err(Fault::Other("the provider takes no SQL".into()))
    }

    async fn settings(&self) -> Result<Vec<Settings>, Fault> {
        self.read_back()
    }

    async fn close(self) -> Result<(), Fault> {
        self.provider.close().map_err(Fault::other)
    }
}

/// Parses the three options. The provider sets its own PRAGMAs.
fn options(connection: &protocol::Connection) -> Result<Options, Fault> {
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
fn choice<T: Copy>(connection: &protocol::Connection, name: &str, of: [(&str, T); 2]) -> Result<T, Fault> {
    let Some(value) = connection.options.get(name) else { return Ok(of[0].1) };
    let found = of.iter().find(|(word, _)| value.as_str() == Some(word));
    found.map(|(_, choice)| *choice).ok_or_else(|| {
        let [(first, _), (second, _)] = of;
        Fault::Other(format!("option `{name}`: {value} is neither \"{first}\" nor \"{second}\""))
    })
}
