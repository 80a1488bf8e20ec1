//! `litelab doctor [DB]`: what is in effect, what is wrong, how to fix it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use clap::parser::ValueSource;
use clap::{Args as _, FromArgMatches as _};
use litelab_doctor::dsn::Dsn;
use litelab_doctor::facts::App;
use litelab_doctor::look::{self, LookError, Options};
use litelab_doctor::{Facts, Finding, Judge, Opening, Rule, Severity, StandIn, rule, sarif};
use litelab_engine::EngineError;
use litelab_engine::runner::{Driver, NOOP, Runner};
use litelab_protocol::{Inspect, Setting};

use crate::exit::{BadInput, Exit};
use crate::{building, installation, interrupt, output, style};

mod text;

#[derive(clap::Args)]
#[command(after_help = "\
The database is neither locked nor written: its bytes are read, or a copy of them. The connections are opened by the driver \
on an empty stand-in, so that nothing of the application is touched.

Examples:
  litelab doctor app.db
  litelab doctor app.db --check --sql queries.sql --advise
  litelab doctor app.db --driver go:modernc --dsn 'app.db?_pragma=busy_timeout(5000)'
  litelab doctor app.db --driver python:sqlite3 --option timeout=30 --option isolation_level=IMMEDIATE
  litelab doctor --driver mattn --dsn 'file:app.db?_journal=WAL' --format sarif --fail-on warning
  litelab doctor                          the checks that litelab.toml lists: doctor.checks = [['app.db', '--check']]

Exit codes: 0 no finding at or above --fail-on; 1 the driver's runner cannot be built or asked; 2 bad input; \
3 findings at or above --fail-on; 130 interrupted.")]
pub struct Args {
    /// Path of the database; may be left out with --driver, or where litelab.toml lists checks
    db: Option<PathBuf>,
    /// Driver of the application, such as go:modernc: opens its connections and shows what is in effect
    #[arg(long, value_name = "NAME")]
    driver: Option<String>,
    /// Data source name, as the application writes it; default: the path of the database
    #[arg(long, requires = "driver")]
    dsn: Option<String>,
    /// Option of the driver's constructor (repeatable)
    #[arg(long, value_name = "NAME=VALUE", requires = "driver")]
    option: Vec<String>,
    /// PRAGMA that the application sets on every connection after it opens (repeatable)
    #[arg(long, value_name = "NAME=VALUE", requires = "driver")]
    pragma: Vec<String>,
    /// Connections that the application opens
    #[arg(long, value_name = "N", default_value = "4", requires = "driver",
          value_parser = |text: &str| super::number::<u32>(text, 1, 64))]
    connections: u32,
    /// Examine the statements of this file: query plans, wrong PRAGMAs
    #[arg(long, value_name = "FILE", requires = "db")]
    sql: Option<PathBuf>,
    /// Try indexes for these statements on a copy of the database in TMPDIR, and measure what they save
    #[arg(long, requires = "sql")]
    advise: bool,
    /// Read the whole database: quick_check and foreign_key_check
    #[arg(long, requires = "db")]
    check: bool,
    /// Measure synced writes in scratch files of the database's folder, for at most a second
    #[arg(long, requires = "db")]
    fsync: bool,
    /// Format of the output
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Severity from which findings end with exit code 3
    #[arg(long, default_value = "error", value_parser = ["error", "warning", "note", "never"])]
    fail_on: String,
    /// Show findings of these rules only (repeatable)
    #[arg(long, value_name = "ID")]
    only: Vec<String>,
    /// Leave out findings of these rules (repeatable)
    #[arg(long, value_name = "ID")]
    ignore: Vec<String>,
    /// Explain a rule instead
    #[arg(long, value_name = "ID", exclusive = true)]
    explain: Option<String>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    Text,
    Json,
    Sarif,
    Github,
}

/// Examines, judges and prints.
pub fn run(args: &Args) -> Result<Exit> {
    let rules = rule::all()?;
    if let Some(id) = &args.explain {
        let all = [rules, rule::events()?].concat();
        explain(find(&all, id)?);
        return Ok(Exit::Ok);
    }
    let rules = chosen(rules, args)?;
    if args.db.is_none() && args.driver.is_none() {
        return listed(args, &rules);
    }
    examine(args, &rules)
}

/// Carries out one check.
fn examine(args: &Args, rules: &[Rule]) -> Result<Exit> {
    let mut facts = facts(args)?;
    if let Some(name) = &args.driver {
        facts.app = Some(connections(args, name, &facts)?);
    }
    let findings = Judge::default().findings(rules, &facts)?;
    let file = args.db.as_deref().map_or_else(|| facts.file.name.clone(), |path| path.display().to_string());
    let statements = args.sql.as_deref().map(|path| path.display().to_string());
    match args.format {
        Format::Text => text::print(&facts, &findings, rules),
        Format::Json => output::json(&serde_json::json!({ "facts": facts, "findings": findings }))?,
        Format::Sarif => {
            output::json(&sarif::log(rules, &findings, env!("CARGO_PKG_VERSION"), &file, statements.as_deref()))?;
        }
        Format::Github => findings.iter().for_each(|finding| github(finding, &file, statements.as_deref())),
    }
    let missed =
        Severity::named(&args.fail_on).is_some_and(|bar| findings.iter().any(|finding| finding.severity >= bar));
    Ok(if missed { Exit::Threshold } else { Exit::Ok })
}

