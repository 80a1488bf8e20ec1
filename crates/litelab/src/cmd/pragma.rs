//! `litelab pragma DB [NAME…]`: the PRAGMA values in effect for a database.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use litelab_model::pragma::{self, Kind, Scope};
use litelab_observe::DatabaseHeader;
use litelab_protocol::Value;
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::types::Value as Stored;

use crate::exit::{BadInput, Exit};
use crate::{output, style};

#[derive(clap::Args)]
#[command(
    after_help = "The database is opened read-only. Values in the file hold for every connection. The others are those of \
    a new connection of plain SQLite; `litelab run` shows what a driver sets in their place."
)]
pub struct Args {
    /// Path of the database
    db: PathBuf,
    /// Names of PRAGMAs; default: a selection of 16
    names: Vec<String>,
}

/// Default selection: settings stored in the file first, then those of a connection.
const USUAL: [&str; 16] = [
    "journal_mode",
    "page_size",
    "page_count",
    "freelist_count",
    "auto_vacuum",
    "encoding",
    "user_version",
    "application_id",
    "synchronous",
    "busy_timeout",
    "cache_size",
    "mmap_size",
    "temp_store",
    "foreign_keys",
    "wal_autocheckpoint",
    "journal_size_limit",
];

/// Prints the values.
pub fn run(args: &Args) -> Result<Exit> {
    for name in &args.names {
        let known = pragma::find(name).ok_or_else(|| {
            let names = pragma::all().iter().map(|p| p.name);
            BadInput(litelab_model::unknown("PRAGMA", name, names))
        })?;
        if matches!(known.kind, Kind::Action { .. }) {
            return Err(
                BadInput(format!("`{name}` performs an operation and has no value; this command only reads")).into()
            );
        }
    }
    let names: Vec<&str> =
        if args.names.is_empty() { USUAL.to_vec() } else { args.names.iter().map(String::as_str).collect() };
    let width = names.iter().map(|n| n.len()).max().unwrap_or_default();
    // Read before a connection is open: closing the file here would drop the connection's lock. `litelab_database::read`
    // opens an unused database in a way that hides its mode.
    let wal = matches!(DatabaseHeader::read(&args.db), Ok(Some(header)) if header.wal);
    let (drivers, own) = litelab_database::read(&args.db, |connection| -> Result<_> {
        let read = || names.iter().map(|name| values(connection, &args.db, wal, name)).collect::<Result<Vec<_>>>();
        // One lock for all: others may write between two.
        let begun = connection.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema");
        begun.map_err(|e| BadInput(format!("{}: {e}", args.db.display())))?;
        let drivers = read()?;
        // rusqlite sets a busy timeout of 5 s, and its build of SQLite enables foreign keys; plain SQLite does neither.
        connection.busy_timeout(Duration::ZERO)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, false)?;
        Ok((drivers, read()?))
    })?;
    let mut overridden = Vec::new();
    for (name, (drivers, own)) in names.iter().zip(drivers.into_iter().zip(own)) {
        let known = pragma::find(name);
        let (summary, kind) = known.map_or(("", Kind::Query), |known| (known.summary, known.kind));
        let of = match kind {
            Kind::Setting { scope: Scope::File, .. } => "file",
            Kind::Setting { .. } => "connection",
            _ => "",
        };
        for value in &own {
            let text = format_args!(" = {value:<12} {of:<11} {summary}");
            output::headed(style::STRONG, format_args!("{name:width$}"), text);
        }
        if own != drivers {
            overridden.push(format!("{name} = {}", drivers.join(" ")));
        }
    }
    output::line("");
    output::line("file: in the database, for every connection; connection: of one of plain SQLite that sets nothing");
    if !overridden.is_empty() {
        output::line(format_args!("a driver may set others: rusqlite sets {}", overridden.join(", ")));
    }
    Ok(Exit::Ok)
}

/// All rows of `PRAGMA name`, with columns joined by a space.
fn values(connection: &Connection, path: &Path, wal: bool, name: &str) -> Result<Vec<String>> {
    let bad = |e: rusqlite::Error| BadInput(format!("{}: PRAGMA {name}: {e}", path.display()));
    if name == "journal_mode" && wal {
        return Ok(vec!["wal".to_owned()]);
    }
    let mut statement = connection.prepare(&format!("PRAGMA {name}")).map_err(bad)?;
    let columns = statement.column_count();
    let mut rows = statement.query([]).map_err(bad)?;
    let mut out = Vec::new();
    while let Some(row) = rows.next().map_err(bad)? {
        let said = |reported: Value| match pragma::find(name).filter(|_| columns == 1) {
            Some(known) => known.in_words(&reported),
            None => reported.to_string(),
        };
        let cells: Vec<String> = (0..columns)
            .map(|c| match row.get::<_, Stored>(c) {
                Ok(Stored::Integer(i)) => said(Value::Integer(i)),
                Ok(Stored::Real(r)) => r.to_string(),
                Ok(Stored::Text(t)) => said(Value::Text(t)),
                Ok(Stored::Blob(b)) => format!("{} bytes", b.len()),
                Ok(Stored::Null) | Err(_) => "-".to_owned(),
            })
            .collect();
        out.push(cells.join(" "));
    }
    if out.is_empty() {
        out.push("(no value here)".to_owned());
    }
    Ok(out)
}
