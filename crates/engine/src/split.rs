//! Division of a trial among runner processes.

use litelab_protocol::{Executor, Load, Role, Trial};

/// Splits a trial into one per process: a single one, or with executor `processes` one per worker, or as many as
/// `processes` with a part of the workers of each role.
#[must_use]
pub fn split(trial: &Trial, processes: Option<u32>) -> Vec<Trial> {
    if trial.executor != Executor::Processes {
        return vec![trial.clone()];
    }
    if let Some(processes) = processes {
        let part = |process| trial.roles.iter().map(|role| part(role, process, processes)).collect();
        return (0..processes).map(|process| Trial { roles: part(process), ..trial.clone() }).collect();
    }
    let each = |role: &Role| (0..role.workers).map(|worker| part(role, worker, role.workers)).collect::<Vec<_>>();
    let roles = trial.roles.iter().flat_map(each);
    roles.map(|role| Trial { roles: vec![role], ..trial.clone() }).collect()
}

/// The part of a role in one of several processes: consecutive workers, and their share of the arrivals.
fn part(role: &Role, process: u32, processes: u32) -> Role {
    let first = |process: u32| (u64::from(role.workers) * u64::from(process) / u64::from(processes)) as u32;
    let (from, to) = (first(process), first(process + 1));
    let load = match &role.load {
        Load::Open { rate, arrivals } => {
            Load::Open { rate: rate * f64::from(to - from) / f64::from(role.workers), arrivals: *arrivals }
        }
        closed => closed.clone(),
    };
    Role {
        workers: to - from,
        first_worker: role.first_worker + from,
        first_in_role: role.first_in_role + from,
        load,
        ..role.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(name: &str, workers: u32, first_worker: u32, load: Load) -> Role {
        serde_json::from_value(serde_json::json!({
            "name": name, "workers": workers, "first_worker": first_worker, "first_in_role": 0,
            "workers_in_role": workers, "order": "cycle", "steps": [],
            "load": load, "until": { "kind": "time", "ms": 1 },
        }))
        .expect("a role")
    }

    fn trial(executor: Executor) -> Trial {
        let open = Load::Open { rate: 70.0, arrivals: litelab_protocol::Arrivals::Constant };
        let trial = serde_json::json!({
            "protocol": 1, "id": "", "driver": "d", "executor": executor, "sharing": { "kind": "own-connection" },
            "databases": [], "connection": { "settings": [], "read_back": [], "options": {} }, "prepare": "once",
            "retry": { "attempts": 1, "backoff_us": 0, "multiplier": 1.0, "max_backoff_us": 0, "on": [] }, "seed": 1, "transactions": [],
            "roles": [role("readers", 7, 0, open), role("writers", 2, 7, Load::Closed { think_us: 0 })],
            "warmup_ms": 0, "drain_ms": 0, "tick_ms": 100, "probe_ms": 0, "runtime_threads": null,
        });
        serde_json::from_value(trial).expect("a trial")
    }

    /// First and number of the workers of each role, by process.
    fn workers(parts: &[Trial]) -> Vec<Vec<(u32, u32)>> {
        let of = |part: &Trial| part.roles.iter().map(|role| (role.first_worker, role.workers)).collect();
        parts.iter().map(of).collect()
    }

    #[test]
    fn a_process_has_one_worker_or_its_part_of_each_role() {
        assert_eq!(split(&trial(Executor::Threads), None).len(), 1);
        let each = split(&trial(Executor::Processes), None);
        assert!(each.len() == 9 && each.iter().all(|part| part.roles.len() == 1 && part.roles[0].workers == 1));
        let two = split(&trial(Executor::Processes), Some(2));
        assert_eq!(workers(&two), [[(0, 3), (7, 1)], [(3, 4), (8, 1)]]);
        assert_eq!(two[1].roles[0].first_in_role, 3);
        let rates = two.iter().map(|part| match part.roles[0].load {
            Load::Open { rate, .. } => rate,
            Load::Closed { .. } => 0.0,
        });
        assert!(
            rates.zip([30.0, 40.0]).all(|(rate, part)| (rate - part).abs() < 1e-9),
            "each has its share of arrivals"
        );
        assert_eq!(split(&trial(Executor::Processes), Some(1)), [trial(Executor::Processes)]);
    }
}
