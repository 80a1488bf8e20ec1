//! Ends without warning: a kill at any moment, and a full disk.

use crate::common::{self, options};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use litelab_engine::{Run, RunOptions};
use litelab_model::Plan;
use litelab_record::outcome::{FailureKind, Outcome};
use litelab_record::{RunFile, StoredTrial};
use rusqlite::Connection;
use serde_json::json;

/// Environment variable with the folder for [`child`]; without it the child does nothing.
const FOLDER: &str = "LITELAB_TEST_FOLDER";
const ROUNDS: u32 = 45;

fn plan(folder: &Path) -> Plan {
    let study = format!(
        "rounds = {ROUNDS}\n[[scenario]]\nname = \"one\"\nworkload = \"w.toml\"\ndriver = \"mock:scripted\"\n\
         profile = \"wal-normal\"\nvars.x = 0\nrole.w = {{ run = \"insert\", count = 10 }}\nvary.x = [1, 2]"
    );
    let mut plan = common::plan(folder, common::INSERTS, &study);
    common::script(&mut plan.variants, &json!({ "pause_ms": 3 }));
    plan
}

/// The child process of the test below: starts a run or resumes it.
#[test]
#[ignore = "started by another test"]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let (runners, stop) = (common::runners(), AtomicBool::new(false));
    let options = options(&folder);
    let run = if options.file.exists() && RunFile::open(&options.file).and_then(|f| f.info()).is_ok() {
        Run::resume(options, &runners, &stop)
    } else {
        Run::new(plan(&folder), "", options, &runners, &stop)
    };
    run.and_then(|r| r.execute(&mut |_| {})).expect("executes");
}

/// This program with one of the tests that only other tests start.
fn this_program(test: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("own path"));
    command.args(["--exact", test, "--ignored"]).env(FOLDER, folder).env(common::PROGRAMS_BUILT, "1");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Number of rounds in a file. All must be complete.
fn whole_rounds(file: &Path) -> u32 {
    let info = common::info(file);
    let connection = Connection::open(file).expect("opens");
    let check: String = connection.query_row("PRAGMA integrity_check", [], |r| r.get(0)).expect("checked");
    assert_eq!(check, "ok");
    let ragged: i64 = connection
        .query_row(
            "SELECT count(*) FROM round WHERE (SELECT count(*) FROM trial WHERE trial.round = round.number) <> 2",
            [],
            |r| r.get(0),
        )
        .expect("counted");
    let (rounds, highest): (i64, i64) = connection
        .query_row("SELECT count(*), ifnull(max(number) + 1, 0) FROM round", [], |r| Ok((r.get(0)?, r.get(1)?)))
        .expect("counted");
    assert_eq!((ragged, rounds), (0, highest));
    assert_eq!(i64::from(info.rounds()), rounds);
    info.rounds()
}

