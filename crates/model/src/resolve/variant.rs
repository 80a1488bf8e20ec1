//! Resolution of one variant: the trial of a scenario for one combination of its dimensions.

use std::path::Path;

use indexmap::IndexMap;
use litelab_protocol::{Connection, Executor, Prepare, Sharing, Transaction, Trial};

use super::{Context, ScenarioError, conditions, data, invariants, profiles, roles, transactions, variants};
use crate::claim::Claim;
use crate::condition::Search;
use crate::library;
use crate::metric::{Measure, Metric, Timing};
use crate::plan::{self, Variant};
use crate::quantity::{Scalar, Vars, with_unit};
use crate::setting::Setting;
use crate::study::{Location, Scenario, Study};
use crate::workload::Workload;

/// Wait in milliseconds for transactions in progress at the end of a role: twice the usual lock timeout.
const DRAIN_MS: u64 = 10_000;
/// The wait is at least this many times the longest pause of a transaction, behind which others wait.
const DRAIN_PAUSES: u64 = 6;
/// Interval of ticks in milliseconds.
const TICK_MS: u64 = 100;
/// Interval of the host probe in milliseconds if a metric uses its values.
const PROBE_MS: u64 = 10;
/// Interval of the host probe in milliseconds otherwise: sufficient to detect in each tick that the host program hangs,
/// at a tenth of the cost.
const IDLE_PROBE_MS: u64 = TICK_MS;

