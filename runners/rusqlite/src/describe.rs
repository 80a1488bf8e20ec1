//! What `describe` says of rusqlite.

use litelab_harness::{About, Fault, locked_version};

use crate::connect;
use crate::fault::fault;

/// Its release, and the SQLite inside.
pub fn about() -> Result<About, Fault> {
    let sqlite = Some(connect::build().map_err(fault)?);
    let version = locked_version(include_str!("../Cargo.lock"), "rusqlite").unwrap_or("unknown").into();
    Ok(About { version, sqlite })
}
