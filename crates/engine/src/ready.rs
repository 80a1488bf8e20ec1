//! Checks before a run file is created: compiles SQL, queries the runners, starts servers, captures the host
//! environment.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use litelab_model::{Plan, Server};
use litelab_observe::environment::Environment;
use litelab_protocol::{Description, Executor};
use litelab_record::ServerRecord;

use crate::error::EngineError;
use crate::runner::{Absent, Runners, check_support};
use crate::scratch::Scratch;
use crate::servers::{Servers, Urls};

/// A plan that has passed all checks on this machine.
#[derive(Debug)]
pub struct Ready {
    pub(crate) plan: Plan,
    /// Description of each runner, by its name.
    pub(crate) descriptions: BTreeMap<String, Description>,
    pub(crate) environment: Environment,
    /// Servers that the plan needs, started.
    pub(crate) servers: Servers,
    pub(crate) scratch: Scratch,
}

/// Resources of a run other than its plan.
#[derive(Clone, Copy, Debug)]
pub struct With<'a> {
    /// Directory whose disk is under test.
    pub directory: &'a Path,
    /// Servers given by the user.
    pub urls: &'a Urls,
    /// Installed runners.
    pub runners: &'a Runners,
    /// Stop flag: setting it aborts the start of a server or the query of a runner.
    pub stop: Option<&'a AtomicBool>,
}

impl Ready {
    /// Checks a plan for a run in a directory. Variants of a run file that were skipped stay skipped, because additional
    /// variants would widen every interval of their scenario.
    ///
    /// # Errors
    /// The first obstacle to the run.
    pub fn check(mut plan: Plan, with: With<'_>) -> Result<Self, EngineError> {
        crate::compile::compile(&mut plan)?;
        let descriptions = describe(&mut plan, with)?;
        let scratch = Scratch::make(with.directory)?;
        let servers = provide(&mut plan, with)?;
        crate::servers::compile(&plan, &servers)?;
        // In the scratch folder, which the next litelab in this directory removes if this process is killed.
        let environment = Environment::capture(&scratch.root);
        Ok(Self { plan, descriptions, environment, servers, scratch })
    }

    /// The plan with its statements compiled; variants that cannot run here are marked as skipped.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Descriptions of the runners that the plan needs.
    pub fn runners(&self) -> impl Iterator<Item = &Description> {
        self.descriptions.values()
    }

    /// Records of the servers that the plan needs.
    #[must_use]
    pub fn servers(&self) -> BTreeMap<Server, ServerRecord> {
        self.servers.records()
    }

    /// Host environment.
    #[must_use]
    pub fn environment(&self) -> &Environment {
        &self.environment
    }
}

/// Like [`examine`], with an error if every variant is skipped. Variants that were skipped before stay so.
pub(crate) fn describe(plan: &mut Plan, with: With<'_>) -> Result<BTreeMap<String, Description>, EngineError> {
    let skipped: Vec<_> = plan.variants.iter().map(|variant| variant.skipped.clone()).collect();
    let descriptions = examine(plan, with.runners, with.stop)?;
    some_variant(plan)?;
    for (variant, before) in plan.variants.iter_mut().zip(skipped) {
        variant.skipped = before.or(variant.skipped.take());
    }
    Ok(descriptions)
}

/// Checks each variant of a plan against its driver as a run does, and marks variants that would be skipped. Returns
/// the names of the runners that a run would build first, whose variants are not checked.
///
/// # Errors
/// A driver that no runner has, or that does not support its variant.
pub fn foresee(plan: &mut Plan, runners: &Runners, stop: Option<&AtomicBool>) -> Result<BTreeSet<String>, EngineError> {
    let mut unbuilt = BTreeSet::new();
    let drivers: Vec<String> = plan.variants.iter().map(|variant| variant.driver.clone()).collect();
    examine(plan, runners, stop)?;
    for (variant, driver) in plan.variants.iter_mut().zip(drivers) {
        let runner = runners.driver(&driver)?.runner;
        if runner.needs_build() && runner.missing().is_empty() {
            unbuilt.insert(runner.manifest.name.clone());
            variant.skipped = None;
        }
    }
    Ok(unbuilt)
}

/// Queries every runner the plan needs, and checks that each driver supports its variants. Variants whose runner or
/// driver is missing are skipped, so that a missing toolchain does not block the other variants.
fn examine(
    plan: &mut Plan,
    runners: &Runners,
    stop: Option<&AtomicBool>,
) -> Result<BTreeMap<String, Description>, EngineError> {
    let mut descriptions = BTreeMap::new();
    let mut missing: BTreeMap<String, String> = BTreeMap::new();
    let mut absent = Vec::new();
    let put_on = !plan.drivers.is_empty();
    for index in 0..plan.variants.len() {
        let variant_name = plan.variant_name(index);
        let here = |e: String| EngineError::BadInput(format!("{variant_name}: {e}"));
        let variant = &plan.variants[index];
        let driver = runners.driver(&variant.driver).map_err(|e| here(e.to_string()))?;
        let name = &driver.runner.manifest.name;
        if !descriptions.contains_key(name) && !missing.contains_key(name) {
            match driver.runner.describe(stop) {
                Ok((description, not_here)) => {
                    descriptions.insert(name.clone(), description);
                    absent.extend(not_here);
                }
                Err(EngineError::Interrupted) => return Err(EngineError::Interrupted),
                Err(e) => drop(missing.insert(name.clone(), e.to_string())),
            }
        }
        let described =
            descriptions.get(name).and_then(|d: &Description| d.drivers.iter().find(|d| d.name == driver.name));
        // Threads are the default of a study that names no executor; a substituted driver may support only another one.
        let executor = described.and_then(|described| described.executors.first().filter(|_| put_on));
        if let Some(other) = executor.filter(|_| variant.trial.executor == Executor::Threads)
            && !variant.dimensions.contains_key("executor")
            && described.is_some_and(|described| !described.executors.contains(&Executor::Threads))
        {
            plan.variants[index].trial.executor = *other;
        }
        let variant = &mut plan.variants[index];
        let skipped = match (described, missing.get(name)) {
            (Some(described), _) => match check_support(described, variant) {
                Ok(()) => None,
                // The study was not written for this driver.
                Err(e) if put_on => Some(e),
                Err(e) => return Err(here(e)),
            },
            (None, Some(reason)) => Some(reason.clone()),
            // The manifest's drivers are all described or absent.
            (None, None) => absent.iter().find(|a| a.runner == *name && a.driver == driver.name).map(Absent::to_string),
        };
        variant.trial.driver = driver.name;
        variant.skipped = skipped;
    }
    Ok(descriptions)
}

/// Starts the servers that the plan needs; variants whose server is not installed are skipped.
pub(crate) fn provide(plan: &mut Plan, with: With<'_>) -> Result<Servers, EngineError> {
    let mut servers = Servers::new(with.directory, with.urls.clone());
    servers.provide(plan, with.stop)?;
    some_variant(plan)?;
    Ok(servers)
}

/// Returns an error if every variant is skipped.
fn some_variant(plan: &Plan) -> Result<(), EngineError> {
    match plan.variants.iter().find_map(|variant| variant.skipped.clone()) {
        Some(reason) if plan.variants.iter().all(|variant| variant.skipped.is_some()) => {
            Err(EngineError::Failed(reason))
        }
        _ => Ok(()),
    }
}
