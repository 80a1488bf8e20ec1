//! From a study's text to a plan: inheritance, defaults, variables and expressions end here.

mod arms;
mod claims;
mod conditions;
mod crossovers;
mod defaults;
mod invariants;
mod profiles;
pub use invariants::COUNTS;
pub use profiles::{check as check_profile, input, rendered};
mod roles;
mod transactions;

use std::collections::BTreeMap;
use std::path::Path;

use indexmap::IndexMap;
use litelab_protocol::{Access, Connection, Dialect, Executor, Prepare, Trial};

use crate::error::{ModelError, unknown};
use crate::library::{self, Text};
use crate::metric::{Measure, Metric, Timing};
use crate::plan::{Arm, DataPlan, Plan, ScenarioPlan};
use crate::quantity::{Scalar, Vars};
use crate::study::{Location, Scenario, Study};
use crate::workload::Workload;

/// What the command line may change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The study's `quick` scale.
    pub quick: bool,
    /// Blocks of every scenario.
    pub blocks: Option<u32>,
    /// Seed; 1 unless told otherwise.
    pub seed: Option<u64>,
    /// Only these scenarios.
    pub only: Vec<String>,
    /// Variables, over everything else.
    pub vars: Vars,
    /// What the database of a driver understands, by each of its names (`postgres`, `go:postgres`); of those that are not
    /// here, SQLite.
    pub dialects: BTreeMap<String, Dialect>,
    /// Runs every scenario's baseline a second time, as an arm of its own.
    pub aa: bool,
}

/// Name of the dimension that tells the second of two identical arms apart.
pub const AA: &str = "aa";

/// Interval of ticks in milliseconds.
const TICK_MS: u64 = 100;
/// Interval of the host probe in milliseconds.
const PROBE_MS: u64 = 10;

/// Where things are looked up and how errors are named.
struct Context<'a> {
    study: &'a Study,
    file: &'a str,
    directory: Option<&'a Path>,
    options: &'a Options,
}

impl Context<'_> {
    fn error(&self, message: impl Into<String>) -> ModelError {
        ModelError::new(self.file, message)
    }

    fn scenario_error(&self, scenario: &Scenario, message: impl std::fmt::Display) -> ModelError {
        self.error(format!("scenario `{}`: {message}", scenario.name))
    }
}

/// Resolves a study.
///
/// # Errors
/// The first thing that is wrong, with its file and, where it is known, its place.
pub fn resolve(study: &Study, text: &Text, options: &Options) -> Result<Plan, ModelError> {
    let context = Context { study, file: &text.file, directory: text.directory.as_deref(), options };
    if study.scenarios.is_empty() {
        return Err(context.error("it has no scenario: add a [[scenario]]"));
    }
    if !(study.tolerance > 0.0 && study.tolerance < 1.0) {
        return Err(context.error(format!("tolerance is {}: it must lie between 0 and 1", study.tolerance)));
    }
    defaults::check(study).map_err(|e| context.error(e))?;
    for name in &options.only {
        if !study.scenarios.iter().any(|s| s.name == *name) {
            return Err(context.error(unknown("scenario", name, study.scenarios.iter().map(|s| s.name.as_str()))));
        }
    }
    let mut plan = Plan {
        study: study.name.clone(),
        title: study.title.clone(),
        source: study.source.clone(),
        quick: options.quick,
        seed: options.seed.unwrap_or(1),
        tolerance: study.tolerance,
        scenarios: Vec::new(),
        arms: Vec::new(),
        claims: Vec::new(),
        left_out: Vec::new(),
        findings: Vec::new(),
        crossovers: Vec::new(),
    };
    if plan.seed > litelab_protocol::MAX_SAFE_INTEGER {
        return Err(context.error(format!("seed {} is above 2^53", plan.seed)));
    }
    let mut seen: Vec<&str> = Vec::new();
    for scenario in &study.scenarios {
        if seen.contains(&scenario.name.as_str()) {
            return Err(context.error(format!("two scenarios are named `{}`", scenario.name)));
        }
        seen.push(&scenario.name);
        if options.only.is_empty() || options.only.contains(&scenario.name) {
            add_scenario(&context, &defaults::inherit(study, scenario), &mut plan)?;
        }
    }
    (plan.claims, plan.left_out) = claims::claims(&context, &plan)?;
    plan.findings = claims::findings(&context, &plan)?;
    plan.crossovers = crossovers::crossovers(&context, &plan)?;
    Ok(plan)
}

