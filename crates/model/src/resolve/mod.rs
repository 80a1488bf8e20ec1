//! Resolution of a study into a plan: inheritance, defaults, variables and expressions.

mod claims;
mod conditions;
mod crossovers;
mod data;
mod defaults;
mod invariants;
mod profiles;
mod roles;
mod transactions;
mod variant;
mod variants;

use std::collections::BTreeMap;
use std::path::Path;

use litelab_protocol::Dialect;

use crate::error::{ModelError, lookup, unknown};
use crate::library::{self, Text};
use crate::metric::Metric;
use crate::plan::{Given, Plan, ScenarioPlan};
use crate::pragma::Try;
use crate::quantity::{Scalar, Vars};
use crate::study::{Scenario, Study};
use crate::workload::Workload;

pub use crate::plan::AA;
pub use data::of_workload;
pub use profiles::check as check_profile;

/// Options of the command line that change a plan.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whether the study is resolved with the changes of its `quick` tables.
    pub quick: bool,
    /// Number of rounds of every scenario, even if its intervals need more; default: that of the study.
    pub rounds: Option<u32>,
    /// Seed of all generated values; default: 1.
    pub seed: Option<u64>,
    /// Names of the scenarios to resolve; default: all.
    pub only: Vec<String>,
    /// Variables, which override all others.
    pub vars: Vars,
    /// Drivers for every scenario, in place of its own; default: those of the study.
    pub drivers: Vec<String>,
    /// SQL dialect by driver, under each name of the driver (`postgres`, `go:postgres`); default for a missing driver:
    /// SQLite.
    pub dialects: BTreeMap<String, Dialect>,
    /// Whether the baseline of every scenario runs a second time, as an additional variant.
    pub aa: bool,
    /// Queries a SQLite for the effect of a refused value, to explain it in the error message.
    pub tried: Option<Try>,
}

/// The study with the directory of its files, its options, and its name for errors.
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
}

/// An error in a scenario itself, or in a file that it refers to.
enum ScenarioError {
    Here(String),
    File(ModelError),
}

impl ScenarioError {
    /// The error with its place before the message.
    fn at(self, place: &str) -> Self {
        match self {
            Self::Here(message) => Self::Here(format!("{place}: {message}")),
            file => file,
        }
    }
}

impl<T: Into<String>> From<T> for ScenarioError {
    fn from(message: T) -> Self {
        Self::Here(message.into())
    }
}

/// Resolves a study.
///
/// # Errors
/// The first error, with its file and, if known, its position.
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
        drivers: options.drivers.clone(),
        given: Given {
            rounds: options.rounds,
            only: options.only.clone(),
            vars: options.vars.clone(),
            aa: options.aa,
            combined: false,
        },
        ..Plan::default()
    };
    if plan.seed > litelab_protocol::MAX_SAFE_INTEGER {
        return Err(context.error(format!("seed {} is above 2^53", plan.seed)));
    }
    let (mut seen, mut workloads): (Vec<&str>, Vec<(Workload, Text)>) = Default::default();
    for scenario in &study.scenarios {
        if seen.contains(&scenario.name.as_str()) {
            return Err(context.error(format!("two scenarios are named `{}`", scenario.name)));
        }
        seen.push(&scenario.name);
        if options.only.is_empty() || options.only.contains(&scenario.name) {
            let added = add_scenario(&context, &defaults::inherit(study, scenario), &mut plan, &mut workloads);
            added.map_err(|e| match e.at(&format!("scenario `{}`", scenario.name)) {
                ScenarioError::Here(message) => context.error(message),
                ScenarioError::File(e) => e,
            })?;
        }
    }
    // Other scenarios' workloads can have further variables.
    if options.only.is_empty() {
        check_variables(study, text, &workloads, &plan).map_err(|e| context.error(e))?;
    }
    (plan.claims, plan.left_out) = claims::claims(&context, &plan)?;
    plan.findings = claims::findings(&context, &plan)?;
    plan.crossovers = crossovers::crossovers(&context, &plan)?;
    // `--rounds` is allowed to set fewer.
    if options.rounds.is_none() {
        for index in 0..plan.scenarios.len() {
            plan.scenarios[index].rounds = plan.scenarios[index].rounds.max(plan.least_rounds(index));
        }
    }
    Ok(plan)
}

