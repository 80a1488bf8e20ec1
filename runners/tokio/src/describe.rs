//! Descriptions of the drivers.

use litelab_harness::rusqlite::{connect, fault};
use litelab_harness::{About, Fault, locked_version};

/// Description of tokio-rusqlite.
pub fn tokio_rusqlite() -> Result<About, Fault> {
    about("tokio-rusqlite")
}

/// Description of deadpool-sqlite.
pub fn deadpool_sqlite() -> Result<About, Fault> {
    about("deadpool-sqlite")
}

fn about(package: &str) -> Result<About, Fault> {
    let sqlite = Some(connect::build().map_err(fault)?);
    let version = locked_version(include_str!("../Cargo.lock"), package).unwrap_or("unknown").into();
    Ok(About { version, sqlite })
}
