//! Compares the Go runner with PostgreSQL's own pgbench: its scripts on its tables, in pairs on one server.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use litelab_engine::{Runners, Servers, Urls};
use litelab_model::quantity::Scalar;
use litelab_model::{Plan, Variant, library, resolve};
use litelab_protocol::Database;
use litelab_servers::instance::binaries;
use litelab_servers::{Admin, Instance, Kind, Url};
use litelab_stats::Schedule;

use crate::SEED;
use crate::pairs::{self, Comparison, Outcome, Sample, Scratch};

/// The study whose scenarios are pgbench's scripts, under the same names.
const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/pgbench.toml");

/// Smallest ratio of transactions per second that meets the target.
const TARGET: f64 = 0.9;

/// Number of clients, and of branches with 100,000 accounts each: with fewer branches than clients, clients of tpcb-like
/// mostly wait for each other.
const CLIENTS: u32 = 16;

/// Options of the comparison.
#[derive(Parser)]
pub struct Options {
    /// Pairs per script; an interval takes at least six.
    #[arg(long, default_value_t = 8)]
    pairs: u32,
    /// Threads that the clients share: pgbench's `-j` and the runner's GOMAXPROCS (default: one for pgbench, as many as
    /// processors for Go).
    #[arg(long)]
    threads: Option<u32>,
    /// Seconds per side.
    #[arg(long, default_value_t = 5)]
    seconds: u32,
    /// Run only these scripts (select-only, tpcb-like).
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
}

/// Runs all pairs of both scripts. Returns `false` if a target was missed. If PostgreSQL, pgbench or the runner is
/// missing, prints a line and counts nothing as missed.
pub fn run(options: &Options) -> Result<bool> {
    let runners = crate::runners(&crate::home())?;
    let runner = runners.get("go")?;
    if runner.describe(None).is_err() {
        println!("pgbench: skipped, runner `go` is not built: litelab runners build go");
        return Ok(true);
    }
    let scratch = Scratch::new("pgbench-")?;
    let pgbench = match program() {
        Ok(program) => program,
        Err(why) => {
            println!("pgbench: skipped, {why}");
            return Ok(true);
        }
    };
    let folder = std::path::absolute(scratch.path())?;
    // Dropped, and so stopped, before its folder is removed.
    let instance = Instance::start(Kind::Postgres, &folder.join("postgres"), &litelab_servers::Options::default())?;
    let mut plan = plan(options, &runners)?;
    let mut urls = Urls::default();
    urls.add(&format!("postgres={}", instance.url())).map_err(anyhow::Error::msg)?;
    let mut servers = Servers::new(&folder, urls);
    servers.provide(&mut plan, None)?;
    let side = Yardstick { program: pgbench, url: Url::parse(instance.url())?, options };
    println!(
        "{} on {}: scale {CLIENTS}, {CLIENTS} clients{} for {} s, prepared statements, tables made anew for each side",
        side.version()?,
        instance.version(),
        options.threads.map(|threads| format!(" in {threads} threads")).unwrap_or_default(),
        options.seconds
    );
    let mut met = true;
    for (index, variant) in plan.variants.iter().enumerate() {
        let script = &plan.scenarios[variant.scenario].name;
        let mut comparison = Comparison::for_a_time(&format!("go/postgres {script}"), TARGET);
        let order = Schedule::new(SEED + index as u64, 2);
        for pair in 0..options.pairs {
            let sides = pairs::in_order(&order.order(pair), |side_index| {
                checkpoint(instance.url())?;
                match side_index {
                    0 => side.sample(&servers, variant, script),
                    _ => pairs::by_runner(runner, variant, Path::new(""), Some(&servers), &scratch.fresh("litelab")?),
                }
            })?;
            comparison.add(sides[0], sides[1])?;
        }
        met &= comparison.conclude()? != Outcome::Missed;
    }
    Ok(met)
}

/// Path of pgbench, or a message that names the missing program and its package.
fn program() -> Result<PathBuf, String> {
    let server = binaries::find(Kind::Postgres).map_err(|e| e.to_string())?.server;
    near(&server, &std::env::var_os("PATH").unwrap_or_default())
}

/// pgbench is in the same folder as the server. Debian's pgbench in the search path is a script that selects a version.
fn near(server: &Path, path: &OsStr) -> Result<PathBuf, String> {
    let beside = server.with_file_name("pgbench");
    let mut candidates = std::iter::once(beside).chain(std::env::split_paths(path).map(|f| f.join("pgbench")));
    let found = candidates.find(|file| file.is_file());
    found.ok_or_else(|| "pgbench is not installed: apt-get install postgresql (elsewhere postgresql-contrib)".into())
}

fn plan(options: &Options, runners: &Runners) -> Result<Plan> {
    let (study, text) = library::study(SCRIPTS)?;
    let number = |number: u32| Scalar::Integer(number.into());
    let vars = [("scale", CLIENTS), ("clients", CLIENTS), ("seconds", options.seconds)];
    let resolve = resolve::Options {
        only: options.only.clone(),
        vars: vars.map(|(name, value)| (name.to_owned(), number(value))).into_iter().collect(),
        seed: Some(SEED),
        dialects: runners.dialects(),
        ..resolve::Options::default()
    };
    let mut plan = resolve::resolve(&study, &text, &resolve)?;
    for variant in &mut plan.variants {
        // The runner's own name of the driver.
        "postgres".clone_into(&mut variant.trial.driver);
        variant.trial.runtime_threads = options.threads;
    }
    Ok(plan)
}

