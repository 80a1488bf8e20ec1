#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use std::os::unix::fs::PermissionsExt as _;

use litelab_record::stacks::Stacks;

use super::{HERTZ, MISSING, Perf, SAMPLES, explain, fold, hertz};

/// Output of `perf script`, version 6.1, for a runner whose path is shortened.
const SAMPLE: &str = include_str!("sample.txt");

#[test]
fn samples_are_folded_from_the_thread_to_the_function_that_ran() {
    let folded = fold(SAMPLE.as_bytes()).unwrap();
    let stacks = Stacks::parse(&folded, 199);
    assert_eq!(stacks.samples() as usize, SAMPLE.matches("cpu-clock:").count());
    assert!(folded.lines().all(|line| line.starts_with("litelab-runner-;clone3;start_thread;")), "{folded}");
    let line = |end: &str| folded.lines().filter(|line| line.contains(end)).count();
    // Functions of the kernel are marked, and are above the function of the program that called them.
    assert_eq!(line("unixShmLock;__libc_fcntl64;__fcntl64_nocancel_adjusted;entry_SYSCALL_64_after_hwframe_[k];"), 1);
    assert_eq!(line("litelab_harness::threads::work;sqlite3_column_text 1"), 1);
    assert_eq!(fold(&b""[..]).unwrap(), "");
}

#[test]
fn a_refusal_names_the_remedy() {
    let forbidden = "Error:\nAccess to performance monitoring and observability operations is limited.\nConsider…\n";
    let said = explain(forbidden, "4");
    assert!(said.contains("perf_event_paranoid is 4") && said.contains("sysctl") && !said.contains('\n'), "{said}");
    let seccomp = "Error:\nThe sys_perf_event_open() syscall returned with 1 (Operation not permitted)\n";
    assert!(explain(seccomp, "").contains("not known"), "{}", explain(seccomp, ""));
    // A message that is not a refusal is passed on unchanged.
    assert_eq!(explain("Error:\n  unknown option `control'\nUsage: …", "2"), "perf failed: unknown option `control'");
    assert_eq!(explain("\n", "2"), "perf ended without a word");
}

#[test]
fn a_tool_that_is_missing_or_fails_is_told_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("perf");
    assert_eq!(Perf::find(&missing, folder.path()).unwrap_err(), MISSING);
    let script = |body: &str| {
        std::fs::write(&missing, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&missing, std::fs::Permissions::from_mode(0o755)).unwrap();
        // A program that another thread's child still has open for writing cannot be started yet.
        for _ in 0..100 {
            match Perf::find(&missing, folder.path()) {
                Err(error) if error.contains("busy") => std::thread::sleep(std::time::Duration::from_millis(50)),
                other => return other.map(|_| ()),
            }
        }
        panic!("the script stayed busy")
    };
    assert!(script("echo 'Permission denied' >&2; exit 1").unwrap_err().contains("sysctl"));
    assert_eq!(script("exit 0"), Ok(()));
}

#[test]
fn long_trials_are_sampled_less_often() {
    assert_eq!(hertz(None, 8), HERTZ);
    assert_eq!(hertz(Some(0), 8), HERTZ);
    assert_eq!(hertz(Some(10_000), 2), HERTZ);
    let long = hertz(Some(60_000), 4);
    assert!(f64::from(long) * 240.0 <= SAMPLES + 240.0 && long % 2 == 1, "{long}");
    assert_eq!(hertz(Some(u64::MAX), 512), 19);
}
