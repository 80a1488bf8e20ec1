//! Descriptions of the drivers.

use litelab_harness::rusqlite::{connect, fault};
use litelab_harness::{About, Fault, locked_version};

const LOCK: &str = include_str!("../../../Cargo.lock");

/// Description of the provider, with the build of its SQLite and the versions of the provider and of duroxide.
pub fn ours() -> Result<About, Fault> {
    let sqlite = Some(connect::build().map_err(fault)?);
    Ok(About { version: version(), sqlite })
}

/// Description of the provider without storage, which contains no SQLite.
pub fn ceiling() -> Result<About, Fault> {
    Ok(About { version: version(), sqlite: None })
}

fn version() -> String {
    let of = |package| locked_version(LOCK, package).unwrap_or("unknown");
    format!("{} on duroxide {}", of("duroxide-onewriter"), of("duroxide"))
}
