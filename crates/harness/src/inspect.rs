//! The verb `inspect`: open as an application would, and say what took effect.

use std::collections::BTreeMap;

use litelab_protocol::{Connection, ConnectionSettings, Database, Inspect, Inspection, VERSION, Value};

use crate::awaited::{Awaited, AwaitedSession};
use crate::driver::{self, Driver};
use crate::fault::Fault;
use crate::hosted::Hosted;
use crate::runtime;
use crate::session::{Open, Session};

/// All connections are open at once, as they would be in the application.
pub fn inspect(request: &Inspect, drivers: &[Driver]) -> Result<Inspection, Fault> {
    if request.protocol != VERSION {
        return Err(Fault::Other(format!("protocol {} is not {VERSION}", request.protocol)));
    }
    let driver = driver::find(drivers, &request.driver)?;
    (driver.inspect)(request)
}

/// The verb for one driver.
pub fn with<S: Open>(request: &Inspect) -> Result<Inspection, Fault> {
    let (database, connection) = opening(request);
    let mut open = Vec::new();
    let mut connections = Vec::new();
    for _ in 0..request.connections {
        let mut session = S::open(&database, &connection)?;
        let settings = session.settings(&connection.read_back)?;
        connections.push(settings);
        open.push(session);
    }
    Ok(inspection(connections))
}

/// The verb for one driver that keeps its connections itself.
pub fn hosted<H: Hosted>(request: &Inspect) -> Result<Inspection, Fault> {
    let (database, connection) = opening(request);
    runtime::runtime(Some(1), None)?.block_on(async {
        let names = connection.read_back.clone();
        let ready = move |session: &mut H::Session<'_>| session.settings(&names);
        let (host, connections) = H::open(&database, &connection, request.connections, ready).await?;
        host.close().await?;
        Ok(inspection(connections))
    })
}

/// The verb for one driver whose calls are awaited.
pub fn awaited<A: Awaited>(request: &Inspect) -> Result<Inspection, Fault> {
    let (database, connection) = opening(request);
    runtime::runtime(Some(1), None)?.block_on(async {
        let host = A::open(&database, &connection, request.connections).await?;
        let mut open = Vec::new();
        let mut connections = Vec::new();
        for _ in 0..request.connections {
            let mut session = host.take().await?;
            connections.push(session.settings(&connection.read_back).await?);
            open.push(session);
        }
        drop(open);
        host.close().await?;
        Ok(inspection(connections))
    })
}

fn opening(request: &Inspect) -> (Database, Connection) {
    let database = Database::File { path: request.database.clone() };
    let connection = Connection {
        settings: request.settings.clone(),
        read_back: request.read_back.clone(),
        options: request.options.clone(),
    };
    (database, connection)
}

fn inspection(connections: Vec<BTreeMap<String, Value>>) -> Inspection {
    let named = |settings| ConnectionSettings { database: 0, label: "connection".into(), settings };
    Inspection { connections: connections.into_iter().map(named).collect() }
}
