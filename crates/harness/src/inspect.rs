//! The verb `inspect` for one driver: opens connections and reads the settings in effect on each.

use std::sync::Arc;

use litelab_protocol::{Connection, ConnectionSettings, Database, Inspect, Inspection, Upgrade};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::connections::Setup;
use crate::fault::Fault;
use crate::library::{AskedStatement, Library, Request};
use crate::runtime;
use crate::session::{Open, Settings};
use crate::upgrade::{self, Side};

/// Inspects a driver whose connections the harness keeps.
pub fn sessions<S: Open>(request: &Inspect) -> Result<Inspection, Fault> {
    let (database, connection) = opening(request);
    let (mut open, mut settings) = (Vec::<S>::new(), Vec::new());
    for _ in 0..request.connections {
        let mut session = S::open(&database, connection)?;
        settings.push(session.settings(&connection.read_back)?);
        open.push(session);
    }
    let mut inspection = inspection(settings);
    if let (true, [reader, writer, ..]) = (request.dsn.is_some(), &mut open[..]) {
        let script = async |side, sql: &str| match side {
            Side::Reader => reader.script(&[sql.into()]),
            Side::Writer => writer.script(&[sql.into()]),
        };
        inspection.upgrade = runtime::waiting()?.block_on(upgrade::run(script))?;
    }
    Ok(inspection)
}

/// Inspects a library that keeps its connections itself.
pub fn library<L: Library>(request: &Inspect) -> Result<Inspection, Fault> {
    let (database, connection) = opening(request);
    runtime::with_threads(Some(1), None)?.block_on(async {
        let (setup, connections) = (Setup::read(&connection.read_back), request.connections);
        let Some(dsn) = &request.dsn else {
            let (library, settings) = L::open(&database, connection, connections, &setup).await?;
            library.close().await?;
            return Ok(inspection(settings));
        };
        let (library, settings) = L::open_dsn(dsn, connection, connections, &setup).await?;
        let (library, mut inspection) = (Arc::new(library), inspection(settings));
        // Connections with a shared cache can wait for a table without end.
        if connections > 1 && !dsn.contains("cache=shared") {
            inspection.upgrade = upgrade_in(&library).await?;
            let replaced = library.replaced(&connection.read_back).await?;
            inspection.replaced = replaced.map(|settings| named("replaced", settings));
        }
        let kept = || Fault::Other("the library keeps a request it has answered".into());
        Arc::into_inner(library).ok_or_else(kept)?.close().await?;
        Ok(inspection)
    })
}

/// Tries an upgrade on two connections of a library, each held by a request to the end of the trial.
async fn upgrade_in<L: Library>(library: &Arc<L>) -> Result<Option<Upgrade>, Fault> {
    let mut held = JoinSet::new();
    let mut hold = || {
        let (statements, received) = mpsc::channel(1);
        let library = library.clone();
        held.spawn(async move { library.run(Request::statements(received)).await.map(drop) });
        statements
    };
    let (reader, writer) = (hold(), hold());
    let outcome = upgrade::run(async |side, sql| {
        let (statement, done) = AskedStatement::new(sql);
        let to = if side == Side::Reader { &reader } else { &writer };
        // A request that has failed answers nothing.
        let gone = || Fault::Other("the library has ended a request before its statements".into());
        to.send(statement).await.map_err(|_| gone())?;
        done.await.map_err(|_| gone())?
    });
    let outcome = outcome.await;
    drop((reader, writer));
    while let Some(ended) = held.join_next().await {
        ended.map_err(runtime::broken)??;
    }
    outcome
}

/// Database and connection of the request. The connection is never freed: a process answers one request.
fn opening(request: &Inspect) -> (Database, &'static Connection) {
    let database = Database::File { path: request.dsn.clone().unwrap_or_else(|| request.database.clone()) };
    let connection = Connection {
        settings: request.settings.clone(),
        read_back: request.read_back.clone(),
        options: request.options.clone(),
    };
    (database, Box::leak(Box::new(connection)))
}

fn inspection(connections: Vec<Settings>) -> Inspection {
    let connections = connections.into_iter().map(|settings| named("connection", settings)).collect();
    Inspection { connections, upgrade: None, replaced: None }
}

fn named(label: &str, settings: Settings) -> ConnectionSettings {
    ConnectionSettings { database: 0, label: label.into(), settings }
}