/// Checks that each variable of the study and of its scenarios has an effect: a workload declares it, a file uses it, or
/// it is a dimension.
fn check_variables(study: &Study, text: &Text, workloads: &[(Workload, Text)], plan: &Plan) -> Result<(), String> {
    let uses = |toml: &str, name: &str| {
        let rest = toml.split('$').skip(1).filter_map(|rest| rest.strip_prefix(name));
        rest.into_iter().any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let declared = || workloads.iter().flat_map(|(workload, _)| workload.vars.keys());
    let is_used = |name: &str| {
        declared().any(|declared| declared == name)
            || uses(&text.toml, name)
            || workloads.iter().any(|(_, text)| uses(&text.toml, name))
            || plan.variants.iter().any(|variant| variant.dimensions.contains_key(name))
    };
    let own = || study.vars.keys().chain(study.scenarios.iter().flat_map(|scenario| scenario.vars.keys()));
    if let Some(name) = own().find(|name| !is_used(name)) {
        return Err(format!(
            "`${name}` is used nowhere: {}",
            unknown("variable", name, declared().map(String::as_str))
        ));
    }
    let known = || own().chain(declared()).map(String::as_str);
    let quick = study.quick.iter().flat_map(|quick| quick.vars.keys());
    match quick.into_iter().find(|name| !known().any(|known| known == *name)) {
        Some(name) => Err(format!("quick.vars: {}", unknown("variable", name, known()))),
        None => Ok(()),
    }
}

fn add_scenario(
    context: &Context<'_>,
    scenario: &Scenario,
    plan: &mut Plan,
    workloads: &mut Vec<(Workload, Text)>,
) -> Result<(), ScenarioError> {
    let name = scenario.workload.as_deref();
    let name = name.ok_or("it has no `workload`, nor has the study")?;
    let (workload, workload_text) = library::workload(name, context.directory).map_err(ScenarioError::File)?;
    let place = workload_text.directory.as_deref();
    let quick = scenario.quick.as_ref().filter(|_| context.options.quick);
    let vars = variables(context, scenario, &workload)?;
    let mut combinations = variants::combinations(scenario, quick)?;
    let is_varied = |name: &&String| combinations.iter().any(|dimensions| dimensions.contains_key(*name));
    if let Some(name) = context.options.vars.keys().find(is_varied) {
        return Err(format!("`{name}` is a dimension, and --set does not change its values: edit the study").into());
    }
    let put_on = &context.options.drivers;
    let mut scenario = std::borrow::Cow::Borrowed(scenario);
    if let [only] = put_on.as_slice() {
        scenario.to_mut().driver = Some(only.clone());
    }
    let scenario = &*scenario;
    variants::put_on(&mut combinations, put_on);
    let metrics = match scenario.metrics.as_slice() {
        [] => ["throughput", "p50", "p99"].iter().map(|name| name.parse()).collect::<Result<Vec<Metric>, _>>()?,
        stated => stated.iter().map(|name| name.parse()).collect::<Result<_, _>>()?,
    };
    metrics.iter().try_for_each(Metric::check_of_trial)?;
    let alerts = scenario.alerts.iter().map(conditions::limit).collect::<Result<Vec<_>, _>>();
    let alerts = alerts.map_err(|e| format!("alert: {e}"))?;
    let timeline = scenario.timeline;
    if timeline.is_some_and(|windows| !(1..=ScenarioPlan::MOST_WINDOWS).contains(&windows)) {
        return Err(format!("timeline: allowed is 1 to {} windows", ScenarioPlan::MOST_WINDOWS).into());
    }
    let named = metrics.iter().chain(alerts.iter().map(|limit| &limit.metric));
    for name in named.filter_map(|m| m.of_transaction()) {
        lookup("transaction", name, &workload.transactions)?;
    }
    let first = plan.variants.len();
    let index = plan.scenarios.len();
    for dimensions in &combinations {
        let variant = variant::resolve(context, scenario, (&workload, place), &vars, dimensions, index);
        plan.variants.push(variant.map_err(|e| match dimensions.is_empty() {
            true => e,
            false => e.at(&format!("variant {}", variants::describe(dimensions))),
        })?);
    }
    let baseline = match &scenario.baseline {
        None => first,
        // The selector can name values of the replaced drivers.
        Some(selector) if !put_on.is_empty() => {
            let mut selector = selector.clone();
            selector.shift_remove("driver");
            plan.variants[first..]
                .iter()
                .position(|variant| variants::matches(&variant.dimensions, &selector))
                .map_or(first, |at| first + at)
        }
        Some(selector) => {
            first + variants::select(&plan.variants[first..], selector).map_err(|e| format!("baseline: {e}"))?
        }
    };
    let mut dimensions = variants::dimension_names(&combinations);
    if let Some(name) = &scenario.usl {
        variants::check_usl(&plan.variants[first..], name, &dimensions)?;
    }
    if context.options.aa {
        let mut twin = plan.variants[baseline].clone();
        twin.dimensions.insert(AA.into(), Scalar::Text("twin".into()));
        plan.variants.push(twin);
        dimensions.push(AA.into());
    }
    let rounds = context
        .options
        .rounds
        .or(quick.and_then(|q| q.rounds))
        .or(context.study.quick.as_ref().filter(|_| context.options.quick).and_then(|q| q.rounds))
        .or(scenario.rounds)
        .unwrap_or(context.study.rounds);
    if !(1..=10_000).contains(&rounds) {
        return Err(format!("rounds is {rounds}: allowed is 1 to 10000").into());
    }
    workloads.push((workload, workload_text));
    plan.scenarios.push(ScenarioPlan {
        name: scenario.name.clone(),
        question: scenario.question.clone(),
        rounds,
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

/// The variables of a scenario, in ascending precedence: workload, study, scenario, `quick` of the study and of the
/// scenario, command line. A variable of the scenario's `quick` or the command line must be declared elsewhere, so that
/// a misspelt name is an error.
fn variables(context: &Context<'_>, scenario: &Scenario, workload: &Workload) -> Result<Vars, String> {
    let mut vars = workload.vars.clone();
    vars.extend(context.study.vars.clone());
    vars.extend(scenario.vars.clone());
    let study_quick = context.study.quick.as_ref().filter(|_| context.options.quick);
    let quick = scenario.quick.as_ref().filter(|_| context.options.quick);
    if let Some(quick) = study_quick {
        // The study's quick variables can belong to the workloads of other scenarios.
        for (name, value) in &quick.vars {
            if vars.contains_key(name) {
                vars.insert(name.clone(), value.clone());
            }
        }
    }
    let over = quick.map(|q| &q.vars).into_iter().chain([&context.options.vars]).flatten();
    for (name, value) in over {
        set_variable(&mut vars, name, value)?;
    }
    Ok(vars)
}

/// Gives a variable that was declared before another value.
fn set_variable(vars: &mut Vars, name: &str, value: &Scalar) -> Result<(), String> {
    lookup("variable", name, vars)?;
    vars.insert(name.to_owned(), value.clone());
    Ok(())
}