/// Resolves one variant. `vars` are the variables of the scenario.
///
/// # Errors
/// The first error in the combination, or in a file that it refers to.
pub(super) fn resolve(
    context: &Context<'_>,
    scenario: &Scenario,
    (workload, place): (&Workload, Option<&Path>),
    vars: &Vars,
    dimensions: &IndexMap<String, Scalar>,
    index: usize,
) -> Result<Variant, ScenarioError> {
    let mut vars = vars.clone();
    let choice = variants::Choice::new(scenario, dimensions, &mut vars)?;
    let scenario = &choice.scenario;
    let dialect = context.options.dialects.get(&choice.driver).copied().unwrap_or_default();
    let server = choice.server_of(dialect)?;
    let unless_stated = if dialect.is_sqlite() { "wal-normal" } else { "as-it-comes" };
    let name = scenario.profile.as_deref().unwrap_or(unless_stated);
    let (profile, text) = library::profile(name, context.directory).map_err(ScenarioError::File)?;
    let profiles::Checked { settings, retry } =
        profiles::of_variant(&profile, &text, &choice, dialect, context.options.tried)?;

    let data = data::data((workload, place), scenario.data_rows.as_ref(), &mut vars, (&choice.driver, dialect))?;
    let (mut roles, used) = roles::resolve(scenario, workload, &vars)?;
    let warmup_ms = roles::warm_up(&mut roles, scenario, &vars)?;
    let mut transactions = transactions::resolve(workload, &used, (&vars, dialect), scenario.begin)?;
    let is_dimension = dimensions.contains_key("begin");
    let own_begins = transactions::own_begins(workload, &used, (&vars, dialect), scenario, is_dimension)?;
    transactions::check_yielded(&roles, &transactions)?;
    let metrics = asked_for(context.study, scenario);
    let timed_rows = metrics.iter().any(of_rows);
    transactions.iter_mut().for_each(|t| t.timed_rows = timed_rows);
    let databases = scenario.databases.as_ref().map_or(Ok(1), |q| q.integer(&vars, 1, 1024))? as u32;
    let workers = roles.iter().map(|role| i64::from(role.workers)).sum::<i64>() * i64::from(databases);
    if workers > roles::MAX_WORKERS {
        let most = roles::MAX_WORKERS;
        return Err(format!(
            "{workers} workers in all ({databases} databases, each with all roles): allowed are {most}"
        )
        .into());
    }
    let duration_ms = roles::duration_ms(&roles);
    let longest_us = transactions.iter().map(Transaction::paused_us).max().unwrap_or_default();
    let drain_ms = DRAIN_MS.max(DRAIN_PAUSES * longest_us / 1_000);
    let mut trial = Trial {
        protocol: litelab_protocol::VERSION,
        id: String::new(),
        // The name in the study; the engine maps it to a runner and the runner's own name.
        driver: choice.driver.clone(),
        executor: scenario.executor.unwrap_or(Executor::Threads),
        sharing: choice.sharing,
        databases: Vec::new(),
        connection: Connection {
            settings: settings.iter().filter_map(on_connection).collect(),
            read_back: profiles::read_back(&settings, dialect),
            options: options(&scenario.options, &vars)?,
        },
        prepare: if scenario.prepare.unwrap_or(true) { Prepare::Once } else { Prepare::Each },
        retry,
        seed: context.options.seed.unwrap_or(1),
        transactions,
        roles,
        warmup_ms,
        drain_ms,
        tick_ms: TICK_MS,
        probe_ms: if metrics.iter().any(of_probe) { PROBE_MS } else { IDLE_PROBE_MS },
        runtime_threads: scenario
            .runtime_threads
            .as_ref()
            .map(|q| q.integer(&vars, 1, 1024))
            .transpose()?
            .map(|n| n as u32),
    };
    let location = scenario.location.unwrap_or_default();
    let processes = processes(scenario, &trial, &vars)?;
    check_combination(&trial, location, processes)?;
    if let (Some(server), true) = (server, location != Location::File) {
        return Err(format!("`location` has no effect on server `{server}`: leave it out").into());
    }
    if trial.executor == Executor::Processes {
        roles::check_processes(&trial.roles)?;
    }
    let varied = |search: &&Search| dimensions.contains_key(&format!("{}.rate", search.rate));
    if let Some(Search { rate: role, .. }) = scenario.search.as_ref().filter(varied) {
        return Err(format!("dimension `{role}.rate` has no effect: the search gives role `{role}` its rate").into());
    }
    let search = scenario.search.as_ref().map(|s| conditions::search(s, &mut trial, &vars));
    let search = search.transpose().map_err(|e| format!("search: {e}"))?;
    let kill = scenario.kill.as_ref().map(|k| conditions::kill(k, &mut trial, server, &mut vars));
    let kill = kill.transpose().map_err(|e| format!("kill: {e}"))?;
    let schema = data::schema(workload, scenario.schema.as_deref(), (&vars, dialect))?;
    let pauses = scenario.pauses.as_ref().map_or(Ok(0), |pauses| pauses.micros(&vars));
    let pauses = pauses.map_err(|e| format!("pauses: {e}"))?;
    let failed_at_most = failed_at_most(scenario, &vars)?;
    Ok(Variant {
        scenario: index,
        dimensions: dimensions.clone(),
        driver: choice.driver.clone(),
        dialect,
        server,
        profile: profile.name.clone(),
        settings,
        location,
        databases,
        schema,
        data,
        invariants: invariants::invariants(
            workload,
            &scenario.invariants,
            (&used, &choice.driver, dialect),
            warmup_ms,
            &vars,
        )?,
        content: scenario.content.clone().unwrap_or_else(|| workload.content.clone()),
        duration_ms,
        processes,
        trial,
        own_begins,
        search,
        kill,
        ceiling: (pauses > 0).then(|| 1e6 / pauses as f64),
        failed_at_most,
        vars,
        skipped: None,
    })
}

/// The setting in the form of the protocol; `None` for a setting of the whole server.
fn on_connection(setting: &Setting) -> Option<litelab_protocol::Setting> {
    Some(litelab_protocol::Setting { name: setting.name.clone(), sql: setting.sql.clone()? })
}

/// The largest share of failed transactions.
fn failed_at_most(scenario: &Scenario, vars: &Vars) -> Result<f64, String> {
    let Some(stated) = &scenario.failed_at_most else { return Ok(plan::failed_at_most()) };
    let share = match stated.text() {
        Some(text) if text.ends_with('%') => with_unit(text).map(|(share, _)| share),
        _ => stated.number(vars),
    };
    let share = share.map_err(|e| format!("failed_at_most: {e}"))?;
    if !(0.0..=1.0).contains(&share) {
        return Err(format!("failed_at_most is {share}: it is a share from 0 to 1: write \"5 %\" or 0.05"));
    }
    Ok(share)
}

