//! Compares runners with hand-written loops in the same language on the same driver: the same table, statement and
//! random values, in pairs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use litelab_engine::compile;
use litelab_engine::copy_database;
use litelab_engine::prepare::Prepared;
use litelab_engine::runner::Runner;
use litelab_model::{Plan, Variant, library, resolve};
use litelab_protocol::{DriverDescription, Until};
use litelab_stats::Schedule;

use crate::SEED;
use crate::pairs::{self, Comparison, Outcome, Sample, Scratch};

/// The study whose scenarios are the loops. The name of a scenario is the verb of the hand-written program.
const LOOPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/loops.toml");

/// Options of the comparison.
#[derive(Parser)]
pub struct Options {
    /// Runners, or `runner:driver` (default: all that are built and have hand-written loops).
    names: Vec<String>,
    /// Pairs per comparison.
    #[arg(long, default_value_t = 10)]
    pairs: u32,
    /// Run only these loops (insert, batch, read).
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
}

/// Approximate limit in seconds for one side: a driver with a slower loop runs fewer operations. Loops of less than a
/// second end before Node has compiled them.
const LONGEST: f64 = 4.0;

/// Smallest ratio that meets the target, per language. Per transaction, a runner adds two clock reads, a histogram
/// value, and a counter under a lock; an interpreter needs longer for these.
fn target(language: &str) -> f64 {
    match language {
        "python" | "node" => 0.85,
        _ => 0.90,
    }
}

/// Runs all pairs of all runners. Returns `false` if a target was missed.
pub fn run(options: &Options) -> Result<bool> {
    let runners = crate::runners(&crate::home())?;
    let mut chosen = Vec::new();
    for name in &options.names {
        chosen.push(match name.contains(':') {
            true => runners.driver(name).map(|d| (d.runner.manifest.name.clone(), Some(d.name)))?,
            false => (runners.get(name)?.manifest.name.clone(), None),
        });
    }
    let has = |runner: &str| chosen.is_empty() || chosen.iter().any(|(name, _)| name == runner);
    let has_driver = |runner: &str, driver: &str| {
        let is = |(name, one): &(String, Option<String>)| name == runner && one.as_deref().is_none_or(|d| d == driver);
        chosen.is_empty() || chosen.iter().any(is)
    };
    let scratch = Scratch::new("runner-")?;
    let folder = std::path::absolute(scratch.fresh("prepared")?)?;
    let (study, text) = library::study(LOOPS)?;
    let resolve = resolve::Options { only: options.only.clone(), seed: Some(SEED), ..resolve::Options::default() };
    let mut plan = resolve::resolve(&study, &text, &resolve)?;
    compile::compile(&mut plan)?;
    let mut met = true;
    let mut compared = 0;
    for runner in runners.iter().filter(|r| has(&r.manifest.name)) {
        let name = &runner.manifest.name;
        if runner.manifest.handwritten.is_empty() {
            ensure!(options.names.is_empty(), "runner `{name}` has no loops written by hand");
            continue;
        }
        let Ok((description, _)) = runner.describe(None) else {
            println!("{name}: skipped, it is not built");
            continue;
        };
        let drivers = description.drivers.iter().filter(|d| has_driver(name, &d.name) && has_loops(d, &plan));
        for driver in drivers {
            for (index, variant) in plan.variants.iter().enumerate() {
                let title = format!("{name}/{} {}", driver.name, plan.scenarios[variant.scenario].name);
                let mut comparison = Comparison::new(&title, target(&description.language));
                let order = Schedule::new(SEED + index as u64, 2);
                let prepared = Prepared::new(&folder).file(variant, &mut |_, _| {})?;
                let verb = &plan.scenarios[variant.scenario].name;
                let mut variant = variant.clone();
                driver.name.clone_into(&mut variant.trial.driver);
                shorten(&mut variant, runner, verb, &prepared, &scratch)?;
                for pair in 0..options.pairs {
                    let sides = pairs::in_order(&order.order(pair), |side| {
                        let folder = std::path::absolute(scratch.fresh(["hand", "litelab"][side])?)?;
                        let sample = match side {
                            0 => by_hand(runner, verb, &variant, &prepared, &folder),
                            _ => pairs::by_runner(runner, &variant, &prepared, None, &folder),
                        };
                        std::thread::sleep(Duration::from_millis(100));
                        sample
                    })?;
                    comparison.add(sides[0], sides[1])?;
                }
                met &= comparison.conclude()? != Outcome::Missed;
                compared += 1;
            }
        }
    }
    ensure!(compared > 0, "nothing was compared: build the runners first");
    Ok(met)
}

