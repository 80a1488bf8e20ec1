//! Combination of the results of a trial's processes into one result.

use std::collections::BTreeMap;

use litelab_protocol::histogram::Histogram;
use litelab_protocol::{TransactionResult, TrialResult};

/// Adds counts and histograms; durations are those of the longest process, and of gauges the largest is kept.
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
            let same = |o: &&mut TransactionResult| o.role == operation.role && o.transaction == operation.transaction;
            match total.operations.iter_mut().find(same) {
                Some(into) => add(into, operation),
                None => total.operations.push(operation),
            }
        }
        merge_timers(&mut total.timers, result.timers);
        for (name, gauge) in result.gauges {
            // The busiest of several event loops is the bottleneck.
            total.gauges.entry(name).and_modify(|most| *most = most.max(gauge)).or_insert(gauge);
        }
    }
    total
}

fn add(into: &mut TransactionResult, other: TransactionResult) {
    into.committed += other.committed;
    into.empty += other.empty;
    into.failed += other.failed;
    into.ended += other.ended;
    into.measured += other.measured;
    into.rows += other.rows;
    into.unserved += other.unserved;
    into.unfinished.extend(other.unfinished);
    for (name, count) in other.errors {
        into.errors.entry(name).or_default().add(count);
    }
    into.service.merge(&other.service);
    merge_timers(&mut into.timers, other.timers);
    for (name, count) in other.counters {
        *into.counters.entry(name).or_default() += count;
    }
}

fn merge_timers(into: &mut BTreeMap<String, Histogram>, other: BTreeMap<String, Histogram>) {
    for (name, timer) in other {
        into.entry(name).or_default().merge(&timer);
    }
}

#[cfg(test)]
mod tests {
    use litelab_protocol::{ConnectionSettings, ErrorCount, Unfinished, WorkerResult};

    use super::*;

    fn result(role: &str, committed: u64, elapsed_ns: u64) -> TrialResult {
        let mut service = Histogram::new();
        (0..committed).for_each(|i| service.record(i + 1));
        let operation = TransactionResult {
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
            counters: BTreeMap::from([("verified".into(), committed)]),
            timers: BTreeMap::from([("wait".into(), service.clone())]),
            service: service.clone(),
            ..TransactionResult::default()
        };
        TrialResult {
            elapsed_ns,
            measured_ns: elapsed_ns,
            operations: vec![operation],
            workers: vec![WorkerResult { role: role.into(), committed, ..WorkerResult::default() }],
            timers: BTreeMap::from([(role.into(), service.clone())]),
            gauges: BTreeMap::from([("utilization".into(), 0.1 * committed as f64)]),
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
        let counts = |timers: &BTreeMap<String, Histogram>| timers.values().map(Histogram::count).collect::<Vec<_>>();
        assert_eq!((counts(&total.timers), counts(&total.operations[0].timers)), (vec![7, 15], vec![15]));
        assert_eq!((total.operations[0].counter("verified"), total.operations[0].counter("mismatches")), (15, 0));
        assert_eq!(total.gauges, BTreeMap::from([("utilization".into(), 1.0)]));
        assert_eq!(merge(vec![]), TrialResult::default());
    }
}
