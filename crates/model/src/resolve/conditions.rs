//! Resolution of alerts, searches and kills: metrics, expressions and roles.

use litelab_protocol::{Arrivals, Executor, Load, Role, Trial, Until};

use super::claims::bound;
use super::roles::MAX_RATE;
use crate::condition::{Kill, KillPlan, Limit, LimitPlan, Search, SearchPlan};
use crate::error::unknown;
use crate::metric::Measure;
use crate::quantity::{Quantity, Scalar, Vars};
use crate::server::Server;

/// Resolves a bound on a metric.
pub(super) fn limit(limit: &Limit) -> Result<LimitPlan, String> {
    let metric: crate::Metric = limit.metric.parse()?;
    metric.check_of_trial()?;
    if limit.at_least.is_none() && limit.at_most.is_none() {
        return Err(format!("`{metric}` needs `at_least` or `at_most`: without a bound nothing could break it"));
    }
    let stated = |given: &Option<Quantity>| given.as_ref().map(|quantity| bound(quantity, Some(&metric))).transpose();
    let (at_least, at_most) = (stated(&limit.at_least)?, stated(&limit.at_most)?);
    if let (Some(low), Some(high)) = (at_least, at_most)
        && low > high
    {
        return Err(format!("`{metric}`: at_least {low} is above at_most {high}: nothing could keep it"));
    }
    Ok(LimitPlan { metric, at_least, at_most, text: limit.text.clone() })
}

/// Resolves a search. Its role becomes an open load with the first rate.
pub(super) fn search(search: &Search, trial: &mut Trial, vars: &Vars) -> Result<SearchPlan, String> {
    let role = role(&mut trial.roles, &search.rate)?;
    match role.load {
        Load::Open { .. } | Load::Closed { think_us: 0 } => {}
        Load::Closed { .. } => return Err(format!("role `{}` has a `think`: arrivals have their own time", role.name)),
    }
    let number = |name: &str, quantity: Option<&Quantity>, default: f64, low: f64| {
        let value = quantity.map_or(Ok(default), |q| q.number(vars)).map_err(|e| format!("{name}: {e}"))?;
        if value > low { Ok(value) } else { Err(format!("{name} is {value}: it must be above {low}")) }
    };
    // Beyond these a search tries thousands of rates, or none between two.
    let within = |name: &str, value: f64, low: f64, high: f64| {
        let is_within = (low..=high).contains(&value);
        if is_within { Ok(value) } else { Err(format!("{name} is {value}: it must be from {low} to {high}")) }
    };
    let factor = number("factor", search.factor.as_ref(), 2.0, 1.0)?;
    let precision = number("precision", search.precision.as_ref(), 0.1, 0.0)?;
    let repeats = search.repeats.as_ref().map_or(Ok(3), |q| q.integer(vars, 1, 99));
    let plan = SearchPlan {
        role: role.name.clone(),
        from: number("from", Some(&search.from), 1.0, 0.0)?,
        factor: within("factor", factor, 1.01, 10_000.0)?,
        precision: within("precision", precision, 0.001, 10.0)?,
        repeats: repeats.map_err(|e| format!("repeats: {e}"))? as u32,
        holds: search.holds.iter().map(limit).collect::<Result<_, _>>()?,
    };
    if plan.holds.is_empty() {
        return Err("`holds` is empty: without a condition every rate is kept".into());
    }
    if plan.holds.iter().any(|limit| limit.metric.measure == Measure::Sustainable) {
        return Err("`holds`: `sustainable` is what is sought, not a condition".into());
    }
    // A condition without values never holds, and the search would lower the rate to its limit before an error.
    let known = || trial.transactions.iter().map(|t| t.name.as_str());
    let mut named = plan.holds.iter().filter_map(|limit| limit.metric.of_transaction());
    if let Some(name) = named.find(|name| known().all(|k| k != *name)) {
        return Err(format!("`holds`: {}", unknown("transaction", name, known())));
    }
    if plan.from > MAX_RATE {
        return Err(format!("from is {}: it must be at most {MAX_RATE} per second", plan.from));
    }
    let arrivals = if let Load::Open { arrivals, .. } = role.load { arrivals } else { Arrivals::Poisson };
    role.load = Load::Open { rate: plan.from, arrivals };
    match role.until {
        Until::Time { .. } => Ok(plan),
        _ => Err(format!("role `{}` must end by time (`for`): a rate is kept for so long", role.name)),
    }
}

