//! The verb `describe`: what this runner is and can do.

use litelab_protocol::{Description, DriverDescription, Executor, SqliteBuild, VERSION};

use crate::driver::Fault;
use crate::{NOOP, RUSQLITE};

/// [`litelab_protocol::Access::kind`]s that `access` opens.
const ACCESSES: [&str; 5] = ["per-worker", "shared", "pool", "write-lock", "split"];

/// Threads, and processes of one such thread each.
pub const EXECUTORS: [Executor; 2] = [Executor::Threads, Executor::Processes];

/// Opens a database in memory to ask the SQLite inside for its build.
pub fn describe() -> Result<Description, Fault> {
    let driver = |name: &str, version: &str, sqlite| DriverDescription {
        name: name.into(),
        version: version.into(),
        sqlite,
        accesses: ACCESSES.map(String::from).to_vec(),
        executors: EXECUTORS.to_vec(),
        interface: None,
    };
    let runner_version = env!("CARGO_PKG_VERSION");
    Ok(Description {
        protocol: VERSION,
        runner: "rusqlite".into(),
        language: "rust".into(),
        runtime: env!("RUNNER_RUSTC").into(),
        drivers: vec![
            driver(RUSQLITE, locked_version("rusqlite").unwrap_or("unknown"), Some(sqlite_build()?)),
            driver(NOOP, runner_version, None),
        ],
    })
}

fn sqlite_build() -> Result<SqliteBuild, Fault> {
    let connection = rusqlite::Connection::open_in_memory()?;
    let source_id = connection.query_row("SELECT sqlite_source_id()", [], |row| row.get(0))?;
    let mut options = connection.prepare("PRAGMA compile_options")?;
    let compile_options = options.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(SqliteBuild { version: rusqlite::version().into(), source_id, compile_options })
}

/// rusqlite has no constant with its own version; the lock file knows which one was linked.
fn locked_version(package: &str) -> Option<&'static str> {
    let lock = include_str!("../Cargo.lock");
    let entry = lock.split("[[package]]").find(|e| e.trim_start().starts_with(&format!("name = \"{package}\"\n")))?;
    entry.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'))
}
