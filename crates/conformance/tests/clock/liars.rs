//! Negative controls. The mock runner has one driver per lie: each lie must be caught by the check that exists for it,
//! with a message that names the lie, and each check must catch at least one lie.

use crate::common;
use std::collections::BTreeSet;
use std::time::Duration;

use litelab_conformance::{
    CHECKS, CheckOutcome, CheckVerdict, ORCHESTRATION_CHECKS, QUEUE_CHECKS, SERVER_CHECKS, Suite,
};
use litelab_engine::trial::Patience;

/// Driver, the check that must fail, and a part of its message.
const LIES: &[(&str, &str, &str)] = &[
    ("accepts-any-option", "refusals", "an unknown option"),
    ("closes-loop", "open-load", "60 arrivals are due"),
    ("commits-piecemeal", "rollback", "that failed left"),
    ("compiles-each", "prepare", "one of them is not made"),
    ("compiles-once", "prepare", "one of them is not made"),
    ("counts-begun", "window", "began after a warm-up of 0 ms, and it says that"),
    ("counts-empty-as-committed", "empty", "5 claims and 4 in vain are due"),
    ("counts-whole-trial", "window", "began after a warm-up of 0 ms, and it says that"),
    ("counts-whole-trial", "warm-up", "ended after the warm-up, which is half of the time"),
    ("dies", "answers", "exit status: 9"),
    ("dies-by-signal", "answers", "signal: 6"),
    ("draws-anew", "operations", "9 transactions write 6 rows each"),
    ("endless-line", "answers", "no line of the protocol"),
    ("endless-ticks", "answers", "too many ticks: one is due every 50 ms"),
    ("exits-badly", "answers", "exit status: 3"),
    ("fetches-one", "fetch", "60 rows are due, and it counts 5"),
    ("forgets-teardown", "memory", "left no file"),
    ("hangs", "answers", "said nothing for 1 s"),
    ("hangs-before-ready", "answers", "said nothing for 4 s"),
    ("hides-messages", "error-names", "the database's own message"),
    ("hides-settings", "answers", "and of 0 at the end"),
    ("hides-unfinished", "drain", "one transaction hangs, and 0 are unfinished"),
    ("hides-unserved", "late-starts", "100 arrivals are due"),
    ("ignores-sharing", "sharing", "its connections are"),
    ("ignores-sharing", "app-lock", "met at SQLite's lock"),
    ("ignores-pragma", "read-back", "`synchronous` = "),
    ("ignores-retry", "retry", "3 tries"),
    ("ignores-think", "think", "outside them"),
    ("ignores-weights", "order", "by weight"),
    ("keeps-rolled-back", "yields", "row 2 (place, a, b) is [Text(\"after\"), Integer(200)"),
    ("lies-about-pragma", "settings-by-effect", "journal_mode: WAL was asked for"),
    ("lies-about-pragma", "settings-by-sql", "` = "),
    ("lies-about-synchronous", "settings-by-sql", "`synchronous` = "),
    ("loses-row", "sharing", "rows are there"),
    ("loses-row", "databases", "rows are there"),
    ("loses-row", "content", "the content's hash is"),
    ("loses-row", "yields", "rows, and 6 are due"),
    ("measures-warm-up", "warm-up", "half of the time is warm-up"),
    ("miscounts", "answers", "workers committed"),
    ("miscounts-consistently", "time-limit", "rows are there"),
    ("miscounts-consistently", "sharing", "was to do 61 transactions and did 62"),
    ("never-ticks", "ticks", "ticks were heard"),
    ("no-last-line", "answers", "the runner died (exit status: 0)"),
    ("no-probe", "probe", "there is none"),
    ("one-database", "databases", ""),
    ("orchestration-accepts-sql", "orchestration-refusals", "SQL: it said `ready` in place of `failed`"),
    ("orchestration-answers-nothing", "orchestration-answers", "it counts 0, 10 in vain and 0 rows"),
    ("orchestration-does-not-wait", "orchestration-waits", "activities take 60 ms"),
    ("orchestration-forgets", "orchestration-workers", "have ended and are not, or not to their end, in the file"),
    ("orchestration-forgets", "orchestration-killed", "were acknowledged, and [4] are not, or"),
    ("orchestration-loses-end", "orchestration-workers", "have ended and are not, or not to their end, in the file"),
    ("orchestration-loses-end", "orchestration-killed", "were acknowledged, and [4] are not, or"),
    ("orchestration-lies-about-pragma", "orchestration-settings", "the file, opened by the suite, has delete"),
    ("orchestration-never-ticks", "orchestration-ticks", "0 ticks were heard"),
    ("orchestration-shrinks-payload", "orchestration-large", "activities handed back 24576 bytes"),
    ("outlives-core", "ends-alone", "nobody hears it any more"),
    ("primary-codes", "error-names", "SQLITE_CONSTRAINT_UNIQUE is due"),
    ("prints-garbage", "answers", "Inserting rows, please wait..."),
    ("prints-goodbye", "waits-for-go", "when its input ended before `go`: "),
    ("probe-exaggerates", "stall", "inline: of "),
    ("probe-sees-nothing", "stall", "its timers saw 0 ms"),
    ("queue-accepts-sql", "queue-refusals", "SQL: it said `ready` in place of `failed`"),
    ("queue-changes-payload", "queue-claims", "that of task 0 was 0 times"),
    ("queue-claims-twice", "queue-workers", "that of task 99 was 2 times"),
    ("queue-claims-unlocked", "queue-workers", "was 2 times"),
    ("queue-completes-nothing", "queue-completes", "left the file as it was"),
    ("queue-keeps-failed", "queue-fails", "were [(1, 3), (1, 0), (0, 0)]"),
    ("queue-lies-about-pragma", "queue-settings", "the file, opened by the suite, has delete"),
    ("queue-lies-about-pragma", "queue-busy", "busy_timeout: 0ns was asked for"),
    ("queue-loses-task", "queue-answers", "10 times `enqueue` are due"),
    ("queue-loses-task", "queue-claims", "of 40 tasks and 4 claims more"),
    ("queue-loses-task", "queue-killed", "claimed and claimed in vain were"),
    ("queue-never-empty", "queue-claims", "of 40 tasks and 4 claims more"),
    ("queue-never-ticks", "queue-ticks", "0 ticks were heard"),
    ("repeats-settings", "settings-at-end", "a connection has another cache_size at its end"),
    ("skips-late-starts", "late-starts", "longest lag"),
    ("slow-clock", "time-limit", "one took"),
    ("speaks-after-result", "answers", "it said `result` after its result"),
    ("starts-early", "waits-for-go", "it was not told to go"),
    ("stops-late", "until-role", "the trial took"),
    ("ticks-hide-busy", "retry", "6 errors, 0 of them busy"),
    ("ticks-hide-lag", "probe", "ticks tell how late its timers ran"),
    ("ticks-shorten-lag", "stall", "its ticks told of 1 ms"),
    ("trusts-hashes", "verify", "checked and wrong"),
    ("waits-for-ever", "drain", "and it gave its result after"),
    ("wrong-values", "values", "the reference draws"),
    ("wrong-values", "content", "the content's hash is"),
    // Other drivers of the mock do not implement `inspect`.
    ("miscounts", "inspect", "exit status: 1"),
    ("hides-upgrade", "inspect-dsn", "it does not report `upgrade`"),
];