/// The metrics that the study requests for a scenario: its own, those of its alerts and its search, and those of claims,
/// findings and crossovers about it.
fn asked_for<'a>(study: &'a Study, scenario: &'a Scenario) -> Vec<Metric> {
    let claims = study
        .claims
        .iter()
        .filter(|c| c.scenario == scenario.name || c.against_scenario.as_ref().is_some_and(|s| *s == scenario.name));
    let findings = study.findings.iter().flat_map(|f| f.values.values()).filter(|v| v.scenario == scenario.name);
    let of_claim = |c: &'a Claim| std::iter::once(&c.metric).chain(&c.against_metric).chain(&c.beside);
    let limits = scenario.alerts.iter().chain(scenario.search.iter().flat_map(|search| &search.holds));
    let crossovers = study.crossovers.iter().filter(|c| c.scenarios.contains(&scenario.name)).flat_map(|c| &c.metrics);
    let own = scenario.metrics.iter().chain(limits.map(|limit| &limit.metric));
    let named = own.chain(claims.flat_map(of_claim)).chain(findings.map(|v| &v.metric)).chain(crossovers);
    named.filter_map(|name| name.parse().ok()).collect()
}

/// Whether the metric needs the times until the query returns or until its first row.
fn of_rows(metric: &Metric) -> bool {
    matches!(metric.measure, Measure::Latency(Timing::Query | Timing::FirstRow, _))
}

/// Whether the metric needs the host probe.
fn of_probe(metric: &Metric) -> bool {
    matches!(metric.measure, Measure::Latency(Timing::Probe | Timing::PoolWait, _) | Measure::Utilization)
}

/// Options of the driver with their variables substituted. The text `"$name"` alone becomes the variable's own value, a
/// number or a boolean.
fn options(
    options: &IndexMap<String, Scalar>,
    vars: &Vars,
) -> Result<std::collections::BTreeMap<String, serde_json::Value>, String> {
    let value = |name: &str, value: &Scalar| match value {
        Scalar::Text(text) => match text.strip_prefix('$').and_then(|variable| vars.get(variable)) {
            Some(variable) => Ok(variable.to_json()),
            None => crate::sql::substitute(text, vars).map(Into::into).map_err(|e| format!("options.{name}: {e}")),
        },
        other => Ok(other.to_json()),
    };
    options.iter().map(|(name, given)| Ok((name.clone(), value(name, given)?))).collect()
}

/// The number of processes among which the workers are divided.
fn processes(scenario: &Scenario, trial: &Trial, vars: &Vars) -> Result<Option<u32>, String> {
    let Some(stated) = &scenario.processes else { return Ok(None) };
    if trial.executor != Executor::Processes {
        return Err("`processes` divides the workers of executor `processes`: state `executor = \"processes\"`".into());
    }
    if scenario.kill.is_some() {
        return Err("`processes` and `kill` exclude each other: a kill is of the process of one worker".into());
    }
    let least = trial.roles.iter().map(|role| role.workers).min().unwrap_or(1);
    let processes = stated.integer(vars, 1, i64::from(least));
    let processes = processes.map_err(|e| format!("processes: {e}, for each has a worker of every role"))?;
    Ok(Some(processes as u32))
}

fn check_combination(trial: &Trial, location: Location, processes: Option<u32>) -> Result<(), String> {
    let workers: u32 = trial.roles.iter().map(|r| r.workers).sum();
    if location == Location::Memory {
        let one = match trial.sharing {
            Sharing::OneConnection | Sharing::Pool { connections: 1 } => true,
            Sharing::OwnConnection | Sharing::AppLock => workers == 1,
            _ => false,
        };
        if !one {
            return Err(format!(
                "location `memory` is private to one connection, and sharing `{}` with {workers} workers opens several: use \
                 `memory-shared`, or sharing `one-connection`",
                trial.sharing
            ));
        }
    }
    if trial.executor == Executor::Processes {
        if location != Location::File {
            return Err("processes cannot share a database in memory: use location `file`".into());
        }
        if trial.sharing != Sharing::OwnConnection && processes.is_none() {
            return Err(format!(
                "executor `processes` has one worker in each process, so sharing `{}` has nothing to share: use \
                 `own-connection`, or state how many `processes` there are",
                trial.sharing
            ));
        }
    }
    Ok(())
}
