//! `litelab runners [list|build|check]`: manages the drivers and their runners.

use std::collections::BTreeMap;

use anstyle::Style;
use anyhow::Result;
use litelab_engine::EngineError;
use litelab_engine::runner::{NOOP, Runner};
use litelab_model::advisory::{self, Advisory};

use crate::exit::Exit;
use crate::{building, installation, interrupt, output, style};

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// List the drivers with their versions, and mark SQLite builds with known defects
    List {
        /// Show also runtimes, kinds of sharing, executors, and drivers for tests of litelab itself
        #[arg(long)]
        all: bool,
    },
    /// Build runners with their own tools; one whose toolchain is missing is skipped
    Build {
        /// Names; default: all
        names: Vec<String>,
        /// Build also runners that are up to date
        #[arg(long)]
        force: bool,
    },
    /// Run the conformance suite: do not trust a runner that fails it
    Check(super::check::Args),
}

/// Runs the sub-command; default: `list`.
pub fn run(args: Args) -> Result<Exit> {
    match args.verb.unwrap_or(Verb::List { all: false }) {
        Verb::List { all } => list(all),
        Verb::Build { names, force } => build(&names, force),
        Verb::Check(args) => super::check::run(&args),
    }
}

/// Widths of the columns language, driver and version of the list.
const WIDTHS: [usize; 3] = [8, 18, 10];

fn list(all: bool) -> Result<Exit> {
    let runners = installation::runners()?;
    let advisories: Vec<Advisory> = advisory::of_sqlite()?.into_iter().filter(Advisory::concerns_all).collect();
    // Defects of the listed SQLite builds by name, and lines on what is not built or does not work.
    let (mut defects, mut rest) = (BTreeMap::new(), Vec::new());
    output::headed(style::STRONG, columns(["language", "driver", "version"], "SQLite"), "");
    let mut listed: Vec<&Runner> = runners.iter().filter(|r| all || !r.manifest.test_double).collect();
    listed.sort_by_key(|runner| (&runner.manifest.language, !runner.is_built_in()));
    for runner in listed {
        let language = &runner.manifest.language;
        if !runner.is_built() {
            let names = runner.manifest.drivers.iter().filter(|name| all || *name != NOOP);
            let names: Vec<String> = names.map(|name| runners.shortest(runner, name)).collect();
            let missing = runner.missing().first().map(|need| need.remedy.as_str());
            let remedy = missing.unwrap_or("built when a study needs it");
            rest.push(format!("{language}: {}: {remedy}", names.join(", ")));
            continue;
        }
        let (description, absent) = match runner.describe(Some(interrupt::stop())) {
            Err(EngineError::Interrupted) => return Ok(Exit::Interrupted),
            Err(error) => {
                rest.push(format!("{language}: {error}"));
                continue;
            }
            Ok(found) => found,
        };
        for driver in description.drivers.iter().filter(|driver| all || driver.name != NOOP) {
            let build = driver.sqlite.as_ref().map_or("–", |build| &build.version);
            let name = runners.shortest(runner, &driver.name);
            let text = columns([language, &name, &driver.version], build);
            let mut mark = String::new();
            let known = build.parse().ok().and_then(|version| advisory::defects(&advisories, version));
            if let Some((found, sound)) = known {
                let what = if let [only] = &found[..] { only.name.clone() } else { format!("{} defects", found.len()) };
                mark = format!("  ! {what}, use {sound}");
                defects.extend(found.into_iter().map(|advisory| (&advisory.name, advisory)));
            }
            output::spans(&[(Style::new(), &text), (style::WARNING, &mark)]);
            if all {
                let executors: Vec<_> = driver.executors.iter().map(|executor| executor.name()).collect();
                let text = [driver.sharings.join(", "), executors.join(", "), description.runtime.clone()].join(" · ");
                output::entry("", WIDTHS[0], &text);
            }
        }
        rest.extend(absent.iter().map(|absent| format!("{language}: {absent}")));
    }
    for Advisory { name, effect, source, .. } in defects.values() {
        rest.insert(0, format!("! {name}: {effect}; {source}"));
    }
    if !rest.is_empty() {
        output::line("");
    }
    rest.iter().for_each(|text| output::lines(&format!("{}\n", textwrap::fill(text, style::width()))));
    Ok(Exit::Ok)
}

fn columns([language, driver, version]: [&str; 3], sqlite: &str) -> String {
    let [first, second, third] = WIDTHS;
    format!("{language:first$} {driver:second$} {version:third$} {sqlite}")
}

fn build(names: &[String], force: bool) -> Result<Exit> {
    let runners = installation::runners()?;
    for name in names {
        runners.get(name)?;
    }
    let chosen: Vec<&Runner> = runners
        .iter()
        .filter(|runner| names.contains(&runner.manifest.name) || (names.is_empty() && !runner.manifest.test_double))
        .collect();
    Ok(match building::all(&chosen, force) {
        _ if interrupt::is_asked() => Exit::Interrupted,
        true => Exit::Ok,
        false => Exit::Failed,
    })
}