/// Resolves a kill of processes or of a node, and sets the variable `killed`.
pub(super) fn kill(
    kill: &Kill,
    trial: &mut Trial,
    server: Option<Server>,
    vars: &mut Vars,
) -> Result<KillPlan, String> {
    let plan = match (&kill.node, &kill.role, &kill.processes) {
        (None, Some(role), Some(processes)) => of_processes((role, processes), kill, trial, vars)?,
        (Some(node), None, None) => of_node(node, kill, trial, server, vars)?,
        (None, ..) => {
            return Err("say what is killed: `role` and `processes` of the runner, or `node` of the server".into());
        }
        (Some(_), ..) => return Err("`node` is of the server, `role` and `processes` of the runner: keep one".into()),
    };
    if vars.contains_key("killed") {
        return Err("`killed` is a variable already: it is how many are killed here, so give yours another name".into());
    }
    let killed = if let KillPlan::Processes { processes, .. } = &plan { *processes } else { 1 };
    vars.insert("killed".into(), Scalar::Integer(killed.into()));
    Ok(plan)
}

fn of_processes(
    (name, processes): (&str, &Quantity),
    kill: &Kill,
    trial: &mut Trial,
    vars: &Vars,
) -> Result<KillPlan, String> {
    if trial.executor != Executor::Processes {
        return Err("only processes can be killed: set `executor = \"processes\"`".into());
    }
    if kill.back.is_some() {
        return Err("`back` is of a node: a process that was killed is not started again".into());
    }
    let role = role(&mut trial.roles, name)?;
    let processes = processes.integer(vars, 1, 4096).map_err(|e| format!("processes: {e}"))? as u32;
    if processes >= role.workers {
        return Err(format!("role `{}` has {} workers: one at least must stay", role.name, role.workers));
    }
    let after_ms = kill.after.micros(vars).map_err(|e| format!("after: {e}"))? / 1000;
    match role.until {
        Until::Time { ms } if after_ms > 0 && after_ms.saturating_mul(processes.into()) < ms => {}
        Until::Time { ms } => {
            return Err(format!("{processes} kills, {after_ms} ms apart, do not fit into the {ms} ms of the role"));
        }
        _ => return Err(format!("role `{}` must end by time (`for`): nobody does the work of the killed", role.name)),
    }
    Ok(KillPlan::Processes { role: role.name.clone(), processes, after_ms })
}

/// Resolves the kill of a node. A server with a single node requires `back`, because no other node remains.
fn of_node(
    node: &Quantity,
    kill: &Kill,
    trial: &Trial,
    server: Option<Server>,
    vars: &Vars,
) -> Result<KillPlan, String> {
    let server = server.ok_or_else(|| format!("`node` is of a server, and driver `{}` reaches none", trial.driver))?;
    let node = node.integer(vars, 0, 4096).map_err(|e| format!("node: {e}"))? as u32;
    match server.nodes() {
        1 if node != 1 => {
            return Err(format!("server `{server}` is no cluster: node {node} does not exist, 1 is all of it"));
        }
        1 if kill.back.is_none() => {
            return Err(format!(
                "server `{server}` is no cluster: say with `back` when it is started again, for nothing else is left"
            ));
        }
        nodes if node == 0 || node > nodes => {
            return Err(format!("node {node} does not exist: server `{server}` has nodes 1 to {nodes}"));
        }
        _ => {}
    }
    let millis = |name: &str, quantity: &Quantity| {
        let ms = quantity.micros(vars).map_err(|e| format!("{name}: {e}"))? / 1000;
        if ms > 0 { Ok(ms) } else { Err(format!("{name} is {ms} ms: it must be at least one")) }
    };
    let after_ms = millis("after", &kill.after)?;
    let back_ms = kill.back.as_ref().map(|back| millis("back", back)).transpose()?;
    let until = after_ms.saturating_add(back_ms.unwrap_or(0));
    for role in &trial.roles {
        match role.until {
            Until::Time { ms } if until < ms => {}
            Until::Time { ms } => {
                return Err(format!(
                    "{until} ms until the last of it do not fit into the {ms} ms of role `{}`",
                    role.name
                ));
            }
            // It ends with another role, which is checked itself.
            Until::Role { .. } => {}
            Until::Count { .. } => {
                return Err(format!(
                    "role `{}` must end by time (`for`): it might have ended before the kill",
                    role.name
                ));
            }
        }
    }
    Ok(KillPlan::Node { node, after_ms, back_ms })
}

fn role<'r>(roles: &'r mut [Role], name: &str) -> Result<&'r mut Role, String> {
    let known: Vec<String> = roles.iter().map(|r| r.name.clone()).collect();
    roles.iter_mut().find(|r| r.name == name).ok_or_else(|| unknown("role", name, known.iter().map(String::as_str)))
}