/// The same for faults of server drivers.
const SERVER_LIES: &[(&str, &str, &str)] = &[
    ("server-counts-more", "sharing", "was to do 61 transactions and did 62"),
    ("server-counts-more", "time-limit", "rows are there"),
    ("server-hides-errors", "connection-gone", "failed with the code None"),
    ("server-hides-errors", "connection-lost", "is CONNECTION_LOST, and it saw [\"internal_error\"]"),
    ("server-hides-errors", "deadlock", "a deadlock is deadlock_detected, and it saw [\"internal_error\"]"),
    ("server-hides-errors", "error-names", "unique_violation is due"),
    ("server-hides-errors", "refusals", "its code is none, not"),
    ("server-loses-row", "content", "the content's hash is"),
    ("server-loses-row", "databases", "rows are there"),
    ("server-takes-settings-back", "settings-by-effect", "default_transaction_read_only: on was asked for"),
    ("server-takes-settings-back", "settings-by-sql", "on the connection of worker"),
    ("server-tries-once", "connection-lost", "one of 40 lost its connection"),
    ("server-tries-once", "deadlock", "with 100 attempts"),
    ("server-tries-once", "retry", "3 tries"),
];

fn look(suite: &Suite<'_>, driver: &str, check: &str) -> CheckOutcome {
    let report =
        suite.clone().only(&[check]).check(&format!("mock:{driver}"), &mut |_| {}).expect("a driver of the mock");
    assert!(!report.passed() || report.drivers[0].checks[0].verdict == CheckVerdict::Passed);
    report.drivers[0].checks[0].clone()
}

#[test]
fn every_lie_is_caught_and_named() {
    let runners = common::runners();
    let scratch = common::scratch();
    let suite = Suite::new(&runners, scratch.path());
    // Drivers that hang get short limits, the others the default, because a busy machine may delay them.
    let second = Duration::from_secs(1);
    let usual = common::patience();
    let impatient = suite.clone().patience(Patience { ready: 4 * second, ..usual });
    let silent = suite.clone().patience(Patience { silence: second, ..usual });
    all_are_caught(LIES, &|driver| match driver {
        "hangs" => &silent,
        "hangs-before-ready" => &impatient,
        _ => &suite,
    });
}

