//! The verb `inspect`: open as an application would, and say what took effect.

use litelab_protocol::{Connection, ConnectionSettings, Database, Inspect, Inspection, VERSION};

use crate::driver::{self, Driver};
use crate::fault::Fault;
use crate::session::Session;

/// All connections are open at once, as they would be in the application.
pub fn inspect(request: &Inspect, drivers: &[Driver]) -> Result<Inspection, Fault> {
    if request.protocol != VERSION {
        return Err(Fault::Other(format!("protocol {} is not {VERSION}", request.protocol)));
    }
    let driver = driver::find(drivers, &request.driver)?;
    (driver.inspect)(request)
}

/// The verb for one driver.
pub fn with<S: Session>(request: &Inspect) -> Result<Inspection, Fault> {
    let database = Database::File { path: request.database.clone() };
    let connection = Connection {
        pragmas: request.pragmas.clone(),
        read_back: request.read_back.clone(),
        options: request.options.clone(),
    };
    let mut open = Vec::new();
    let mut connections = Vec::new();
    for _ in 0..request.connections {
        let mut session = S::open(&database, &connection)?;
        let settings = session.settings(&connection.read_back)?;
        connections.push(ConnectionSettings { database: 0, label: "connection".into(), settings });
        open.push(session);
    }
    Ok(Inspection { connections })
}
