//! Resolution of roles: their transactions, load and duration.

use litelab_protocol::{Arrivals, Load, Order, Role, Step, Until};

use crate::error::lookup;
use crate::quantity::Vars;
use crate::study::{RoleSpec, Scenario};
use crate::workload::Workload;

/// Shortest and longest default warm-up in milliseconds.
const WARMUP_MS: std::ops::RangeInclusive<u64> = 100..=2_000;
/// Limit of the workers of a variant. A larger number exceeds what any machine can serve and is most likely a typing
/// error.
pub(super) const MAX_WORKERS: i64 = 4096;

/// Highest rate of a role per second.
pub(super) const MAX_RATE: f64 = 1e7;

/// The roles, and the names of their transactions in the order of the indices in steps.
pub(super) fn resolve(
    scenario: &Scenario,
    workload: &Workload,
    vars: &Vars,
) -> Result<(Vec<Role>, Vec<String>), String> {
    if scenario.roles.is_empty() {
        return Err("it has no role: add a [scenario.role.NAME]".into());
    }
    let mut used: Vec<String> = Vec::new();
    let mut roles = Vec::new();
    let mut first_worker = 0;
    for (name, spec) in &scenario.roles {
        let here = |e: String| format!("role `{name}`: {e}");
        let workers = spec.workers.as_ref();
        let workers =
            workers.map_or(Ok(1), |q| q.integer(vars, 0, MAX_WORKERS)).map_err(|e| here(format!("workers: {e}")))?;
        // A role without workers is not part of this variant (0 readers and 100 writers).
        if workers == 0 {
            continue;
        }
        let (order, steps) = steps(spec, workload, vars, &mut used).map_err(here)?;
        roles.push(Role {
            name: name.clone(),
            workers: workers as u32,
            first_worker,
            first_in_role: 0,
            workers_in_role: workers as u32,
            order,
            steps,
            load: load(spec, vars).map_err(here)?,
            until: until(spec, scenario, vars).map_err(here)?,
        });
        first_worker += workers as u32;
    }
    if roles.is_empty() {
        return Err("none of its roles has a worker".into());
    }
    check_ends(&roles)?;
    number_operations(&mut roles, used.len());
    Ok((roles, used))
}

fn steps(
    spec: &RoleSpec,
    workload: &Workload,
    vars: &Vars,
    used: &mut Vec<String>,
) -> Result<(Order, Vec<Step>), String> {
    let mut step = |name: &String, weight: u32| -> Result<Step, String> {
        // `run = "$query"`: the transaction itself can be a dimension.
        let name = &crate::sql::substitute(name, vars)?;
        lookup("transaction", name, &workload.transactions)?;
        let at = used.iter().position(|u| u == name).unwrap_or_else(|| {
            used.push(name.clone());
            used.len() - 1
        });
        Ok(Step { transaction: at as u32, weight, stride: 0, offset: 0 })
    };
    match (&spec.run, &spec.mix) {
        (Some(run), None) if !run.0.is_empty() => {
            Ok((Order::Cycle, run.0.iter().map(|name| step(name, 1)).collect::<Result<_, _>>()?))
        }
        (None, Some(mix)) if !mix.is_empty() => {
            let mut steps = Vec::new();
            for (name, weight) in mix {
                let weight = weight.integer(vars, 0, 1_000_000).map_err(|e| format!("mix.{name}: {e}"))?;
                if weight > 0 {
                    steps.push(step(name, weight as u32)?);
                }
            }
            if steps.is_empty() {
                return Err("every weight of its `mix` is 0".into());
            }
            Ok((Order::Weighted, steps))
        }
        _ => Err("it needs `run = \"transaction\"` or `mix = { transaction = weight, … }`, and not both".into()),
    }
}

fn load(spec: &RoleSpec, vars: &Vars) -> Result<Load, String> {
    match &spec.rate {
        None if spec.arrivals.is_some() => Err("`arrivals` needs a `rate`".into()),
        None => Ok(Load::Closed {
            think_us: spec.think.as_ref().map_or(Ok(0), |q| q.micros(vars)).map_err(|e| format!("think: {e}"))?,
        }),
        Some(_) if spec.think.is_some() => {
            Err("`think` and `rate` exclude each other: arrivals have their own time".into())
        }
        Some(rate) => {
            let rate = rate.number(vars).map_err(|e| format!("rate: {e}"))?;
            if !(rate > 0.0 && rate <= MAX_RATE) {
                return Err(format!("rate is {rate}: it must be above 0 and at most 10 million per second"));
            }
            Ok(Load::Open { rate, arrivals: spec.arrivals.unwrap_or(Arrivals::Poisson) })
        }
    }
}

