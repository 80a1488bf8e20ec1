//! `litelab defaults [DRIVER…]`: what each driver does as it comes.

use anyhow::Result;
use litelab_doctor::StandIn;
use litelab_doctor::facts::File;
use litelab_engine::EngineError;
use litelab_engine::runner::{NOOP, Runner};
use litelab_model::pragma;
use litelab_protocol::{DriverDescription, Inspection, Upgrade, Value};

use crate::exit::Exit;
use crate::{installation, output, style};

#[derive(clap::Args)]
#[command(after_help = "\
Each driver opens two connections to an empty database by its path alone, in a rollback journal and in WAL mode, and the \
settings in effect are read back. `read, then write` is tried with a second connection that writes in between.")]
pub struct Args {
    /// Names of drivers; default: all whose runner is built
    drivers: Vec<String>,
    /// Print a Markdown table
    #[arg(long)]
    markdown: bool,
}

/// Key that no driver knows.
const UNKNOWN: &str = "litelab_unknown";
/// Headings of the table.
const COLUMNS: [&str; 9] = [
    "driver",
    "version",
    "SQLite",
    "busy_timeout",
    "synchronous",
    "in WAL",
    "foreign_keys",
    "read, then write",
    "unknown key",
];

/// Prints the table.
pub fn run(args: &Args) -> Result<Exit> {
    let runners = installation::runners()?;
    let mut wanted = Vec::new();
    for name in &args.drivers {
        let driver = runners.driver(name)?;
        let name = (driver.runner.manifest.name.clone(), driver.name);
        if !wanted.contains(&name) {
            wanted.push(name);
        }
    }
    let mut rows = Vec::new();
    let mut rest = Vec::new();
    let mut listed: Vec<&Runner> = runners.iter().filter(|runner| !runner.manifest.test_double).collect();
    listed.sort_by_key(|runner| (&runner.manifest.language, !runner.is_built_in()));
    for runner in listed {
        let of_runner: Vec<_> = wanted.iter().filter(|(name, _)| *name == runner.manifest.name).collect();
        if !wanted.is_empty() && of_runner.is_empty() {
            continue;
        }
        if !runner.is_built() {
            rest.push(format!(
                "{}: not built; `litelab runners build {}`",
                runner.manifest.language, runner.manifest.name
            ));
            continue;
        }
        let (description, _) = match runner.describe(None) {
            Err(EngineError::Interrupted) => return Ok(Exit::Interrupted),
            Err(error) => {
                rest.push(error.to_string());
                continue;
            }
            Ok(found) => found,
        };
        for driver in &description.drivers {
            let named = wanted.is_empty() || of_runner.iter().any(|(_, name)| *name == driver.name);
            if !named || driver.name == NOOP || !driver.dialect.is_sqlite() || driver.interface.is_some() {
                continue;
            }
            match row(runner, driver, &runners.shortest(runner, &driver.name)) {
                Ok(row) => rows.push(row),
                Err(error) => rest.push(error.to_string()),
            }
        }
    }
    if rows.len() + rest.len() < wanted.len() {
        rest.push("a driver that was named opens no database of SQLite itself".into());
    }
    print(&rows, args.markdown);
    for text in &rest {
        // The page is for a file.
        if args.markdown { output::log(text) } else { output::entry("", 0, text) }
    }
    Ok(if rows.len() < wanted.len() { Exit::Failed } else { Exit::Ok })
}

fn row(runner: &Runner, driver: &DriverDescription, name: &str) -> Result<[String; 9]> {
    let rollback = opened(runner, driver, false)?;
    let wal = opened(runner, driver, true)?;
    let of = |inspection: &Inspection, setting: &str| {
        let value =
            inspection.connections.first().and_then(|first| first.settings.get(setting)).unwrap_or(&Value::Null);
        pragma::find(setting).map_or_else(|| value.to_string(), |known| known.in_words(value))
    };
    let upgrade = match wal.upgrade {
        Some(Upgrade::Immediate) => "waits",
        Some(Upgrade::Fails) => "fails at once",
        Some(Upgrade::Succeeds) => "not one transaction",
        None => "–",
    };
    Ok([
        name.to_owned(),
        driver.version.trim_start_matches('v').to_owned(),
        driver.sqlite.as_ref().map(|build| build.version.clone()).unwrap_or_default(),
        of(&rollback, "busy_timeout"),
        of(&rollback, "synchronous"),
        of(&wal, "synchronous"),
        of(&rollback, "foreign_keys"),
        upgrade.to_owned(),
        unknown_key(runner, driver)?.to_owned(),
    ])
}

fn stand_in(wal: bool) -> Result<StandIn> {
    Ok(StandIn::new(&File { name: "app.db".into(), wal: Some(wal), ..File::default() })?)
}

/// Two connections to a database, opened by its path alone.
fn opened(runner: &Runner, driver: &DriverDescription, wal: bool) -> Result<Inspection> {
    let stand_in = stand_in(wal)?;
    Ok(runner.inspect(&stand_in.request(&driver.name, 2, stand_in.path().display().to_string()))?)
}

/// What a driver does with a key in its DSN that it does not know.
fn unknown_key(runner: &Runner, driver: &DriverDescription) -> Result<&'static str> {
    let stand_in = stand_in(false)?;
    let dsn = format!("{}?{UNKNOWN}=1", stand_in.path().display());
    let inspection = runner.inspect(&stand_in.request(&driver.name, 2, dsn));
    Ok(match inspection {
        _ if !stand_in.created().is_empty() => "part of the file's name",
        Ok(_) => "ignored",
        Err(_) => "refused",
    })
}

fn print(rows: &[[String; 9]], markdown: bool) {
    let cells =
        |row: &[String; 9]| row.each_ref().map(|cell| if cell.is_empty() { "–".to_owned() } else { cell.clone() });
    if markdown {
        output::line(format_args!("| {} |", COLUMNS.join(" | ")));
        output::line(format_args!("|{}", "---|".repeat(COLUMNS.len())));
        rows.iter().for_each(|row| output::line(format_args!("| {} |", cells(row).join(" | "))));
        return;
    }
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .chain([COLUMNS[column].chars().count()])
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<usize> = (0..COLUMNS.len()).map(width).collect();
    let padded = |cells: &[String]| {
        cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect::<Vec<_>>().join("  ")
    };
    output::headed(style::STRONG, padded(&COLUMNS.map(str::to_owned)), "");
    rows.iter().for_each(|row| output::line(padded(&cells(row)).trim_end()));
}
