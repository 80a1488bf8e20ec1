//! Inheritance: keys of a study that apply to all its scenarios.

use crate::study::{Scenario, Study};

/// The scenario, with the study's keys in the place of its missing ones.
///
/// A study's dimension does not apply to a scenario that varies it itself or sets the corresponding key: if the study
/// varies `profile`, a scenario with `profile = "wal-full"` keeps this one profile.
pub(super) fn inherit(study: &Study, scenario: &Scenario) -> Scenario {
    let mut out = scenario.clone();
    macro_rules! from_study {
        ($($key:ident),*) => { $(if out.$key.is_none() { out.$key.clone_from(&study.$key); })* };
    }
    from_study!(workload, driver, executor, sharing, profile, prepare, location, schema, server, databases, begin);
    from_study!(runtime_threads, warmup, data_rows, failed_at_most);
    if out.metrics.is_empty() {
        out.metrics.clone_from(&study.metrics);
    }
    out.vary =
        study.vary.iter().filter(|(name, _)| !states(scenario, name)).map(|(n, v)| (n.clone(), v.clone())).collect();
    out.vary.extend(scenario.vary.clone());
    out
}

/// Checks that each dimension of the study applies to at least one scenario.
///
/// # Errors
/// The first dimension without effect.
pub(super) fn check(study: &Study) -> Result<(), String> {
    let unused = study.vary.keys().find(|name| study.scenarios.iter().all(|s| states(s, name)));
    match unused {
        Some(name) => Err(format!("vary.{name} has no effect: every scenario states its own")),
        None => Ok(()),
    }
}

/// Whether a scenario itself sets what a dimension would vary.
fn states(scenario: &Scenario, dimension: &str) -> bool {
    let stated = match dimension {
        "driver" => scenario.driver.is_some(),
        "executor" => scenario.executor.is_some(),
        "processes" => scenario.processes.is_some(),
        "sharing" => scenario.sharing.is_some(),
        "profile" => scenario.profile.is_some(),
        "prepare" => scenario.prepare.is_some(),
        "location" => scenario.location.is_some(),
        "schema" => scenario.schema.is_some(),
        "server" => scenario.server.is_some(),
        "databases" => scenario.databases.is_some(),
        "begin" => scenario.begin.is_some(),
        "runtime_threads" => scenario.runtime_threads.is_some(),
        "data_rows" => scenario.data_rows.is_some(),
        "workers" => scenario.roles.values().any(|role| role.workers.is_some()),
        _ => match dimension.split_once('.') {
            Some(("option", name)) => scenario.options.contains_key(name),
            Some((role, "workers")) => scenario.roles.get(role).is_some_and(|r| r.workers.is_some()),
            Some((role, "rate")) => scenario.roles.get(role).is_some_and(|r| r.rate.is_some()),
            _ => scenario.vars.contains_key(dimension),
        },
    };
    stated || scenario.vary.contains_key(dimension)
}
