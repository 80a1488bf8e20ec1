//! The `litelab` command: arguments in, exit code out. One file per sub-command in `cmd/`.

mod building;
mod cmd;
mod execution;
mod exit;
mod failure;
mod files;
mod installation;
mod interrupt;
mod output;
mod pivot;
mod progress;
mod style;
mod unlike;
mod usage;

use clap::{Parser, Subcommand};
use litelab_model::library::Kind;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// How should this application use SQLite, on this machine?
///
/// litelab runs declared work on real SQLite drivers: in fresh processes, on fresh copies of a database, in randomised
/// rounds. It checks every result and reports a difference only if the data supports it.
#[derive(Parser)]
#[command(version, max_term_width = 110, after_long_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

const EXAMPLES: &str = "\
Examples:
  litelab                                 ten seconds: what a commit costs on this disk
  litelab run                             a minute: what a commit costs here, and how writers should share
  litelab run sqlite3perf --quick         a published study, its claims examined, at a small scale
  litelab run my-study.toml               your own schema and queries
  litelab show                            the newest run again
  litelab show --columns profile          its variants side by side
  litelab calibrate                       what this machine can show at all
  litelab report                          the same as an HTML page with pictures
  litelab generate sqlite3perf bench.db --rows 10M   a workload's data, without a run
  litelab doctor app.db                   what is in effect, what is wrong, how to fix it
  litelab watch app.db                    who holds the lock, who pins the log, now
  litelab pragma app.db                   the settings a database has in effect

Exit codes:
  0  done
  1  something failed while it ran (a trial, a runner, a check)
  2  usage or bad input: one line says what is wrong and the remedy
  3  a threshold was missed (compare --fail: a regression that a re-run confirmed; doctor: a finding from --fail-on on;
     verify), or a verdict turned into its opposite (repeat)
  4  inconclusive, under --strict
  130  interrupted; what the run file holds is valid";

/// In the order in which a user needs them; the rarely used ones last.
#[derive(Subcommand)]
enum Command {
    /// Run a study and report its results
    Run(cmd::run::Args),
    /// Show the results of a run: tables, claims, findings
    Show(cmd::show::Args),
    /// Write an HTML page of a run, or update its tables in a Markdown page
    Report(cmd::report::Args),
    /// Compare two runs, or two variants of one run
    Compare(cmd::compare::Args),
    /// Run the study of a run again and compare the verdicts
    Repeat(cmd::repeat::Args),
    /// Export a run as JSON, CSV or Markdown
    Export(cmd::export::Args),
    /// List the built-in studies, or show one
    Studies(cmd::library::Args),
    /// List the built-in workloads, or show one
    Workloads(cmd::library::Args),
    /// List the built-in profiles, or show one
    Profiles(cmd::library::Args),
    /// List, build and check the drivers and their runners
    Runners(cmd::runners::Args),
    /// Examine a database, its host, its processes and an application's connections
    Doctor(Box<cmd::doctor::Args>),
    /// Watch databases in use: who holds the lock, who pins the log, whether checkpoints keep up
    Watch(cmd::watch::Args),
    /// Show what each driver does as it comes: timeouts, durability, transactions
    Defaults(cmd::defaults::Args),
    /// Show the PRAGMA values in effect for a database
    Pragma(cmd::pragma::Args),
    /// Measure the precision of this host: noise, sync times, the cost of the harness
    Calibrate(cmd::calibrate::Args),
    /// Check whether this installation measures correctly
    SelfCheck(cmd::self_check::Args),
    /// Print shell completions
    Completions(cmd::completions::Args),
    /// Generate a large database from a workload's data, fast
    Generate(cmd::generate::Args),
    /// Check every hash of a sqlite3perf database
    Verify(cmd::verify::Args),
    /// Start and stop private database servers for comparison
    #[command(subcommand)]
    Servers(cmd::servers::Verb),
    /// Write man pages, for packages
    #[command(hide = true)]
    Man(cmd::man::Args),
}

/// Most files that a run opens at once: a trial may have a thousand databases, or processes with three pipes each.
const OPEN_FILES: u64 = 32_768;

/// Raises the limit of open files, which runners inherit, as far as the system allows: a shell's is often 1024. Not beyond
/// what is needed, because MariaDB allocates memory for as many.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(OPEN_FILES, |most| most.min(OPEN_FILES));
    if limit.current.is_some_and(|now| now < wanted) {
        let _refused = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit });
    }
}

fn main() -> std::process::ExitCode {
    // A trial runs in a child process of this same program, which must not install the command's signal handlers.
    // An argument may be no UTF-8.
    let mut arguments = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    if arguments.next().as_deref() == Some("runner") && arguments.next().as_deref() == Some("rusqlite") {
        return litelab_runner::main(arguments.next().as_deref());
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return output::usage(&error),
    };
    interrupt::install();
    raise_open_files();
    let Some(command) = cli.command else {
        return end(cmd::look::run());
    };
    end(match command {
        Command::Run(args) => cmd::run::run(args),
        Command::Show(args) => cmd::show::run(&args),
        Command::Report(args) => cmd::report::run(&args),
        Command::Compare(args) => cmd::compare::run(&args),
        Command::Repeat(args) => cmd::repeat::run(&args),
        Command::Export(args) => cmd::export::run(&args),
        Command::Studies(args) => cmd::library::run(Kind::Study, &args),
        Command::Workloads(args) => cmd::library::run(Kind::Workload, &args),
        Command::Profiles(args) => cmd::library::run(Kind::Profile, &args),
        Command::Runners(args) => cmd::runners::run(args),
        Command::Doctor(args) => cmd::doctor::run(&args),
        Command::Watch(args) => cmd::watch::run(&args),
        Command::Defaults(args) => cmd::defaults::run(&args),
        Command::Pragma(args) => cmd::pragma::run(&args),
        Command::Calibrate(args) => cmd::calibrate::run(&args),
        Command::SelfCheck(args) => cmd::self_check::run(&args),
        Command::Completions(args) => cmd::completions::run(&args),
        Command::Generate(args) => cmd::generate::run(&args),
        Command::Verify(args) => cmd::verify::run(&args),
        Command::Servers(verb) => cmd::servers::run(&verb),
        Command::Man(args) => cmd::man::run(&args),
    })
}

/// Converts the result into an exit code; prints an error.
fn end(outcome: anyhow::Result<exit::Exit>) -> std::process::ExitCode {
    match outcome {
        Ok(exit::Exit::Ok) if output::has_failed() => exit::Exit::Failed.into(),
        Ok(exit) => exit.into(),
        Err(error) => failure::report(&error).into(),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_sound() {
        super::Cli::command().debug_assert();
    }
}