/// File of the checks of a project, in the working directory.
const FILE: &str = "litelab.toml";

/// Options that hold for all checks.
const OF_ALL: [&str; 4] = ["format", "fail_on", "only", "ignore"];

/// The checks that `litelab.toml` lists. [`OF_ALL`] are those of the command line.
fn listed(args: &Args, rules: &[Rule]) -> Result<Exit> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Project {
        doctor: Checks,
    }
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Checks {
        checks: Vec<Vec<String>>,
    }
    let usage = "name a database, or a driver with --driver and --dsn, or list checks in litelab.toml";
    let text = std::fs::read_to_string(FILE).map_err(|_absent| BadInput(usage.into()))?;
    let project: Project = toml::from_str(&text)
        .map_err(|error| BadInput(format!("{FILE}: {}", error.to_string().trim().replace('\n', " "))))?;
    let checks = project.doctor.checks;
    if checks.is_empty() || (checks.len() > 1 && !matches!(args.format, Format::Text | Format::Github)) {
        let what = if checks.is_empty() {
            "it lists no check"
        } else {
            "several checks have no one document: use text or github"
        };
        return Err(BadInput(format!("{FILE}: {what}")).into());
    }
    let mut exit = Exit::Ok;
    for check in checks {
        let command = Args::augment_args(clap::Command::new("doctor").no_binary_name(true));
        let bad = |error: clap::Error| {
            let line = error.to_string().lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
            BadInput(format!("{FILE}: [{}]: {line}", check.join(", ")))
        };
        let parsed = command.try_get_matches_from(&check).map_err(bad)?;
        if let Some(id) = OF_ALL.iter().find(|id| parsed.value_source(id) == Some(ValueSource::CommandLine)) {
            let (check, option) = (check.join(", "), id.replace('_', "-"));
            let what = format!("{FILE}: [{check}]: --{option} holds for all checks: give it to `litelab doctor`");
            return Err(BadInput(what).into());
        }
        let mut one = Args::from_arg_matches(&parsed).map_err(bad)?;
        (one.format, one.fail_on) = (args.format, args.fail_on.clone());
        if one.db.is_none() && one.driver.is_none() {
            return Err(BadInput(format!("{FILE}: [{}]: {usage}", check.join(", "))).into());
        }
        if matches!(args.format, Format::Text) {
            output::headed(style::STRONG, format_args!("litelab doctor {}", check.join(" ")), "");
        }
        if examine(&one, rules)? == Exit::Threshold {
            exit = Exit::Threshold;
        }
    }
    Ok(exit)
}

fn find<'a>(rules: &'a [Rule], id: &str) -> Result<&'a Rule, BadInput> {
    let found = rules.iter().find(|rule| rule.id.eq_ignore_ascii_case(id));
    found.ok_or_else(|| BadInput(litelab_model::unknown("rule", id, rules.iter().map(|rule| rule.id.as_str()))))
}

/// The rules that `--only` and `--ignore` leave.
fn chosen(rules: Vec<Rule>, args: &Args) -> Result<Vec<Rule>> {
    for id in args.only.iter().chain(&args.ignore) {
        find(&rules, id)?;
    }
    let named = |ids: &[String], rule: &Rule| ids.iter().any(|id| rule.id.eq_ignore_ascii_case(id));
    let kept = |rule: &Rule| (args.only.is_empty() || named(&args.only, rule)) && !named(&args.ignore, rule);
    Ok(rules.into_iter().filter(kept).collect())
}

fn facts(args: &Args) -> Result<Facts> {
    let Some(path) = &args.db else {
        let none = || BadInput("name a database, or a driver with --driver and --dsn".into());
        let path = PathBuf::from(Dsn::parse(args.dsn.as_deref().ok_or_else(none)?).path);
        return Ok(look::nothing(path.file_name().and_then(|name| name.to_str()).unwrap_or("app.db")));
    };
    let sql = match &args.sql {
        Some(file) => Some(std::fs::read_to_string(file).map_err(|e| BadInput(format!("{}: {e}", file.display())))?),
        None => None,
    };
    let options = Options { check: args.check, fsync: args.fsync, sql, advise: args.advise };
    look::look(path, &options).map_err(|error: LookError| BadInput(error.to_string()).into())
}

