//! The runner that is part of the command, `litelab runner rusqlite`. It runs trials on rusqlite, which is the
//! reference, on async-sqlite, which is built on the same release of it, and on the SQLite inside, called from C.
//! `docs/reference/protocol.md` is its contract; everything except the drivers is in `crates/harness`.
//!
//! [`statement`] is the driver `rusqlite`. [`layer`] is sharing `group-commit`: `onewriter` over the same library.
//! [`by_hand`] is a group commit as applications write it. [`async_sqlite`] is a library with one thread for each
//! connection. [`c`] is the driver in C.

mod async_sqlite;
mod by_hand;
mod c;
mod layer;
mod statement;

use std::process::ExitCode;

use litelab_harness::rusqlite::{connect, fault};
use litelab_harness::{About, Driver, Fault, locked_version};
use litelab_protocol::Executor;

use crate::async_sqlite::AsyncSqlite;
use crate::by_hand::ByHand;
use crate::c::C;
use crate::layer::Layer;
use crate::statement::Rusqlite;

/// Manifest of this runner, in the form of the other runners' manifests.
pub const MANIFEST: &str = include_str!("../runner.toml");

/// Runs a verb of the protocol (`describe`, `run` or `inspect`) on standard input and output.
#[must_use]
pub fn main(verb: Option<&str>) -> ExitCode {
    // A panic fails the trial; the other workers must not continue until litelab's deadline.
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        std::process::abort();
    }));
    let rusqlite = Driver::new::<Rusqlite>("rusqlite", || about("rusqlite")).group_commit::<Layer>();
    let async_sqlite = Driver::library::<AsyncSqlite>("async-sqlite", || about("async-sqlite"), &[Executor::Dedicated]);
    // Other kinds of sharing are those of the driver `rusqlite`.
    let by_hand = Driver::new::<Rusqlite>("by-hand", || about("rusqlite")).group_commit::<ByHand>();
    // The library of the driver `c` is SQLite itself.
    let c = Driver::new::<C>("c", || {
        let sqlite = connect::build().map_err(fault)?;
        Ok(About { version: sqlite.version.clone(), sqlite: Some(sqlite) })
    });
    litelab_harness::run_verb("rusqlite", verb, [rusqlite, by_hand, async_sqlite, c])
}

/// Release of a library, and the build of its SQLite.
fn about(package: &str) -> Result<About, Fault> {
    let sqlite = Some(connect::build().map_err(fault)?);
    let version = locked_version(include_str!("../../../Cargo.lock"), package).unwrap_or("unknown").into();
    Ok(About { version, sqlite })
}
