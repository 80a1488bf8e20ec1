//! The honest runner passes the suite.

use crate::common;
use std::sync::atomic::{AtomicBool, Ordering};

use litelab_conformance::{CHECKS, CheckVerdict, ORCHESTRATION_CHECKS, Progress, QUEUE_CHECKS, Suite};

#[test]
fn the_reference_runner_passes() {
    let scratch = common::scratch();
    let (mut started, mut examined) = (Vec::new(), 0);
    let runners = common::runners();
    let report = Suite::new(&runners, scratch.path())
        .check("rusqlite", &mut |progress| match progress {
            Progress::Started { driver, check, .. } => started.push((driver.map(str::to_owned), check.to_owned())),
            Progress::Ended { driver, outcome, .. } => {
                println!(
                    "{:10} {:20} {:?} {:.2}s {}",
                    driver.unwrap_or("-"),
                    outcome.name,
                    outcome.verdict,
                    outcome.seconds,
                    outcome.detail
                );
            }
            Progress::Examined(_) => examined += 1,
        })
        .expect("there is such a runner");
    let failures: Vec<_> = report.failures().map(|(d, c)| format!("{d:?} {}: {}", c.name, c.detail)).collect();
    assert!(report.passed(), "{failures:#?}");
    assert_eq!(report.drivers.len(), 5);
    // The runner's driver of its own name supports every feature, so that no check may be skipped.
    let own = report.drivers.iter().find(|d| d.driver == "rusqlite").expect("reported");
    assert_eq!(own.checks.len(), CHECKS.len());
    assert!(own.checks.iter().all(|c| c.verdict == CheckVerdict::Passed), "{:#?}", own.checks);
    let noop = report.drivers.iter().find(|d| d.driver == "noop").expect("reported");
    assert!(noop.checks.iter().filter(|c| c.verdict == CheckVerdict::Passed).count() >= 12);
    assert_eq!((started.len(), examined), (1 + 5 * CHECKS.len(), 1));
    assert_eq!(std::fs::read_dir(scratch.path()).expect("readable").count(), 0, "files are left");
}

#[test]
fn an_honest_library_passes_the_checks_of_its_interface_and_meets_no_other() {
    let (scratch, runners) = (common::scratch(), common::runners());
    let suite = Suite::new(&runners, scratch.path());
    for (driver, own) in [("mock:queue", QUEUE_CHECKS), ("mock:orchestration", ORCHESTRATION_CHECKS)] {
        let report = suite.check(driver, &mut |_| {}).expect("there is such a driver");
        let checks = &report.drivers[0].checks;
        assert!(checks.iter().all(|c| c.verdict == CheckVerdict::Passed), "{checks:#?}");
        let names = |list: Vec<&str>| list.join(" ");
        assert_eq!(
            names(checks.iter().map(|c| c.name.as_str()).collect()),
            names(own.iter().map(|c| c.name).collect())
        );
    }
    assert_eq!(std::fs::read_dir(scratch.path()).expect("readable").count(), 0, "files are left");
}

#[test]
fn drivers_side_by_side_are_reported_as_one_after_the_other() {
    let scratch = common::scratch();
    let runners = common::runners();
    let found = |jobs| {
        let (mut running, mut most) = (0_u32, 0);
        let reports = Suite::new(&runners, scratch.path())
            .only(&["answers", "waits-for-go", "time-limit"])
            .jobs(jobs)
            .check_all(&["rusqlite", "mock:scripted", "mock:noop"], &mut |progress| match progress {
                Progress::Started { driver: Some(_), .. } => {
                    running += 1;
                    most = most.max(running);
                }
                Progress::Ended { driver: Some(_), .. } => running -= 1,
                _ => {}
            })
            .expect("there are such runners");
        let told = reports.iter().flat_map(|report| {
            let of = |d: &litelab_conformance::DriverReport| {
                let checks: Vec<_> = d.checks.iter().map(|c| format!("{} {:?}", c.name, c.verdict)).collect();
                format!("{}:{} {}", report.runner, d.driver, checks.join(", "))
            };
            report.drivers.iter().map(of).collect::<Vec<_>>()
        });
        (told.collect::<Vec<_>>(), most)
    };
    let ((alone, one), (together, most)) = (found(1), found(4));
    assert_eq!((&together, alone.len()), (&alone, 7));
    assert!(one == 1 && most > 1, "{one} and {most} at a time");
}

#[test]
fn what_is_stopped_has_no_report() {
    let scratch = common::scratch();
    let stop = AtomicBool::new(false);
    let runners = common::runners();
    let reports = Suite::new(&runners, scratch.path()).stop(&stop).check_all(&["rusqlite"], &mut |progress| {
        stop.fetch_or(matches!(progress, Progress::Ended { driver: Some(_), .. }), Ordering::Relaxed);
        assert!(!matches!(progress, Progress::Examined(_)));
    });
    assert_eq!(reports.expect("there is such a runner"), []);
    assert_eq!(std::fs::read_dir(scratch.path()).expect("readable").count(), 0, "files are left");
}