#[test]
fn a_run_killed_at_any_moment_is_a_shorter_valid_run() {
    let runners = common::runners();
    let folder = common::scratch();
    let file = options(folder.path()).file;
    let (mut rounds, mut kills) = (0, 0);
    // Delays spread over the start, the trials and the commits of a run; the first kill comes when the file is seen,
    // and the long delays are for a slow disk that has stored nothing yet.
    for wait in [0, 60, 210, 137, 333, 171, 258, 419, 93, 1_500, 5_000, 15_000] {
        if wait > 1_000 && rounds > 0 {
            break;
        }
        let mut child = this_program("killed::child", folder.path()).spawn().expect("starts");
        // The delay counts from the creation of the run file.
        let known = file.metadata().and_then(|m| m.modified()).ok();
        for _ in 0..3_000 {
            if file.metadata().and_then(|m| m.modified()).ok() != known || child.try_wait().expect("asked").is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        std::thread::sleep(Duration::from_millis(wait));
        let finished = child.try_wait().expect("asked").is_some();
        child.kill().expect("killed");
        child.wait().expect("reaped");
        if finished {
            break;
        }
        kills += 1;
        // The file appears whole, or not at all.
        if !file.exists() {
            continue;
        }
        let now = whole_rounds(&file);
        assert!(now >= rounds, "{rounds} rounds have become {now}");
        rounds = now;
    }
    assert!(kills >= 3 && rounds > 0, "{kills} kills, {rounds} rounds");
    println!("{kills} kills, {rounds} rounds");
    if whole_rounds(&file) < ROUNDS {
        common::resume(&options(folder.path()), &runners);
    }
    assert_eq!(whole_rounds(&file), ROUNDS);
    assert!(common::info(&file).finished.is_some());
    // The next run must have removed the files that the killed runs left in their directory.
    let left: Vec<_> =
        std::fs::read_dir(options(folder.path()).directory).expect("there").flatten().map(|e| e.path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The child process of the test below: ends in the middle of a transaction that has already reached the file.
#[test]
#[ignore = "started by another test"]
fn child_that_dies_while_it_writes() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let connection = Connection::open(options(&folder).file).expect("opens");
    // With a cache of one page the transaction spills into the file before it commits.
    connection.execute_batch("PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN IMMEDIATE").expect("begins");
    connection
        .execute_batch(
            "INSERT INTO round VALUES (0, 1000, '', '', '{}'); \
             INSERT INTO run SELECT 'x' || value, hex(randomblob(3000)) FROM json_each('[1,2,3,4,5,6,7,8,9]')",
        )
        .expect("writes");
    std::process::abort();
}

#[test]
fn a_commit_cut_short_is_rolled_back_by_the_next_reader() {
    let (runners, folder, stop) = (common::runners(), common::scratch(), AtomicBool::new(true));
    let options = options(folder.path());
    let begun =
        Run::new(plan(folder.path()), "", options.clone(), &runners, &stop).and_then(|r| r.execute(&mut |_| {}));
    assert!(begun.expect("stopped at once").interrupted);
    let status = this_program("killed::child_that_dies_while_it_writes", folder.path()).status().expect("ran");
    assert!(!status.success());
    let journal = folder.path().join("run.db-journal");
    assert!(journal.metadata().is_ok_and(|m| m.len() > 0), "there is no hot journal, so this shows nothing");
    // A database that is not a run file: it is refused, and its journal is not rolled back.
    let (foreign, beside) = (folder.path().join("app.db"), folder.path().join("app.db-journal"));
    let mut bytes = std::fs::read(&options.file).expect("read");
    bytes[68..72].fill(0);
    std::fs::write(&foreign, &bytes).expect("written");
    std::fs::copy(&journal, &beside).expect("copied");
    assert!(RunFile::open(&foreign).is_err());
    assert_eq!(std::fs::read(&foreign).expect("read"), bytes);
    assert_eq!(std::fs::read(&beside).expect("read"), std::fs::read(&journal).expect("read"));

    assert_eq!(whole_rounds(&options.file), 0);
}

/// A small file system in memory; `None` where the test may not mount one.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(size: &str) -> Option<Self> {
        let folder = common::scratch();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "litelab-test"])
            .arg(folder.path())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|s| s.success());
        mounted.then(|| Self(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _gone = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_is_a_failed_row_and_the_next_trial_has_its_space_back() {
    let Some(disk) = SmallDisk::mount("3m") else {
        println!("skipped: mounting a small tmpfs needs root");
        return;
    };
    let (runners, folder) = (common::runners(), common::scratch());
    let workload = "schema.sql = \"CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT)\"\n[transaction.insert]\nbegin = \"immediate\"\n\
        sql = \"INSERT INTO t VALUES (:id, :x)\"\nparam.id = { sequence = {} }\nparam.x = { hex = 8000 }\n\
        [[invariant]]\nsql = \"SELECT count(*) FROM t\"\nequals = \"committed.insert\"\n";
    let study = "rounds = 2\n[[scenario]]\nname = \"full\"\nworkload = \"w.toml\"\ndriver = \"rusqlite:rusqlite\"\n\
        vars.n = 0\nrole.w = { run = \"insert\", count = \"$n\" }\nvary.n = [10, 400]\nvary.profile = [\"wal-normal\", \"delete-full\"]";
    let options = RunOptions { directory: disk.0.path().join("work"), ..options(folder.path()) };
    let plan = common::plan(folder.path(), workload, study);
    let variants: Vec<String> = (0..plan.variants.len()).map(|i| plan.variant_name(i)).collect();
    assert_eq!(common::execute(plan, &options, &runners).rounds, 2);
    let seen = common::trials(&options.file);
    assert_eq!(seen.len(), 8);
    for StoredTrial { record, .. } in seen {
        let name = &variants[record.variant];
        match record.outcome {
            Outcome::Measured(m) => {
                assert!(name.contains("n=10"), "{name} does not fit the disk, and it was measured: {:?}", m.flags);
                assert_eq!(m.result.operations[0].committed, 10);
            }
            Outcome::Failed(f) => {
                assert!(name.contains("n=400"), "{name}: {f:?}");
                assert!(f.reason.contains("SQLITE_FULL") || f.reason.contains("SQLITE_IOERR"), "{name}: {}", f.reason);
                assert_ne!(f.kind, FailureKind::Preparation, "{name}: {}", f.reason);
            }
        }
    }
}
