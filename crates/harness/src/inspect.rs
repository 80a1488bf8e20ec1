//! The verb `inspect` for one driver: opens connections and reads the settings in effect on each.

use litelab_protocol::{Connection, ConnectionSettings, Database, Inspect, Inspection};

use crate::connections::Setup;
use crate::fault::Fault;
use crate::library::Library;
use crate::runtime;
use crate::session::{Open, Settings};

/// Inspects a driver whose connections the harness keeps.
pub fn sessions<S: Open>(request: &Inspect) -> Result<Inspection, Fault> {
    let (database, connection) = opening(request);
    let (mut open, mut settings) = (Vec::new(), Vec::new());
    for _ in 0..request.connections {
        let mut session = S::open(&database, connection)?;
        settings.push(session.settings(&connection.read_back)?);
        open.push(session);
    }
    Ok(inspection(settings))
}

/// Inspects a library that keeps its connections itself.
pub fn library<L: Library>(request: &Inspect) -> Result<Inspection, Fault> {
    let (database, connection) = opening(request);
    runtime::with_threads(Some(1), None)?.block_on(async {
        let setup = Setup::read(&connection.read_back);
        let (library, settings) = L::open(&database, connection, request.connections, &setup).await?;
        library.close().await?;
        Ok(inspection(settings))
    })
}

/// Database and connection of the request. The connection is never freed: a process answers one request.
fn opening(request: &Inspect) -> (Database, &'static Connection) {
    let database = Database::File { path: request.database.clone() };
    let connection = Connection {
        settings: request.settings.clone(),
        read_back: request.read_back.clone(),
        options: request.options.clone(),
    };
    (database, Box::leak(Box::new(connection)))
}

fn inspection(connections: Vec<Settings>) -> Inspection {
    let named = |settings| ConnectionSettings { database: 0, label: "connection".into(), settings };
    Inspection { connections: connections.into_iter().map(named).collect(), upgrade: None, replaced: None }
}
