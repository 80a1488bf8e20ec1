//! The re-run of `litelab compare --fail`: regressions run again, base and head in the same rounds.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use litelab_engine::{EngineError, Run, RunOptions, Runners};
use litelab_model::{Metric, Plan};
use litelab_record::{RunFile, RunInfo};
use litelab_report::analysis::analyse_with;
use litelab_report::compare::{Builds, Comparison, Confirmation, Side, confirm};

use crate::{execution, files, installation, interrupt, output};

/// Runs the regressions of a comparison again, with databases in `directory`, and judges the result.
///
/// # Errors
/// If the re-run was interrupted, or its file could not be written or read. A re-run that cannot start (no runner,
/// missing data) is not an error but part of the result.
pub fn run(
    comparison: &Comparison,
    base: Side<'_>,
    head: Side<'_>,
    metrics: &[Metric],
    directory: &Path,
) -> Result<Confirmation> {
    let runners = match installation::runners() {
        Ok(runners) => runners,
        Err(error) => return Ok(confirm::failed(comparison, &format!("{error:#}"))),
    };
    let again = confirm::again(comparison, base.info, head.info, &here(&runners, [base.info, head.info]));
    if let Some(server) = base.info.servers.iter().chain(&head.info.servers).find(|(_, s)| s.own).map(|(name, _)| name)
    {
        let line =
            format!("it ran on a server `{server}` of your own, which is not run on again: look with --no-confirm");
        return Ok(confirm::failed(comparison, &line));
    }
    let Some(plan) = &again.plan else { return Ok(confirm::without_run(comparison, &again)) };
    let file = match execute(plan, &head.info.study_toml, &runners, directory) {
        Ok(file) => file,
        Err(error) => match error.downcast_ref::<EngineError>() {
            Some(EngineError::Interrupted) | None => return Err(error),
            Some(other) => return Ok(confirm::failed(comparison, &other.to_string())),
        },
    };
    let file = RunFile::open(&file)?;
    let info = file.info()?;
    let analysis = analyse_with(&file, &info, metrics)?;
    Ok(confirm::judge(comparison, base, &again, Side { analysis: &analysis, info: &info }))
}

/// The builds now installed of the drivers of these runs. A runner that does not answer counts as not installed.
fn here(runners: &Runners, infos: [&RunInfo; 2]) -> Builds {
    let drivers: BTreeSet<&str> =
        infos.iter().flat_map(|i| &i.plan.variants).map(|variant| variant.driver.as_str()).collect();
    let names: BTreeSet<String> =
        drivers.iter().filter_map(|d| Some(runners.driver(d).ok()?.runner.manifest.name.clone())).collect();
    Builds {
        runners: names
            .iter()
            .filter_map(|name| Some(runners.get(name).ok()?.describe(Some(interrupt::stop())).ok()?.0))
            .collect(),
        fingerprints: litelab_engine::run::builds(runners, &names),
    }
}

/// Runs the plan. The run file is kept with the other runs, because it is the evidence.
fn execute(plan: &Plan, study: &str, runners: &Runners, directory: &Path) -> Result<std::path::PathBuf> {
    let file = files::new_run(Path::new(files::DIRECTORY), &format!("{}-confirmation", plan.study));
    let options = RunOptions::new(file.clone(), directory.to_path_buf());
    std::fs::create_dir_all(files::DIRECTORY)
        .map_err(|e| EngineError::Failed(format!("{}: cannot make this directory: {e}", files::DIRECTORY)))?;
    let run = Run::new(plan.clone(), study, options, runners, interrupt::stop())?;
    run.calibrated(Path::new(files::DIRECTORY))?;
    output::log("running again what was slower, base and head in the same rounds");
    if execution::carry_out(run)?.interrupted {
        return Err(EngineError::Interrupted.into());
    }
    Ok(file)
}
