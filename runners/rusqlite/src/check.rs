//! What is refused before anything is opened.

use litelab_protocol::{Order, Trial, Until, VERSION};

use crate::describe::EXECUTORS;
use crate::driver::Fault;

/// What this runner could not do, or would do wrong without a word.
pub fn check(trial: &Trial) -> Result<(), Fault> {
    let fail = |reason: String| Err(Fault::Other(reason));
    if trial.protocol != VERSION {
        return fail(format!("protocol {} is not {VERSION}", trial.protocol));
    }
    if !EXECUTORS.contains(&trial.executor) {
        return fail(format!("executor {} is not supported", trial.executor));
    }
    for role in &trial.roles {
        let name = &role.name;
        if role.steps.iter().any(|step| step.transaction as usize >= trial.transactions.len()) {
            return fail(format!("role `{name}` has a step without its transaction"));
        }
        if role.steps.is_empty() || (role.order == Order::Weighted && role.steps.iter().all(|s| s.weight == 0)) {
            return fail(format!("role `{name}` has no step to do"));
        }
        if u64::from(role.first_in_role) + u64::from(role.workers) > u64::from(role.workers_in_role) {
            return fail(format!("role `{name}` has more workers here than in all"));
        }
        // A chain of roles that wait for each other has to come to one that ends by itself.
        let mut waits_for = role;
        for _ in 0..=trial.roles.len() {
            let Until::Role { name: other } = &waits_for.until else { break };
            match trial.roles.iter().find(|r| r.name == *other) {
                Some(next) => waits_for = next,
                None => return fail(format!("role `{name}` waits for `{other}`, and there is none")),
            }
        }
        if let Until::Role { .. } = waits_for.until {
            return fail(format!("role `{name}` never ends"));
        }
    }
    Ok(())
}