/// Has the driver open the connections on a stand-in.
fn connections(args: &Args, name: &str, facts: &Facts) -> Result<App> {
    let runners = installation::runners()?;
    let driver = runners.driver(name)?;
    let opening = opening(args, &driver)?;
    let stand_in = StandIn::new(&facts.file)?;
    let setting = |(name, value): &(String, String)| Setting {
        name: name.to_lowercase(),
        sql: format!("PRAGMA {name} = {value}"),
    };
    let settings = opening.pragmas.iter().map(setting).collect();
    let request = Inspect {
        options: opening.options.clone(),
        settings,
        ..stand_in.request(&driver.name, opening.connections, stand_in.dsn(&opening.dsn))
    };
    let inspection = driver.runner.inspect(&request).map_err(|error| own_message(&error.to_string()));
    Ok(stand_in.facts(&opening, inspection))
}

/// The driver's own message: what stands after the runner's name and exit code, without the stack below it.
fn own_message(error: &str) -> String {
    let after_code = error.split_once("inspect failed (").and_then(|(_, rest)| rest.split_once("): "));
    let own = after_code.map_or(error, |(_, own)| own);
    own.lines().next().unwrap_or_default().trim_start_matches("Fault [Error]: ").to_owned()
}

/// Describes the driver, whose runner is built if necessary.
fn opening(args: &Args, driver: &Driver<'_>) -> Result<Opening> {
    let runner: &Runner = driver.runner;
    if !runner.is_built() {
        output::log(format_args!("runner `{}` is built once", runner.manifest.name));
        building::all(&[runner], false);
    }
    if interrupt::is_asked() {
        return Err(EngineError::Interrupted.into());
    }
    let (description, absent) = runner.describe(None)?;
    let Some(described) = description.drivers.iter().find(|described| described.name == driver.name) else {
        let absent = absent.iter().find(|absent| absent.driver == driver.name).map(ToString::to_string);
        let why =
            absent.unwrap_or_else(|| format!("runner `{}` has no driver `{}`", runner.manifest.name, driver.name));
        return Err(EngineError::Failed(why).into());
    };
    if !described.dialect.is_sqlite() || described.interface.is_some() || described.name == NOOP {
        let what = format!("--driver: `{}` opens no SQLite database: name the driver below it", driver.name);
        return Err(BadInput(what).into());
    }
    let whole = format!("{}:{}", runner.manifest.name, driver.name);
    let path = || args.db.as_ref().map(|path| path.display().to_string());
    Ok(Opening {
        driver: if runner.manifest.name == driver.name { driver.name.clone() } else { whole },
        driver_version: described.version.trim_start_matches('v').to_owned(),
        language: runner.manifest.language.clone(),
        sqlite: described.sqlite.as_ref().map(|build| build.version.clone()),
        dsn: args.dsn.clone().or_else(path).unwrap_or_default(),
        options: options(&args.option)?,
        pragmas: pairs(&args.pragma, "--pragma", "synchronous=NORMAL")?,
        connections: args.connections,
    })
}

/// Options: a JSON scalar where the value is one, otherwise text.
fn options(texts: &[String]) -> Result<BTreeMap<String, serde_json::Value>, BadInput> {
    let scalar = |value: String| {
        let json = serde_json::from_str(&value).ok();
        json.filter(|json: &serde_json::Value| !json.is_object() && !json.is_array()).unwrap_or_else(|| value.into())
    };
    Ok(pairs(texts, "--option", "timeout=5000")?.into_iter().map(|(name, value)| (name, scalar(value))).collect())
}

/// Parses `NAME=VALUE`.
fn pairs(texts: &[String], option: &str, example: &str) -> Result<Vec<(String, String)>, BadInput> {
    let parse = |text: &String| match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(BadInput(format!("{option} {text}: write NAME=VALUE, such as {example}"))),
    };
    texts.iter().map(parse).collect()
}

/// A workflow command of GitHub Actions.
fn github(finding: &Finding, file: &str, statements: Option<&str>) {
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let escaped = |text: &str| text.replace('%', "%25").replace('\n', "%0A").replace(':', "%3A").replace(',', "%2C");
    let (path, line) = match (finding.line, statements) {
        (Some(line), Some(statements)) => (statements, format!(",line={line}")),
        _ => (file, String::new()),
    };
    let text = format!("{}. {} Fix: {}", finding.message, finding.because, finding.fix);
    let text = text.replace('%', "%25").replace('\n', "%0A");
    output::line(format_args!("::{level} file={}{line},title={}::{text}", escaped(path), finding.rule));
}

fn explain(rule: &Rule) {
    let head = format!("{} {}", rule.id, rule.severity.name());
    output::headed(style::STRONG, head, format_args!("  {}", rule.title));
    output::entry("why", 9, &rule.because);
    output::entry("when", 9, &rule.when);
    output::entry("message", 9, &rule.message);
    for (name, fix) in &rule.fix {
        output::entry(if name == "any" { "fix".to_owned() } else { format!("fix {name}") }, 9, fix);
    }
    output::entry("source", 9, &rule.source);
}
