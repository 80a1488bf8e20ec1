//! Compares a saturated writer and eight readers with `litelab watch` beside them and without it, in pairs.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use litelab_engine::compile;
use litelab_engine::prepare::Prepared;
use litelab_engine::runner::Runner;
use litelab_engine::trial::{self, Patience, TrialContext};
use litelab_model::{Variant, library, resolve};
use litelab_record::outcome::Outcome;
use litelab_stats::{Better, Confidence, PairedRatio, Planner, Schedule, Tolerance, Verdict};

use crate::SEED;
use crate::pairs::Scratch;

/// The study whose scenario is run.
const BUSY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/watch.toml");
/// Difference that does not matter.
const TOLERANCE: f64 = 0.02;

/// Options of the comparison.
#[derive(Parser)]
pub struct Options {
    /// Pairs.
    #[arg(long, default_value_t = 20)]
    pairs: u32,
    /// Interval of the looks.
    #[arg(long, default_value = "100ms")]
    interval: String,
}

/// One trial: commits per second, reads per second, and the 99th percentile of each in nanoseconds.
type Numbers = [f64; 4];

const NAMES: [(&str, Better); 4] = [
    ("commits/s", Better::Higher),
    ("reads/s", Better::Higher),
    ("P99 of a commit", Better::Lower),
    ("P99 of a read", Better::Lower),
];

/// Runs all pairs and prints the ratio of each number, with watch to without. Returns `false` if a difference is shown.
pub fn run(options: &Options) -> Result<bool> {
    let runners = crate::runners(&crate::home())?;
    let runner = runners.get("rusqlite")?;
    let scratch = Scratch::new("watch-")?;
    let folder = std::path::absolute(scratch.fresh("prepared")?)?;
    let (study, text) = library::study(BUSY)?;
    let mut plan = resolve::resolve(&study, &text, &resolve::Options { seed: Some(SEED), ..Default::default() })?;
    compile::compile(&mut plan)?;
    let variant = plan.variants.first().context("the study has a variant")?;
    let prepared = Prepared::new(&folder).file(variant, &mut |_, _| {})?;
    let order = Schedule::new(SEED, 2);
    let mut pairs: Vec<[Numbers; 2]> = Vec::new();
    for pair in 0..options.pairs {
        let mut sides = [[0.0; 4]; 2];
        for side in order.order(pair) {
            let folder = std::path::absolute(scratch.fresh(["without", "with"][side])?)?;
            sides[side] = one(runner, variant, &prepared, &folder, (side == 1).then_some(&options.interval))?;
        }
        pairs.push(sides);
    }
    println!(
        "writer and 8 readers, with `litelab watch --interval {}` / without, {} pairs",
        options.interval,
        pairs.len()
    );
    let tolerance = Tolerance::new(TOLERANCE)?;
    let planner = Planner::new(Confidence::P95, 0.8)?;
    let mut shown = true;
    for (at, (name, better)) in NAMES.into_iter().enumerate() {
        let rounds: Vec<(f64, f64)> = pairs.iter().map(|[without, with]| (without[at], with[at])).collect();
        let ratio = PairedRatio::from_rounds(&rounds, Confidence::P95)?;
        let verdict = ratio.verdict(tolerance, better, &planner);
        let interval = ratio
            .ratio
            .interval()
            .map_or("no interval".to_owned(), |interval| format!("[{:.4}, {:.4}]", interval.low(), interval.high()));
        println!("  {name:<16} {:.4} {interval} {verdict:?}", ratio.ratio.value);
        shown &= !matches!(verdict, Verdict::Slower);
    }
    Ok(shown)
}

fn one(runner: &Runner, variant: &Variant, prepared: &Path, folder: &Path, watch: Option<&String>) -> Result<Numbers> {
    let watch = watch.map(|interval| Watch::start(&folder.join("trial-0.db"), interval)).transpose()?;
    let patience = Patience::default();
    let mut bench =
        TrialContext { runner, prepared, servers: None, directory: folder, patience, keep_going: &mut || true };
    let outcome = trial::run(variant, "bench", &mut bench).0;
    if let Some(watch) = watch {
        watch.end()?;
    }
    let measured = match outcome {
        Outcome::Measured(measured) => measured,
        Outcome::Failed(failure) => bail!("the runner failed: {}", failure.reason),
    };
    let seconds = measured.result.elapsed_ns as f64 / 1e9;
    let of = |transaction: &str| {
        let all = measured.result.operations.iter().filter(move |o| o.transaction == transaction);
        let one = all.clone().next().context("the transaction was run")?;
        let p99 = one.service.quantile(0.99).context("it was measured")?;
        Ok::<_, anyhow::Error>((all.map(|o| o.committed).sum::<u64>() as f64 / seconds, p99 as f64))
    };
    let (commits, commit) = of("insert")?;
    let (reads, read) = of("read")?;
    Ok([commits, reads, commit, read])
}

/// A running `litelab watch`.
struct Watch(Child);

impl Watch {
    fn start(database: &Path, interval: &str) -> Result<Self> {
        let program = crate::home().join("target/release/litelab");
        let mut command = Command::new(&program);
        command.arg("watch").arg(database).args(["--interval", interval, "--listen", "127.0.0.1:0"]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Ok(Self(child.with_context(|| format!("start {}", program.display()))?))
    }

    fn end(mut self) -> Result<()> {
        ensure!(self.0.try_wait()?.is_none(), "litelab watch ended before the trial");
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }
}
