//! Combination of the results of a trial's processes into one result.

use litelab_protocol::histogram::Histogram;
use litelab_protocol::{Operation, Probe, TrialResult};

/// Adds counts and histograms; durations are those of the longest process.
#[must_use]
pub fn merge(results: Vec<TrialResult>) -> TrialResult {
    let mut results = results.into_iter();
    let Some(mut total) = results.next() else { return TrialResult::default() };
    for result in results {
        total.elapsed_ns = total.elapsed_ns.max(result.elapsed_ns);
        total.measured_ns = total.measured_ns.max(result.measured_ns);
        total.workers.extend(result.workers);
        total.connections.extend(result.connections);
        for operation in result.operations {
            let same = |o: &&mut Operation| o.role == operation.role && o.transaction == operation.transaction;
            match total.operations.iter_mut().find(same) {
                Some(into) => add(into, operation),
                None => total.operations.push(operation),
            }
        }
        total.probe = match (total.probe.take(), result.probe) {
            (Some(a), Some(b)) => Some(add_probe(a, &b)),
            (a, b) => a.or(b),
        };
        for part in result.breakdown {
            match total.breakdown.iter_mut().find(|p| p.name == part.name) {
                Some(into) => {
                    into.calls += part.calls;
                    into.nanos += part.nanos;
                }
                None => total.breakdown.push(part),
            }
        }
    }
    total
}

fn add(into: &mut Operation, other: Operation) {
    into.committed += other.committed;
    into.empty += other.empty;
    into.failed += other.failed;
    into.ended += other.ended;
    into.measured += other.measured;
    into.rows += other.rows;
    into.verified += other.verified;
    into.mismatches += other.mismatches;
    into.unserved += other.unserved;
    into.unfinished.extend(other.unfinished);
    for (name, count) in other.errors {
        into.errors.entry(name).or_default().add(count);
    }
    into.service.merge(&other.service);
    for (into, other) in [
        (&mut into.wait, other.wait),
        (&mut into.response, other.response),
        (&mut into.lag, other.lag),
        (&mut into.query, other.query),
        (&mut into.first_row, other.first_row),
    ] {
        add_histogram(into, other.as_ref());
    }
}

fn add_histogram(into: &mut Option<Histogram>, other: Option<&Histogram>) {
    match (into.as_mut(), other) {
        (Some(into), Some(other)) => into.merge(other),
        (None, Some(other)) => *into = Some(other.clone()),
        (_, None) => {}
    }
}

fn add_probe(mut a: Probe, b: &Probe) -> Probe {
    a.lateness.merge(&b.lateness);
    add_histogram(&mut a.pool_wait, b.pool_wait.as_ref());
    add_histogram(&mut a.scheduler, b.scheduler.as_ref());
    // The busiest of several event loops is the bottleneck.
    a.utilization = match (a.utilization, b.utilization) {
        (Some(x), Some(y)) => Some(x.max(y)),
        (x, y) => x.or(y),
    };
    a
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use litelab_protocol::{ConnectionSettings, ErrorCount, Part, Unfinished, WorkerResult};

    use super::*;

    fn result(role: &str, committed: u64, elapsed_ns: u64) -> TrialResult {
        let mut service = Histogram::new();
        (0..committed).for_each(|i| service.record(i + 1));
        let operation = Operation {
            role: role.into(),
            transaction: "t".into(),
            committed,
            empty: 1,
            failed: 2,
            ended: committed,
            measured: committed,
            rows: 3,
            errors: BTreeMap::from([("SQLITE_BUSY".to_owned(), ErrorCount { seen: 5, cured: 3, message: None })]),
            unfinished: vec![Unfinished { service_ns: committed, response_ns: None }],
            service,
            ..Operation::default()
        };
        TrialResult {
            elapsed_ns,
            measured_ns: elapsed_ns,
            operations: vec![operation],
            workers: vec![WorkerResult { role: role.into(), committed, ..WorkerResult::default() }],
            probe: None,
            breakdown: vec![Part { name: role.into(), calls: committed, nanos: 2 * committed }],
            connections: vec![ConnectionSettings { label: role.into(), ..ConnectionSettings::default() }],
        }
    }

    #[test]
    fn processes_add_up() {
        let total = merge(vec![result("w", 10, 100), result("w", 5, 300), result("r", 7, 200)]);
        assert_eq!(total.elapsed_ns, 300);
        assert_eq!((total.workers.len(), total.connections.len()), (3, 3));
        assert_eq!(total.operations.len(), 2);
        assert_eq!((total.operations[0].committed, total.operations[0].ended), (15, 15));
        assert!(total.operations[0].unfinished.iter().map(|u| u.service_ns).eq([10, 5]));
        assert_eq!(total.operations[0].service.count(), 15);
        assert_eq!(total.operations[0].errors["SQLITE_BUSY"], ErrorCount { seen: 10, cured: 6, message: None });
        let parts = total.breakdown.iter().map(|p| (p.name.as_str(), p.calls, p.nanos));
        assert!(parts.eq([("w", 15, 30), ("r", 7, 14)]));
        assert_eq!(merge(vec![]), TrialResult::default());
    }
}