fn add_scenario(context: &Context<'_>, scenario: &Scenario, plan: &mut Plan) -> Result<(), ModelError> {
    let name = scenario.workload.as_deref();
    let name = name.ok_or_else(|| context.scenario_error(scenario, "it has no `workload`, nor has the study"))?;
    let (workload, workload_text) = library::workload(name, context.directory)?;
    let place = workload_text.directory.as_deref();
    let quick = scenario.quick.as_ref().filter(|_| context.options.quick);
    let vars = variables(context, scenario, &workload)?;
    let combinations = arms::combinations(scenario, quick).map_err(|e| context.scenario_error(scenario, e))?;
    let mut metrics = Vec::new();
    for name in &scenario.metrics {
        metrics.push(name.parse::<Metric>().map_err(|e| context.scenario_error(scenario, e))?);
    }
    if metrics.is_empty() {
        for name in ["throughput", "p50", "p99"] {
            metrics.push(name.parse::<Metric>().map_err(|e| context.scenario_error(scenario, e))?);
        }
    }
    let alerts = scenario.alerts.iter().map(conditions::limit).collect::<Result<Vec<_>, _>>();
    let alerts = alerts.map_err(|e| context.scenario_error(scenario, format!("alert: {e}")))?;
    let timeline = scenario.timeline;
    if timeline.is_some_and(|windows| !(1..=100).contains(&windows)) {
        return Err(context.scenario_error(scenario, "timeline: allowed is 1 to 100 windows"));
    }
    let known = workload.transactions.keys().map(String::as_str);
    let named = metrics.iter().chain(alerts.iter().map(|limit| &limit.metric));
    let unheard = named.filter_map(|m| m.of_transaction()).find(|t| !workload.transactions.contains_key(*t));
    if let Some(name) = unheard {
        return Err(context.scenario_error(scenario, unknown("transaction", name, known)));
    }
    let first = plan.arms.len();
    let index = plan.scenarios.len();
    for dimensions in &combinations {
        let arm = arm(context, scenario, (&workload, place), &vars, dimensions, index).map_err(|e| {
            let label = dimensions.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(" ");
            match (e, label.is_empty()) {
                (ArmError::File(e), _) => e,
                (ArmError::Here(e), true) => context.scenario_error(scenario, e),
                (ArmError::Here(e), false) => context.scenario_error(scenario, format!("arm {label}: {e}")),
            }
        })?;
        plan.arms.push(arm);
    }
    let baseline = match &scenario.baseline {
        None => first,
        Some(selector) => {
            first
                + arms::select(&plan.arms[first..], selector)
                    .map_err(|e| context.scenario_error(scenario, format!("baseline: {e}")))?
        }
    };
    let mut dimensions = arms::dimension_names(&combinations);
    if let Some(name) = &scenario.usl {
        arms::check_usl(&plan.arms[first..], name, &dimensions).map_err(|e| context.scenario_error(scenario, e))?;
    }
    if context.options.aa {
        let mut twin = plan.arms[baseline].clone();
        twin.dimensions.insert(AA.into(), Scalar::Text("twin".into()));
        plan.arms.push(twin);
        dimensions.push(AA.into());
    }
    let blocks = context
        .options
        .blocks
        .or(quick.and_then(|q| q.blocks))
        .or(context.study.quick.as_ref().filter(|_| context.options.quick).and_then(|q| q.blocks))
        .or(scenario.blocks)
        .unwrap_or(context.study.blocks);
    if !(1..=10_000).contains(&blocks) {
        return Err(context.scenario_error(scenario, format!("blocks is {blocks}: allowed is 1 to 10000")));
    }
    plan.scenarios.push(ScenarioPlan {
        name: scenario.name.clone(),
        question: scenario.question.clone(),
        blocks,
        dimensions,
        baseline,
        metrics,
        alerts,
        usl: scenario.usl.clone(),
        effects: scenario.effects,
        timeline: timeline.unwrap_or_default(),
    });
    Ok(())
}

