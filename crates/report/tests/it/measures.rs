//! Values of each round, and the cost of the harness.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use crate::common;
use crate::common::plan;
use crate::common::plan::metric;
use litelab_record::measure::cost;

#[test]
fn the_harness_costs_what_passes_inside_and_outside() {
    assert_eq!(cost(&common::measurement::noop()), Some(500.0));
    let (_, analysis) = common::study();
    let [cost] = analysis.scenarios[0].harness.as_slice() else { panic!("one runner was calibrated") };
    assert_eq!((cost.nanos, cost.fastest), (500.0, Some(0)));
    let mean = analysis.variants[0].estimate(&metric("mean")).unwrap().value;
    assert_eq!(cost.share, Some(500.0 / mean));
    assert!(analysis.scenarios[1].harness.is_empty());
}

#[test]
fn a_variant_keeps_every_value_with_its_round() {
    let (_, analysis) = common::study();
    let throughput = analysis.variants[5].values(&metric("throughput"));
    let rounds: Vec<u32> = throughput.iter().map(|(round, _)| *round).collect();
    assert_eq!(rounds, [0, 1, 3], "round 2 failed");
    let Some(common::Gives::Numbers(numbers)) = plan::outcome(3, 5) else { panic!("round 3 was measured") };
    assert_eq!(throughput[2].1, numbers.committed as f64);
}