#[cfg(feature = "servers")]
#[test]
fn every_lie_about_a_server_is_caught_and_named() {
    let Some(server) = common::server() else { return };
    let runners = common::runners();
    let scratch = common::scratch();
    let mut urls = litelab_engine::Urls::default();
    urls.add(&format!("postgres={}", server.url())).expect("its url");
    let suite = Suite::new(&runners, scratch.path()).urls(&urls);
    // The honest driver must pass all of these checks, so that only the lie can be the cause of a failure.
    let checks: BTreeSet<&str> = SERVER_LIES.iter().map(|(_, check, _)| *check).collect();
    let checks: Vec<&str> = checks.into_iter().collect();
    std::thread::scope(|scope| {
        let honest = scope.spawn(|| suite.clone().only(&checks).check("mock:server", &mut |_| {}).expect("a driver"));
        all_are_caught(SERVER_LIES, &|_| &suite);
        let honest = honest.join().expect("no panic");
        assert!(honest.passed() && honest.drivers[0].checks.len() == checks.len(), "{honest:#?}");
    });
    let mut admin = litelab_servers::Admin::connect(server.url()).expect("it answers");
    let left = admin.number("public", "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'litelab%'");
    assert_eq!(left.expect("a number"), 0.0, "schemas are left");
}

/// Runs the check for each lie, with the limits that suit its driver.
fn all_are_caught<'a>(lies: &[(&str, &str, &str)], suite: &(dyn Fn(&str) -> &'a Suite<'a> + Sync)) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let wrong = std::sync::Mutex::new(Vec::new());
    // Four threads: a check mostly waits.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some((driver, check, words)) =
                    lies.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
                {
                    let found = look(suite(driver), driver, check);
                    if found.verdict != CheckVerdict::Failed || !found.detail.contains(words) {
                        wrong.lock().expect("no panic").push(format!("{driver}: {found:?} lacks `{words}`"));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no panic");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_check_and_every_lie_has_its_line() {
    let lies = || LIES.iter().chain(SERVER_LIES);
    let checked: BTreeSet<&str> = lies().map(|(_, check, _)| *check).collect();
    let all = [CHECKS, QUEUE_CHECKS, ORCHESTRATION_CHECKS, SERVER_CHECKS];
    let known: BTreeSet<&str> = all.iter().flat_map(|checks| checks.iter()).map(|c| c.name).collect();
    assert_eq!(checked, known);
    let runners = common::runners();
    let drivers = &runners.get("mock").expect("found").manifest.drivers;
    let lying: BTreeSet<&str> = lies().map(|(driver, ..)| *driver).collect();
    let listed: BTreeSet<&str> = drivers
        .iter()
        .map(String::as_str)
        .filter(|d| !["scripted", "noop", "queue", "orchestration", "server"].contains(d))
        .collect();
    assert_eq!(lying, listed);
}

#[test]
fn a_description_that_is_wrong_ends_the_examination() {
    let scratch = common::scratch();
    let all = common::runners().get("mock").expect("found").manifest.drivers.clone();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let more: Vec<&str> = all.iter().copied().chain(["postgres"]).collect();
    for (name, words, drivers, said) in [
        ("mock", vec!["--protocol=99"], &all, "it speaks protocol 99, this is protocol 3"),
        ("mockingbird", vec![], &all, "it calls itself `mock`"),
        ("mock", vec![], &more, "lists the driver `postgres`"),
        ("mock", vec![], &all[..all.len() - 1].to_vec(), "that runner.toml does not list"),
    ] {
        let home = tempfile::tempdir_in(scratch.path()).expect("folder");
        let runners = common::disguise(home.path(), name, &words, drivers, "");
        let report = Suite::new(&runners, scratch.path()).check(name, &mut |_| {}).expect("found");
        let nothing = report.drivers.is_empty() && report.absent.is_empty();
        assert!(!report.passed() && nothing, "{name} {words:?}");
        let (driver, failure) = report.failures().next().expect("failed");
        assert_eq!((driver, failure.name.as_str()), (None, "describes-itself"));
        assert!(failure.detail.contains(said), "{}", failure.detail);
    }
}

#[test]
fn a_runner_that_does_not_work_at_all_is_not_waited_for_thirty_times() {
    let runners = common::runners();
    let scratch = common::scratch();
    let second = Duration::from_secs(1);
    let patience = Patience { ready: second, silence: second, progress: second, trial: second };
    let suite = Suite::new(&runners, scratch.path()).patience(patience);
    let report = suite.check("mock:hangs-before-ready", &mut |_| {}).expect("found");
    let checks = &report.drivers[0].checks;
    assert_eq!(checks.len(), CHECKS.len());
    assert_eq!(checks[0].verdict, CheckVerdict::Failed);
    assert!(checks[1..].iter().all(|c| c.verdict == CheckVerdict::Skipped && c.detail.contains("`answers` failed")));
    assert!(!report.passed());
}

#[test]
fn an_unknown_name_is_an_error_and_no_report() {
    let runners = common::runners();
    let scratch = common::scratch();
    let suite = Suite::new(&runners, scratch.path());
    for (name, words) in [("mok", "unknown runner `mok`"), ("mock:hang", "unknown driver `hang`")] {
        let error = suite.check(name, &mut |_| {}).expect_err("unknown").to_string();
        assert!(error.contains(words), "{error}");
    }
}