/// Variables from the general to the particular: workload, study, scenario, quick of each, command line. What `quick`
/// and the command line name must have been declared before, so that a misspelt one is found.
fn variables(context: &Context<'_>, scenario: &Scenario, workload: &Workload) -> Result<Vars, ModelError> {
    let mut vars = workload.vars.clone();
    vars.extend(context.study.vars.clone());
    vars.extend(scenario.vars.clone());
    let study_quick = context.study.quick.as_ref().filter(|_| context.options.quick);
    let quick = scenario.quick.as_ref().filter(|_| context.options.quick);
    if let Some(quick) = study_quick {
        // The study's quick variables may belong to other scenarios' workloads.
        for (name, value) in &quick.vars {
            if vars.contains_key(name) {
                vars.insert(name.clone(), value.clone());
            }
        }
    }
    let over = quick.map(|q| &q.vars).into_iter().chain([&context.options.vars]).flatten();
    for (name, value) in over {
        if !vars.contains_key(name) {
            let message = unknown("variable", name, vars.keys().map(String::as_str));
            return Err(context.scenario_error(scenario, message));
        }
        vars.insert(name.clone(), value.clone());
    }
    Ok(vars)
}

/// An error in the study itself, or in a file it names.
enum ArmError {
    Here(String),
    File(ModelError),
}

impl From<String> for ArmError {
    fn from(message: String) -> Self {
        Self::Here(message)
    }
}

impl From<ModelError> for ArmError {
    fn from(error: ModelError) -> Self {
        Self::File(error)
    }
}

