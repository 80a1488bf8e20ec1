//! `litelab servers up|down|status|with`: manages private database servers.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use litelab_engine::servers::folder;
use litelab_model::Server as Kind;
use litelab_servers::instance::{self, Condition, Options, State};
use litelab_servers::{Instance, ServersError};
use rustix::process::{Pid, Signal, kill_process};

use crate::exit::Exit;
use crate::{interrupt, output, style};

#[derive(clap::Subcommand)]
pub enum Verb {
    /// Start a private server on loopback that runs until `down`
    Up(Args),
    /// Stop the server and remove its folder with all data
    Down(Args),
    /// Show the servers that run, and their urls
    Status {
        /// Server; default: all
        #[arg(value_parser = names())]
        server: Option<Kind>,
        /// Folder of the server; default: litelab-servers/NAME
        #[arg(long, value_name = "DIR", requires = "server")]
        dir: Option<PathBuf>,
        /// Print JSON: a list with one object per existing server
        #[arg(long)]
        json: bool,
    },
    /// Start servers, run a command, and stop the servers and remove their data whatever ends the command
    ///
    /// The command receives their urls in the environment: LITELAB_POSTGRES, LITELAB_MARIADB, LITELAB_GALERA. Its exit
    /// code becomes that of litelab.
    With(With),
}

#[derive(clap::Args)]
pub struct With {
    /// Servers to start; galera is three nodes of MariaDB
    #[arg(value_parser = names(), required = true)]
    servers: Vec<Kind>,
    /// Command and its arguments, after `--`
    #[arg(last = true, required = true)]
    command: Vec<String>,
    /// Parent directory of the servers' temporary folders
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Continue without servers that are not installed; their variables stay unset
    #[arg(long)]
    optional: bool,
}

#[derive(clap::Args)]
pub struct Args {
    /// Server; galera is three nodes of MariaDB
    #[arg(value_parser = names())]
    server: Kind,
    /// Folder of the server, created by `up` and removed by `down`; default: litelab-servers/NAME
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// The names of servers, also for completions.
fn names() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::ALL.map(Kind::name)).try_map(|name| Kind::parse(&name))
}

impl Args {
    fn place(&self) -> (Kind, PathBuf) {
        (self.server, self.dir.clone().unwrap_or_else(|| instance::default_folder(self.server)))
    }
}

/// Runs the sub-command.
pub fn run(verb: &Verb) -> Result<Exit> {
    match verb {
        Verb::Up(args) => up(args),
        Verb::Down(args) => down(args),
        Verb::Status { server, dir, json } => status(*server, dir.clone(), *json),
        Verb::With(args) => with(args),
    }
}

