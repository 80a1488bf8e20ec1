//! `litelab watch DB…`: who holds the lock, who pins the log, whether checkpoints keep up. `litelab watch RECORDING`
//! plays a recording.

mod action;
mod draw;
mod plain;
mod replay;
mod screen;
mod serve;
mod session;
mod state;

use std::collections::HashSet;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use litelab_doctor::Severity;
use litelab_model::{Quantity, Scalar, Vars};
use litelab_record::recording::Recording;

use crate::exit::{BadInput, Exit};
use crate::{interrupt, output};
use session::Session;

#[derive(clap::Args)]
#[command(after_help = "\
Nothing is locked or written, and no SQLite connection is opened: the wal-index, the locks and /proc are read as bytes.
Keys: q ends, p pauses, up and down choose a database, left and right an event, s sorts.

Examples:
  litelab watch app.db
  litelab watch /srv/data/*.db --interval 20ms
  litelab watch app.db --once --json
  litelab watch app.db --listen 127.0.0.1:9187
  litelab watch app.db --record incident.db
  litelab watch incident.db              plays the recording; `litelab report incident.db` makes a page of it
  litelab watch app.db --webhook https://chat.example/hook --on error
  litelab doctor --explain LL514         explains the rule of an event")]
pub struct Args {
    /// Databases, which need not exist yet; or one recording
    #[arg(value_name = "DB", required = true)]
    databases: Vec<PathBuf>,
    /// Time between two looks, from 5ms to 60s
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = interval)]
    interval: Duration,
    /// Look for half a second, print what was seen, and end
    #[arg(long)]
    once: bool,
    /// Print JSON: with --once one object, otherwise a line for each look
    #[arg(long)]
    json: bool,
    /// Serve metrics for Prometheus in the OpenMetrics format at this address
    #[arg(long, value_name = "ADDRESS", conflicts_with = "once")]
    listen: Option<std::net::SocketAddr>,
    /// Run this command by `sh -c` on an event, with the event as JSON on its standard input
    #[arg(long, value_name = "COMMAND", conflicts_with = "once")]
    exec: Option<String>,
    /// Send each event as JSON to this address, by `curl`
    #[arg(long, value_name = "URL", conflicts_with = "once")]
    webhook: Option<String>,
    /// Least severity of events for --exec and --webhook
    #[arg(long, value_name = "SEVERITY", default_value = "warning", value_parser = severity())]
    on: Severity,
    /// Least time between two calls of --exec or --webhook for the same kind of event of a database
    #[arg(long, value_name = "TIME", default_value = "1min", value_parser = duration)]
    every: Duration,
    /// Record into this file: views each second and on every change of holders, all events
    #[arg(long, value_name = "FILE", conflicts_with = "once")]
    record: Option<PathBuf>,
}

const SHORTEST: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_secs(60);

fn severity() -> impl TypedValueParser<Value = Severity> {
    let names = PossibleValuesParser::new(Severity::ALL.map(Severity::name));
    names.try_map(|name| Severity::named(&name).ok_or("it is no severity"))
}

fn duration(text: &str) -> Result<Duration, String> {
    let micros = Quantity::from(Scalar::Text(text.to_owned())).micros(&Vars::new())?;
    Ok(Duration::from_micros(micros))
}

fn interval(text: &str) -> Result<Duration, String> {
    let interval = duration(text)?;
    let allowed = (SHORTEST..=LONGEST).contains(&interval);
    allowed.then_some(interval).ok_or_else(|| "allowed is 5ms to 60s".to_owned())
}

/// Watches databases, or plays a recording.
pub fn run(args: &Args) -> Result<Exit> {
    if let [path] = &args.databases[..]
        && let Some(recording) = recording(path)?
    {
        let live = [
            ("--json", args.json),
            ("--once", args.once),
            ("--listen", args.listen.is_some()),
            ("--exec", args.exec.is_some()),
            ("--webhook", args.webhook.is_some()),
            ("--record", args.record.is_some()),
        ];
        if let Some((option, _)) = live.into_iter().find(|(_, is_given)| *is_given) {
            return Err(BadInput(format!("{}: a recording, which is played without {option}", path.display())).into());
        }
        return replay::run(&recording);
    }
    let mut files = HashSet::new();
    for path in &args.databases {
        if path.is_dir() {
            return Err(BadInput(format!("{}: a folder; name the database in it", path.display())).into());
        }
        let absolute = |path: &Path| std::path::absolute(path).ok();
        if args.record.as_deref().is_some_and(|record| absolute(record) == absolute(path)) {
            return Err(BadInput(format!("{}: the recording itself is no database to watch", path.display())).into());
        }
        // A pipe would wait for its writer.
        if path.metadata().is_ok_and(|about| !about.is_file()) {
            return Err(BadInput(format!("{}: no regular file", path.display())).into());
        }
        // Its counters would be added twice, and its processes be those of the first name alone.
        if !files.insert(path.canonicalize().or_else(|_| std::path::absolute(path))?) {
            return Err(BadInput(format!("{}: this database is named twice", path.display())).into());
        }
    }
    let interval = if args.once { args.interval.min(Duration::from_millis(100)) } else { args.interval };
    let stop = interrupt::stop();
    litelab_observe::wait_for_turn();
    let mut session = Session::new(args, interval)?;
    if args.once {
        return plain::once(&mut session, args.json, stop);
    }
    let terminal = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    let done = match (args.json, terminal) {
        (true, _) => plain::stream(&mut session, stop),
        (false, true) => screen::run(&mut session, stop),
        (false, false) => plain::run(&mut session, stop),
    };
    let is_whole = session.end()?;
    done?;
    Ok(if is_whole { Exit::Ok } else { Exit::Failed })
}

/// Opens a recording. `None` for any other file, which is not read by SQLite.
pub fn recording(path: &Path) -> Result<Option<Recording>> {
    /// Place of the application id in the header (<https://sqlite.org/fileformat2.html#the_database_header>).
    const ID: std::ops::Range<usize> = 68..72;
    let mut start = [0; 72];
    // A pipe would wait for its writer.
    let is_file = std::fs::metadata(path).is_ok_and(|about| about.is_file());
    let mut read = || std::fs::File::open(path).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut start));
    // A database under watch must not be opened by SQLite; only files that litelab has marked are.
    if !is_file || read().is_err() || start[ID] != litelab_record::APPLICATION_ID.to_be_bytes() {
        return Ok(None);
    }
    Ok(Recording::open(path)?)
}

/// Prints a warning.
fn warn(text: impl std::fmt::Display) {
    output::note(crate::style::WARNING, "warning", text);
}