fn arm(
    context: &Context<'_>,
    scenario: &Scenario,
    (workload, place): (&Workload, Option<&Path>),
    vars: &Vars,
    dimensions: &IndexMap<String, Scalar>,
    index: usize,
) -> Result<Arm, ArmError> {
    let mut vars = vars.clone();
    let choice = arms::Choice::new(scenario, dimensions, &mut vars)?;
    let dialect = context.options.dialects.get(&choice.driver).copied().unwrap_or_default();
    let server = choice.server_of(dialect)?;
    let unless_stated = if dialect.is_sqlite() { "wal-normal" } else { "as-it-comes" };
    let name = choice.profile.as_deref().unwrap_or(unless_stated);
    let (mut profile, text) = library::profile(name, context.directory)?;
    profiles::suit(&mut profile, &choice.driver, dialect)?;
    profiles::change(&mut profile, &choice.pragmas)?;
    profiles::change_settings(&mut profile, &choice.settings)?;
    let retry = profiles::check_for(&profile, &text, dialect)?;

    let data_rows = match (&choice.data_rows, &workload.data) {
        (Some(q), Some(_)) => q.integer(&vars, 0, 1 << 40)?,
        (Some(_), None) => {
            return Err(format!("`data_rows` is set, but workload `{}` has no [data]", workload.name).into());
        }
        (None, Some(data)) => match &data.rows {
            Some(q) => {
                q.integer(&vars, 0, 1 << 40).map_err(|e| format!("workload `{}`: data.rows: {e}", workload.name))?
            }
            None => 0,
        },
        (None, None) => 0,
    };
    let data = match &workload.data {
        None => None,
        Some(spec) => {
            vars.insert("data_rows".into(), Scalar::Integer(0));
            let transaction = match &spec.transaction {
                Some(name) => Some(transactions::for_data(workload, name, (&vars, dialect))?),
                None if data_rows > 0 => {
                    return Err("`data.rows` needs `data.transaction`, which inserts them".to_owned().into());
                }
                None => None,
            };
            if let (Some(from), false) = (&spec.from, dialect.is_sqlite()) {
                return Err(format!(
                    "data.from: `{from}` is a database of SQLite, and driver `{}` is one of {dialect}",
                    choice.driver
                )
                .into());
            }
            vars.insert("data_rows".into(), Scalar::Integer(data_rows));
            let then = spec
                .then
                .as_ref()
                .map(|then| then.of(dialect).and_then(|sql| crate::sql::substitute_in(sql, &vars, dialect)));
            Some(DataPlan {
                from: spec.from.as_ref().map(|p| resolve_path(p, place)),
                transaction,
                rows: data_rows as u64,
                then: then.transpose().map_err(|e| format!("workload `{}`: data.then: {e}", workload.name))?,
            })
        }
    };
    vars.insert("data_rows".into(), Scalar::Integer(data_rows));

    let (roles, used) = roles::resolve(scenario, workload, &vars, &choice)?;
    let mut transactions = transactions::resolve(workload, &used, (&vars, dialect), choice.begin)?;
    let timed_rows = asks_for_rows(context.study, scenario);
    transactions.iter_mut().for_each(|t| t.timed_rows = timed_rows);
    let databases = choice.databases.as_ref().map_or(Ok(1), |q| q.integer(&vars, 1, 1024))? as u32;
    let warmup_ms = match &scenario.warmup {
        None => 0,
        Some(q) => q.micros(&vars).map_err(|e| format!("warmup: {e}"))? / 1000,
    };
    let duration_ms = roles::duration_ms(&roles);
    if duration_ms.is_some_and(|d| d <= warmup_ms) {
        return Err(format!("the warm-up of {warmup_ms} ms leaves nothing of the trial to measure").into());
    }
    let mut trial = Trial {
        protocol: litelab_protocol::VERSION,
        id: String::new(),
        // As the study names it; the engine knows which runner has it, and by which name.
        driver: choice.driver.clone(),
        executor: choice.executor,
        access: choice.access,
        databases: Vec::new(),
        connection: Connection {
            pragmas: profiles::rendered(&profile),
            read_back: profiles::read_back(&profile),
            options: options(&scenario.options, &vars)?,
        },
        prepare: if choice.prepare { Prepare::Once } else { Prepare::Each },
        retry,
        seed: context.options.seed.unwrap_or(1),
        transactions,
        roles,
        warmup_ms,
        tick_ms: TICK_MS,
        probe_ms: PROBE_MS,
        runtime_threads: choice
            .runtime_threads
            .as_ref()
            .map(|q| q.integer(&vars, 1, 1024))
            .transpose()?
            .map(|n| n as u32),
    };
    check_combination(&trial, choice.location)?;
    if let (Some(server), true) = (server, choice.location != Location::File) {
        return Err(format!("`location` has no effect on server `{server}`: leave it out").into());
    }
    if trial.executor == Executor::Processes {
        roles::check_processes(&trial.roles)?;
    }
    if let Some(search) = scenario.search.as_ref().filter(|s| choice.rate.contains_key(&s.rate)) {
        let role = &search.rate;
        return Err(format!("dimension `{role}.rate` has no effect: the search gives role `{role}` its rate").into());
    }
    let search = scenario.search.as_ref().map(|s| conditions::search(s, &mut trial, &vars));
    let search = search.transpose().map_err(|e| format!("search: {e}"))?;
    let kill = scenario.kill.as_ref().map(|k| conditions::kill(k, &mut trial, server, &mut vars));
    let kill = kill.transpose().map_err(|e| format!("kill: {e}"))?;
    let schema = schema(workload, choice.schema.as_deref(), (&vars, dialect))?;
    let pauses = scenario.pauses.as_ref().map_or(Ok(0), |pauses| pauses.micros(&vars));
    let pauses = pauses.map_err(|e| format!("pauses: {e}"))?;
    Ok(Arm {
        scenario: index,
        dimensions: dimensions.clone(),
        driver: choice.driver.clone(),
        dialect,
        server,
        profile: profile.name.clone(),
        pragmas: profile.pragma.clone(),
        settings: profile.setting.clone(),
        server_settings: profiles::for_server(&profile),
        location: choice.location,
        databases,
        schema,
        data,
        invariants: invariants::invariants(workload, &scenario.invariants, (&used, &choice.driver, dialect), &vars)?,
        content: scenario.content.clone().unwrap_or_else(|| workload.content.clone()),
        duration_ms,
        trial,
        search,
        kill,
        ceiling: (pauses > 0).then(|| 1e6 / pauses as f64),
        vars,
        skipped: None,
    })
}

