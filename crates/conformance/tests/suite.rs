//! The honest runner passes.

mod common;

use litelab_conformance::{CHECKS, ORCHESTRATION_CHECKS, Progress, QUEUE_CHECKS, Verdict, check};

#[test]
fn the_reference_runner_passes() {
    let scratch = common::scratch();
    let mut started = Vec::new();
    let report = check(&common::runners(), "rusqlite", scratch.path(), &mut |progress| match progress {
        Progress::Started { driver, check } => started.push((driver.map(str::to_owned), check.to_owned())),
        Progress::Ended { driver, outcome } => {
            println!(
                "{:10} {:20} {:?} {:.2}s {}",
                driver.unwrap_or("-"),
                outcome.name,
                outcome.verdict,
                outcome.seconds,
                outcome.detail
            );
        }
    })
    .expect("there is such a runner");
    let failures: Vec<_> = report.failures().map(|(d, c)| format!("{d:?} {}: {}", c.name, c.detail)).collect();
    assert!(report.passed(), "{failures:#?}");
    assert_eq!(report.drivers.len(), 2);
    // Its own driver has everything: nothing may be skipped.
    let own = report.drivers.iter().find(|d| d.driver == "rusqlite").expect("reported");
    assert_eq!(own.checks.len(), CHECKS.len());
    assert!(own.checks.iter().all(|c| c.verdict == Verdict::Passed), "{:#?}", own.checks);
    let noop = report.drivers.iter().find(|d| d.driver == "noop").expect("reported");
    assert!(noop.checks.iter().filter(|c| c.verdict == Verdict::Passed).count() >= 12);
    assert_eq!(started.len(), 1 + 2 * CHECKS.len());
    assert_eq!(std::fs::read_dir(scratch.path()).expect("readable").count(), 0, "files are left");
}

#[test]
fn an_honest_library_passes_the_checks_of_its_interface_and_meets_no_other() {
    let scratch = common::scratch();
    for (driver, own) in [("mock:queue", QUEUE_CHECKS), ("mock:orchestration", ORCHESTRATION_CHECKS)] {
        let report = check(&common::runners(), driver, scratch.path(), &mut |_| {}).expect("there is such a driver");
        let checks = &report.drivers[0].checks;
        assert!(checks.iter().all(|c| c.verdict == Verdict::Passed), "{checks:#?}");
        let names = |list: Vec<&str>| list.join(" ");
        assert_eq!(
            names(checks.iter().map(|c| c.name.as_str()).collect()),
            names(own.iter().map(|c| c.name).collect())
        );
    }
    assert_eq!(std::fs::read_dir(scratch.path()).expect("readable").count(), 0, "files are left");
}
