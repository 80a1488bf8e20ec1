//! `litelab` without arguments: a ten-second comparison of three profiles, and suggestions for the next command.

use std::path::Path;

use anstyle::Style;
use anyhow::Result;
use litelab_engine::{Run, RunOptions};
use litelab_model::metric::{Measure, Quantile, Timing, Unit};
use litelab_model::{Metric, Options, library, resolve};
use litelab_record::RunFile;
use litelab_report::analysis::{self, VariantAnalysis};
use litelab_report::number;

use crate::exit::Exit;
use crate::{execution, files, installation, interrupt, output, style};

const STUDY: &str = "look";

/// Runs the study `look` and prints a line for each profile.
pub fn run() -> Result<Exit> {
    let runners = installation::runners()?;
    let (study, text) = library::study(STUDY)?;
    let plan = resolve::resolve(&study, &text, &Options { dialects: runners.dialects(), ..Options::default() })?;
    let directory = Path::new(files::DIRECTORY);
    files::make(directory)?;
    let file = files::new_run(directory, STUDY);
    let options = RunOptions::new(file.clone(), directory.to_path_buf());
    let run = Run::new(plan, &text.toml, options, &runners, interrupt::stop())?;
    let ended = execution::carry_out(run)?;
    if ended.interrupted {
        execution::say_resume(ended.rounds, &format!("litelab run --resume {}", file.display()));
        return Ok(Exit::Interrupted);
    }
    let run = RunFile::open(&file)?;
    let info = run.info()?;
    let analysis = analysis::analyse(&run, &info)?;
    let head = format_args!("One writer, one row per commit, on the disk of ./{}:", files::DIRECTORY);
    output::headed(style::STRONG, head, "");
    output::line("");
    analysis.variants.iter().for_each(print);
    output::lines(
        "\nNext:\n  litelab run              a minute: what batches bring, and how writers should share the database\n  \
         litelab pragma app.db    the settings that a database of yours has in effect\n\n\
         `litelab --help` lists every command.\n",
    );
    Ok(if ended.failed == 0 { Exit::Ok } else { Exit::Failed })
}

/// Prints throughput, tail latency and durability of one profile.
fn print(variant: &VariantAnalysis) {
    let rate = Metric::from(Measure::Throughput);
    let tail = Metric::from(Measure::Latency(Timing::Service, Quantile::P999));
    let median = |metric| variant.estimate(metric).map(|estimate| estimate.value);
    let name = format!("  {:<12}", variant.profile);
    let (Some(commits), Some(slowest), Some(durability)) = (median(&rate), median(&tail), variant.durability) else {
        let why = variant.failures.first().map_or("no trial gave a measurement", |failure| failure.reason.as_str());
        let why = format!(" {why}");
        return output::spans(&[(style::STRONG, &name), (style::ERROR, &"failed:"), (Style::new(), &why)]);
    };
    let each = number::value(1e9 / commits, Unit::Nanos);
    let few = variant.metrics.get(&tail).is_some_and(|values| values.max_of.is_some());
    let slowest = format!("{} {}", if few { "longest" } else { "P99.9" }, number::value(slowest, Unit::Nanos));
    let commits = number::value(commits, Unit::PerSecond).replace("/s", " commits/s");
    let text = format_args!("{commits:>16}, {each:>8} each, {slowest:>15}: {}", durability.meaning());
    output::headed(style::STRONG, name, text);
}