/// Whether any metric that the study names for a scenario is of the time to the query's return or to its first row.
fn asks_for_rows(study: &Study, scenario: &Scenario) -> bool {
    let claims = study
        .claims
        .iter()
        .filter(|c| c.scenario == scenario.name || c.against_scenario.as_ref().is_some_and(|s| *s == scenario.name));
    let findings = study.findings.iter().flat_map(|f| f.values.values()).filter(|v| v.scenario == scenario.name);
    let named = scenario.metrics.iter().chain(claims.map(|c| &c.metric)).chain(findings.map(|v| &v.metric));
    named
        .filter_map(|name| name.parse::<Metric>().ok())
        .any(|metric| matches!(metric.measure, Measure::Latency(Timing::Query | Timing::FirstRow, _)))
}

/// Options of the driver with their variables put in. `"$name"` alone is the variable as it is, a number or a truth.
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

fn schema(workload: &Workload, variant: Option<&str>, (vars, dialect): (&Vars, Dialect)) -> Result<String, String> {
    let sql = match variant {
        None | Some("default") => &workload.schema.sql,
        Some(name) => workload.schema.variant.get(name).ok_or_else(|| {
            unknown("schema variant", name, workload.schema.variant.keys().map(String::as_str).chain(["default"]))
        })?,
    };
    sql.of(dialect)
        .and_then(|sql| crate::sql::substitute_in(sql, vars, dialect))
        .map_err(|e| format!("workload `{}`: schema: {e}", workload.name))
}

fn check_combination(trial: &Trial, location: Location) -> Result<(), String> {
    let workers: u32 = trial.roles.iter().map(|r| r.workers).sum();
    if location == Location::Memory {
        let one = match trial.access {
            Access::Shared | Access::Pool { connections: 1 } => true,
            Access::PerWorker | Access::WriteLock => workers == 1,
            _ => false,
        };
        if !one {
            return Err(format!(
                "location `memory` is private to one connection, and access `{}` with {workers} workers opens several: use \
                 `memory-shared`, or access `shared`",
                trial.access
            ));
        }
    }
    if trial.executor == Executor::Processes {
        if location != Location::File {
            return Err("processes cannot share a database in memory: use location `file`".into());
        }
        if trial.access != Access::PerWorker {
            return Err(format!(
                "executor `processes` has one worker in each process, so access `{}` has nothing to share: use `per-worker`",
                trial.access
            ));
        }
    }
    Ok(())
}

/// A path in a workload is relative to the workload; it must hold for processes in other directories, too.
fn resolve_path(path: &str, directory: Option<&Path>) -> String {
    let path = directory.map_or_else(|| Path::new(path).to_path_buf(), |dir| dir.join(path));
    std::path::absolute(&path).unwrap_or(path).display().to_string()
}
