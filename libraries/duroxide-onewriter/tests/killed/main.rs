//! Kills a process at many moments while it runs orchestrations: everything that it reported as durable must be there
//! afterwards, and no change may be there in part.
//!
//! A separate test program, because the child is this program again and a kill ends all of it.
//!
//! `KILLS` sets the number of kills (default: 6). A kill does not lose data that the operating system holds; power loss
//! would, and is covered by the tests of another crate.

#![allow(clippy::unwrap_used, reason = "tests")]

mod check;
mod child;
mod stores;
#[path = "../it/through/mod.rs"]
mod through;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use check::{Kept, Told};

/// Store of the child process.
#[derive(Clone, Copy, PartialEq)]
enum Store {
    Durable,
    /// The durable store with [`Acks::Ordered`](duroxide_onewriter::Acks::Ordered). The test counts results received by
    /// clients, and what activities and later turns observed.
    Ordered,
    /// Like `Ordered`, but answers before it commits.
    OrderedHasty,
    /// Answers before it commits.
    Hasty,
    /// Commits a change in two halves.
    Halving,
}

impl Store {
    fn name(self) -> &'static str {
        match self {
            Self::Durable => "durable",
            Self::Ordered => "ordered",
            Self::OrderedHasty => "ordered-hasty",
            Self::Hasty => "hasty",
            Self::Halving => "halving",
        }
    }
}

/// Time of the kill after the child has begun: spread over its first 400 ms, and the same in each run.
fn moment(round: u64) -> Duration {
    Duration::from_millis(20 + (89 + 157 * round) % 400)
}

/// Starts the child, kills it after the time of the round, and returns the changes that it reported.
fn kill_one(path: &Path, store: Store, round: u64) -> Told {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_process", "--ignored", "--nocapture"])
        .env("CHILD_DATABASE", path)
        .env("CHILD_STORE", store.name())
        .env("CHILD_ROUND", round.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).split(b'\n').map(Result::unwrap);
    let begins = lines.by_ref().any(|line| line == b"told ready");
    assert!(begins, "the child has ended: {:?}", child.wait());
    let reader = std::thread::spawn(move || {
        let mut told = Told::default();
        // The last line may be incomplete: it then lacks its end mark and is ignored.
        lines.for_each(|line| told.hear(&String::from_utf8_lossy(&line)));
        told
    });
    std::thread::sleep(moment(round));
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

/// `ENOUGH`: number of acknowledged steps required for a meaningful check. `MORE`: limit of additional kills to reach
/// it, on a disk that stalls.
const ENOUGH: usize = 20;
const MORE: u64 = 60;

/// Kills children `times` times, and up to [`MORE`] more until [`ENOUGH`] steps are acknowledged. Stops early if `done`
/// accepts the inconsistencies found. Returns them.
fn kill(path: &Path, store: Store, times: u64, done: impl Fn(&[String]) -> bool) -> Vec<String> {
    let (mut told, mut wrong) = (Told::default(), Vec::new());
    for round in 0..times + MORE {
        if round >= times && told.steps() > ENOUGH {
            break;
        }
        told.add(kill_one(path, store, round));
        wrong = Kept::read(path).compare(&told);
        if done(&wrong) {
            break;
        }
    }
    assert!(told.steps() > ENOUGH || !wrong.is_empty(), "hardly anything was acknowledged: {told:?}");
    wrong
}

#[test]
fn what_was_acknowledged_is_there_and_nothing_is_there_by_half() {
    survives(Store::Durable);
}

/// Acknowledgements received by dispatchers may be lost; results received by clients, and the causes of activities, may
/// not.
#[test]
fn what_had_an_effect_is_there_though_dispatchers_do_not_wait() {
    survives(Store::Ordered);
}

fn survives(store: Store) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("orchestrations.db");
    let times = std::env::var("KILLS").map_or(6, |times| times.parse().expect("KILLS is a number"));
    let wrong = kill(&path, store, times, |wrong| !wrong.is_empty());
    assert_eq!(wrong, Vec::<String>::new());

    // Nothing is stuck: after reopening, all remaining work completes.
    let started = Kept::read(&path).instances();
    assert!(started.len() > 5, "hardly anything was started");
    child::complete(&path, &started);
    assert_eq!(Kept::read(&path).left(), (0, 0), "messages and work are left over");
}

#[test]
fn a_store_that_answers_before_it_commits_is_caught() {
    is_caught(Store::Hasty, 20, "was acknowledged");
}

#[test]
fn what_was_seen_too_early_is_caught() {
    is_caught(Store::OrderedHasty, 20, ": event ");
}

#[test]
fn a_store_that_commits_by_halves_is_caught() {
    is_caught(Store::Halving, 30, "by half");
}

/// Kills until the fault is detected with these words. The moment of a kill decides which effect of a fault shows
/// first.
fn is_caught(store: Store, times: u64, words: &str) {
    let folder = tempfile::tempdir().unwrap();
    let says = |wrong: &[String]| wrong.iter().any(|wrong| wrong.contains(words));
    let wrong = kill(&folder.path().join("orchestrations.db"), store, times, says);
    assert!(says(&wrong), "{wrong:?}");
}

#[test]
#[ignore = "the process that the others kill"]
fn child_process() {
    child::run();
}