/// Exit code of a [`ServersError`]; `None` for any other error.
pub fn exit(error: &(dyn std::error::Error + 'static)) -> Option<Exit> {
    error.downcast_ref::<ServersError>().map(|error| match error {
        ServersError::Interrupted => Exit::Interrupted,
        e if e.is_bad_input() => Exit::BadInput,
        _ => Exit::Failed,
    })
}

fn up(args: &Args) -> Result<Exit> {
    let (kind, folder) = args.place();
    let options = Options { stop: Some(interrupt::stop_when_done()), ..Options::default() };
    let (state, former) = instance::up(kind, &folder, &options)?;
    if former == Some(Condition::Stale) {
        let text = format_args!("the {kind} that was here had ended without `down`; it is gone");
        output::note(style::WARNING, "note", text);
    }
    print(&state, if former == Some(Condition::Up) { "up already" } else { "up" });
    Ok(Exit::Ok)
}

fn down(args: &Args) -> Result<Exit> {
    let (kind, folder) = args.place();
    let folder_name = folder.display();
    match instance::down(kind, &folder)? {
        None => output::line(format_args!("{kind}  is not up: nothing in {folder_name}")),
        Some(Condition::Stale) => output::line(format_args!("{kind}  had ended already; {folder_name} removed")),
        Some(_) => output::line(format_args!("{kind}  stopped; {folder_name} removed")),
    }
    Ok(Exit::Ok)
}

fn status(server: Option<Kind>, dir: Option<PathBuf>, json: bool) -> Result<Exit> {
    let kinds = server.map_or_else(|| Kind::ALL.to_vec(), |kind| vec![kind]);
    let mut found = Vec::new();
    for kind in kinds {
        let folder = dir.clone().unwrap_or_else(|| instance::default_folder(kind));
        let Some((state, condition)) = instance::status(kind, &folder)? else {
            if !json {
                output::headed(style::STRONG, kind, "  not up");
            }
            continue;
        };
        let word = match condition {
            Condition::Up => "up",
            Condition::Partly => "partly up",
            Condition::Stale => "ended without `down`",
        };
        if json {
            found.push(object(&state, word));
        } else {
            print(&state, word);
        }
    }
    if json {
        output::json(&found)?;
    }
    Ok(Exit::Ok)
}

fn with(args: &With) -> Result<Exit> {
    let [program, arguments @ ..] = args.command.as_slice() else { return Ok(Exit::BadInput) };
    let mut command = Command::new(program);
    command.args(arguments);
    let mut up = Vec::new();
    for kind in args.servers.iter().copied() {
        let refused = || format!("{}: a folder for servers cannot be made in it", args.dir.display());
        let folder = folder(&args.dir, kind).with_context(refused)?;
        let place = std::path::absolute(folder.path())?.join(kind.name());
        let scratch = place.parent();
        let options = Options { stop: Some(interrupt::stop_when_done()), scratch, ..Options::default() };
        match Instance::start(kind, &place, &options) {
            Ok(instance) => {
                command.env(format!("LITELAB_{}", kind.name().to_uppercase()), instance.url());
                // Drop order: the server, then the folder that contains it.
                up.push((instance, folder));
            }
            Err(e @ ServersError::Missing { .. }) if args.optional => {
                output::note(style::WARNING, "skipped", e);
            }
            Err(e) => return Err(e.into()),
        }
    }
    let ended = end_of(&mut command).with_context(|| format!("{program}: it cannot be run"))?;
    drop(up);
    match ended.code() {
        Some(0) => Ok(Exit::Ok),
        Some(code) => std::process::exit(code),
        None if interrupt::is_asked() => Ok(Exit::Interrupted),
        None => anyhow::bail!("{program}: it ended by a signal ({ended})"),
    }
}

/// Waits for a command to end. Forwards a request to stop as SIGTERM, unless a terminal has signalled both processes.
fn end_of(command: &mut Command) -> std::io::Result<ExitStatus> {
    let mut child = command.spawn()?;
    let has_terminal = std::io::stdin().is_terminal();
    let mut is_told = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if interrupt::is_asked() && !is_told && (interrupt::is_terminated() || !has_terminal) {
            let _gone = kill_process(Pid::from_child(&child), Signal::TERM);
            is_told = true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn print(state: &State, word: &str) {
    let pids: Vec<String> = pids(state).iter().map(ToString::to_string).collect();
    let version = if state.version.is_empty() { "starting" } else { &state.version };
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let age = output::duration(since.saturating_sub(Duration::from_secs(state.started)).as_secs_f64());
    let text = format!("  {word} · {version} · pid {} · since {age} ago", pids.join(", "));
    output::headed(style::STRONG, state.kind, text);
    output::line(&state.url);
}

fn object(state: &State, word: &str) -> serde_json::Value {
    serde_json::json!({
        "server": state.kind,
        "state": word,
        "url": state.url,
        "version": state.version,
        "pids": pids(state),
        "since": state.started,
    })
}

fn pids(state: &State) -> Vec<u32> {
    state.nodes.iter().filter_map(|n| n.process.as_ref()).filter(|p| p.lives()).map(|p| p.pid).collect()
}