/// Whether hand-written loops exist for a driver: it runs SQL on a linked SQLite, in threads.
fn has_loops(driver: &DriverDescription, plan: &Plan) -> bool {
    // `noop` and drivers of servers link no SQLite. The yardstick for a server is pgbench.
    let sqlite = driver.sqlite.is_some() && driver.interface.is_none();
    sqlite && plan.variants.iter().all(|variant| driver.executors.contains(&variant.trial.executor))
}

/// Reduces the operations of a variant to those that the hand-written loop runs in about [`LONGEST`] seconds, estimated
/// from a fiftieth of them.
fn shorten(variant: &mut Variant, runner: &Runner, verb: &str, prepared: &Path, scratch: &Scratch) -> Result<()> {
    let all = count(variant)?;
    let set = |variant: &mut Variant, count: u64| {
        for role in &mut variant.trial.roles {
            role.until = Until::Count { transactions: count };
        }
    };
    set(variant, all.div_ceil(50));
    let folder = std::path::absolute(scratch.fresh("pilot")?)?;
    let pilot = by_hand(runner, verb, variant, prepared, &folder)?;
    let rate = pilot.units as f64 / pilot.seconds;
    let fits = ((rate * LONGEST) as u64).clamp(1, all);
    if fits < all {
        println!("  {}/{} {verb}: {fits} operations of {all}", runner.manifest.name, variant.trial.driver);
    }
    set(variant, fits);
    Ok(())
}

fn count(variant: &Variant) -> Result<u64> {
    match variant.trial.roles.first().map(|r| &r.until) {
        Some(Until::Count { transactions }) => Ok(*transactions),
        _ => bail!("a loop ends by count"),
    }
}

fn by_hand(runner: &Runner, verb: &str, variant: &Variant, prepared: &Path, folder: &Path) -> Result<Sample> {
    let database: PathBuf = folder.join("hand.db");
    copy_database(prepared, &database)?;
    let count = count(variant)?;
    let mut command = runner.handwritten().context("no loops written by hand")?;
    command
        .arg(&variant.trial.driver)
        .arg(verb)
        .arg(&database)
        .arg(count.to_string())
        .arg(variant.trial.seed.to_string());
    let output = command.current_dir(folder).output().context("start the loop written by hand")?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "{command:?}: {}{}", said, String::from_utf8_lossy(&output.stderr));
    let rate: f64 = said.trim().parse().with_context(|| format!("{command:?} said `{}`", said.trim()))?;
    Ok(Sample { seconds: count as f64 / rate, cpu_seconds: None, units: count })
}

#[cfg(test)]
mod tests {
    use litelab_protocol::Executor;
    use serde_json::{Value, json};

    use super::*;

    fn loops() -> Plan {
        let (study, text) = library::study(LOOPS).unwrap();
        resolve::resolve(&study, &text, &resolve::Options::default()).unwrap()
    }

    /// A driver that has loops, except for these members.
    fn driver(but: &Value) -> DriverDescription {
        let sqlite = json!({"version": "3.54.1", "source_id": "", "compile_options": []});
        let mut all = json!({"name": "any", "version": "1", "sqlite": sqlite, "sharings": ["own-connection"], "executors": ["threads"]});
        all.as_object_mut().unwrap().extend(but.as_object().unwrap().clone());
        serde_json::from_value(all).unwrap()
    }

    #[test]
    fn only_drivers_of_sql_on_sqlite_in_threads_have_loops() {
        let plan = loops();
        assert!(
            !plan.variants.is_empty()
                && plan.variants.iter().all(|variant| variant.trial.executor == Executor::Threads)
        );
        assert!(has_loops(&driver(&json!({})), &plan));
        assert!(!has_loops(&driver(&json!({"sqlite": null})), &plan), "noop");
        assert!(!has_loops(&driver(&json!({"sqlite": null, "dialect": "postgres"})), &plan), "a server's");
        assert!(!has_loops(&driver(&json!({"interface": {"name": "queue", "operations": []}})), &plan), "a queue's");
        assert!(!has_loops(&driver(&json!({"executors": ["inline"]})), &plan), "an event loop's");
    }
}