/// Writes the dirty pages of the previous side, so that no checkpoint of one side runs during another: a side writes
/// less than `max_wal_size`.
fn checkpoint(url: &str) -> Result<()> {
    Ok(Admin::connect(url)?.script("public", "CHECKPOINT")?)
}

/// A run of pgbench.
struct Yardstick<'a> {
    program: PathBuf,
    url: Url,
    options: &'a Options,
}

impl Yardstick<'_> {
    fn version(&self) -> Result<String> {
        let output = Command::new(&self.program).arg("--version").output().context("start pgbench")?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// One run on newly created tables with the data of `pgbench -i`, loaded by the same code as on the other side,
    /// because pages that a load leaves in the server's buffers are written during the run.
    fn sample(&self, servers: &Servers, variant: &Variant, script: &str) -> Result<Sample> {
        let schemas = servers.schemas(variant).map_err(anyhow::Error::msg)?;
        let databases = schemas.databases();
        let Some(Database::Server { schema, .. }) = databases.first() else { bail!("a variant has a database") };
        let of = self.options;
        let [clients, threads, seconds] = [CLIENTS, of.threads.unwrap_or(1), of.seconds].map(|n| n.to_string());
        let (host, port) = self.url.hosts.first().context("a url has a host")?;
        let mut command = Command::new(&self.program);
        command
            .args(["-n", "-M", "prepared", "-b", script, "-c", &clients, "-j", &threads, "-T", &seconds])
            .args(["-h", host, "-p", &port.to_string(), "-U", &self.url.user])
            .arg(self.url.database.as_deref().unwrap_or("postgres"))
            .env("PGPASSWORD", self.url.password.as_deref().unwrap_or_default())
            .env("PGOPTIONS", format!("-c search_path={schema}"));
        let output = command.output().context("start pgbench")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "pgbench ended with {}: {errors}", output.status);
        let said = String::from_utf8_lossy(&output.stdout);
        ensure!(said.contains(&format!("scaling factor: {CLIENTS}\n")), "pgbench found other tables: {said}");
        sample(&said)
    }
}

/// Parses the output of pgbench. The duration is that of pgbench's own rate, without the time for connecting.
fn sample(said: &str) -> Result<Sample> {
    let after = |label: &str| said.lines().find_map(|line| line.strip_prefix(label)).map(str::trim);
    let number = |text: Option<&str>| text.and_then(|text| text.split([' ', '/']).next()?.parse::<f64>().ok());
    let unread = || format!("pgbench said `{}`", said.trim());
    let units = number(after("number of transactions actually processed:")).with_context(unread)?;
    let rate = number(after("tps =")).filter(|_| said.contains("without initial connection time"));
    let rate = rate.filter(|rate| *rate > 0.0).with_context(unread)?;
    // Since PostgreSQL 15, pgbench continues after a failure and reports the number of failures.
    let failed = number(after("number of failed transactions:")).unwrap_or(0.0);
    ensure!(failed == 0.0, "{failed} of pgbench's transactions failed");
    Ok(Sample { seconds: units / rate, cpu_seconds: None, units: units as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "transaction type: <builtin: select only>\nnumber of transactions actually processed: 3000\n\
                        number of failed transactions: 0 (0.000%)\nlatency average = 0.1 ms\n\
                        initial connection time = 9 ms\ntps = 1500.000000 (without initial connection time)\n";

    #[test]
    fn what_pgbench_says_is_read() {
        let read = sample(SAID).expect("a sample");
        assert_eq!((read.units, read.seconds), (3000, 2.0));
        // Before version 15 it does not print failures; it ends with an error.
        let former = SAID.replace("number of failed transactions: 0 (0.000%)\n", "");
        assert_eq!(sample(&former).expect("a sample"), read);
    }

    #[test]
    fn pgbench_is_looked_for_beside_the_server_and_then_in_the_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let [server, other] = ["server", "other"].map(|name| folder.path().join(name));
        for place in [&server, &other] {
            std::fs::create_dir(place).expect("made");
        }
        let find = || near(&server.join("postgres"), other.as_os_str());
        let absent = find().expect_err("it is nowhere");
        assert!(absent.contains("apt-get install postgresql") && !absent.contains('\n'), "{absent}");
        for place in [&other, &server] {
            std::fs::write(place.join("pgbench"), "").expect("written");
            assert_eq!(find(), Ok(place.join("pgbench")));
        }
    }

    #[test]
    fn a_run_that_is_none_is_no_sample() {
        for (from, to) in [
            ("transactions: 0 (", "transactions: 3 ("),
            ("tps = 1500.000000", "tps = 0.000000"),
            ("without initial", "including"),
            ("processed: 3000", "processed:"),
        ] {
            assert!(sample(&SAID.replace(from, to)).is_err(), "{to}");
        }
    }
}
