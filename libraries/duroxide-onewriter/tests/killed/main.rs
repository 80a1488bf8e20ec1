//! A process is killed at many moments while it runs orchestrations: whatever it was told is on the disk has to be there
//! afterwards, and nothing may be there by half.
//!
//! A program of its own: the child is this program again, and a kill ends all of it.
//!
//! `KILLS` says how often (default: 6). A kill leaves to the disk what the operating system has; a loss of power would not,
//! and is another crate's test.

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

/// What the child writes to.
#[derive(Clone, Copy, PartialEq)]
enum Store {
    Durable,
    /// The same, and its dispatchers do not wait for the disk: what counts is what clients were told, and what
    /// activities and later turns saw.
    Ordered,
    /// As `Ordered`, and answers before it commits.
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

/// When the child of a round is killed, after it has begun: moments spread over its first 400 ms, the same in each run.
fn moment(round: u64) -> Duration {
    Duration::from_millis(20 + (89 + 157 * round) % 400)
}

/// Starts the child, kills it some time after it has begun, and returns what it was told until then.
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
        // The last line may be torn: it has no end then, and what it would have said was not said.
        lines.for_each(|line| told.hear(&String::from_utf8_lossy(&line)));
        told
    });
    std::thread::sleep(moment(round));
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

/// Steps that were acknowledged, without which nothing is seen; and how many more kills there may be until there are so
/// many, on a disk that stalls.
const ENOUGH: usize = 20;
const MORE: u64 = 60;

/// Kills children until `done` is satisfied with what is wrong, at most so often. What was wrong.
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

/// What its dispatchers were told may be missing; what clients were told, and what activities were made of, may not.
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

    // And nothing is stuck: whoever opens it finds everything that there is still to do.
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

/// Kills until it is found wrong in these words: what a kill shows first depends on its moment, and may be something
/// else that the same fault has done.
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