fn until(spec: &RoleSpec, scenario: &Scenario, vars: &Vars) -> Result<Until, String> {
    match (&spec.count, &spec.duration, &spec.until) {
        (Some(count), None, None) => {
            let transactions = count.integer(vars, 1, 1 << 50).map_err(|e| format!("count: {e}"))?;
            Ok(Until::Count { transactions: transactions as u64 })
        }
        (None, Some(duration), None) => {
            let ms = duration.micros(vars).map_err(|e| format!("for: {e}"))? / 1000;
            if ms == 0 {
                return Err("for: it is shorter than a millisecond".into());
            }
            Ok(Until::Time { ms })
        }
        (None, None, Some(role)) => {
            lookup("role", role, &scenario.roles).map_err(|e| format!("until: {e}"))?;
            Ok(Until::Role { name: role.clone() })
        }
        _ => Err("it needs exactly one of `count = 1000`, `for = \"2s\"`, `until = \"other role\"`".into()),
    }
}

/// Checks that a role which ends with another one refers to a role with its own end.
fn check_ends(roles: &[Role]) -> Result<(), String> {
    for role in roles {
        let Until::Role { name } = &role.until else { continue };
        match roles.iter().find(|r| r.name == *name) {
            Some(Role { until: Until::Role { .. }, .. }) => {
                return Err(format!(
                    "role `{}` waits for `{name}`, which itself waits: one must end by `count` or `for`",
                    role.name
                ));
            }
            Some(_) => {}
            None => return Err(format!("role `{}` waits for `{name}`, which has no worker here", role.name)),
        }
    }
    Ok(())
}

/// Numbers the workers of all roles that run a transaction consecutively, so that no two of them draw the same row.
fn number_operations(roles: &mut [Role], transactions: usize) {
    for transaction in 0..transactions as u32 {
        let mut total = 0;
        for role in roles.iter_mut() {
            // Each occurrence of a transaction in a role's cycle draws its own rows.
            for step in role.steps.iter_mut().filter(|s| s.transaction == transaction) {
                step.offset = total;
                total += role.workers_in_role;
            }
        }
        for step in roles.iter_mut().flat_map(|r| &mut r.steps).filter(|s| s.transaction == transaction) {
            step.stride = total;
        }
    }
}

/// The warm-up in milliseconds; roles that end by time are extended by it.
///
/// Default: for closed loops that end by time a tenth of the longest, within [`WARMUP_MS`]. Caches, compilers and the
/// first checkpoint have then settled. There is no warm-up without such a loop, with a role that ends by a number of
/// transactions (of which the first count as well), with a search, or with a kill at a given time.
pub(super) fn warm_up(roles: &mut [Role], scenario: &Scenario, vars: &Vars) -> Result<u64, String> {
    let counted = roles.iter().any(|role| matches!(role.until, Until::Count { .. }));
    let closed = roles.iter().filter_map(|role| match (&role.load, &role.until) {
        (Load::Closed { .. }, Until::Time { ms }) => Some(*ms),
        _ => None,
    });
    let ms = match (&scenario.warmup, closed.max()) {
        (Some(stated), _) => stated.micros(vars).map_err(|e| format!("warmup: {e}"))? / 1000,
        (None, Some(longest)) if !counted && scenario.search.is_none() && scenario.kill.is_none() => {
            (longest / 10).clamp(*WARMUP_MS.start(), *WARMUP_MS.end())
        }
        (None, _) => 0,
    };
    for role in roles {
        if let Until::Time { ms: until } = &mut role.until {
            *until += ms;
        }
    }
    Ok(ms)
}

/// Checks that no role ends with another one: worker processes end independently and cannot observe each other's roles.
pub(super) fn check_processes(roles: &[Role]) -> Result<(), String> {
    match roles.iter().find(|r| matches!(r.until, Until::Role { .. })) {
        Some(role) => Err(format!(
            "role `{}` ends with another one, which a process of its own cannot see: give it a time (`for`)",
            role.name
        )),
        None => Ok(()),
    }
}

/// Duration of the roles in milliseconds, warm-up included; `None` if a role ends by a number of transactions.
pub(super) fn duration_ms(roles: &[Role]) -> Option<u64> {
    let mut longest = 0;
    for role in roles {
        match role.until {
            Until::Time { ms } => longest = longest.max(ms),
            Until::Role { .. } => {}
            Until::Count { .. } => return None,
        }
    }
    Some(longest)
}
