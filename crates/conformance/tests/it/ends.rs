//! Runners that hang, what remains after them, and the file and folder of a run while other processes use them.

use crate::common::{self, options};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use litelab_engine::event::RunEvent;
use litelab_engine::trial::Patience;
use litelab_engine::{EngineError, Run, RunOptions, Runners};
use litelab_model::Plan;
use rusqlite::Connection;

fn plan(folder: &Path, driver: &str, rounds: u32) -> Plan {
    let study = format!(
        "rounds = {rounds}\n[[scenario]]\nname = \"one\"\nworkload = \"w.toml\"\ndriver = \"{driver}\"\n\
         profile = \"wal-normal\"\nrole.w = {{ run = \"insert\", count = 10 }}"
    );
    common::plan(folder, common::INSERTS, &study)
}

/// The mock, after these lines of shell script.
fn script(home: &Path, lines: &str) -> Runners {
    common::wrapped(home, "mock", lines)
}

/// Whether the process whose number is in this file has ended.
fn is_gone(file: &Path) -> bool {
    let pid = std::fs::read_to_string(file).expect("its number");
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    // A zombie counts as ended.
    stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with(['Z', 'X']))
}

fn until(what: &str, mut happens: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !happens() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_runner_that_does_not_answer_is_given_up_when_the_run_is_to_stop() {
    let (folder, stop) = (common::scratch(), AtomicBool::new(true));
    let number = folder.path().join("number");
    let runners = script(folder.path(), &format!("sleep 1000 & echo $! >'{}'; wait", number.display()));
    let begun = Run::new(plan(folder.path(), "mock:scripted", 1), "", options(folder.path()), &runners, &stop);
    assert!(matches!(begun.err(), Some(EngineError::Interrupted)));
    assert!(!options(folder.path()).file.exists());
    until("what it has started ends", || is_gone(&number));
}

#[test]
fn what_a_runner_has_started_ends_with_it() {
    let folder = common::scratch();
    let number = folder.path().join("number");
    let runners = script(folder.path(), &format!("sleep 1000 >/dev/null 2>&1 & echo $! >'{}'", number.display()));
    let ended = common::execute(plan(folder.path(), "mock:scripted", 1), &options(folder.path()), &runners);
    assert_eq!((ended.rounds, ended.failed), (1, 0));
    until("what it has started ends", || is_gone(&number));
}

#[test]
fn a_run_does_not_go_on_with_another_program_of_a_runner() {
    let (folder, stop) = (common::scratch(), AtomicBool::new(true));
    let runners = script(folder.path(), "# one");
    let ended = Run::new(plan(folder.path(), "mock:scripted", 2), "", options(folder.path()), &runners, &stop)
        .and_then(|run| run.execute(&mut |_| {}));
    assert!(ended.expect("stopped at once").interrupted);
    stop.store(false, Ordering::Relaxed);
    // Its description has not changed.
    let changed = script(folder.path(), "# two");
    let error = Run::resume(options(folder.path()), &changed, &stop).err().expect("changed");
    let names = |e: &str| e.contains("the program of runner `mock` has changed") && e.contains("begin a new run");
    assert!(matches!(&error, EngineError::BadInput(e) if names(e)), "{error}");
    let restored = script(folder.path(), "# one");
    assert_eq!(common::resume(&options(folder.path()), &restored).rounds, 2);
}

#[test]
fn a_reader_of_the_run_file_delays_a_round_and_loses_none() {
    let (folder, runners, stop) = (common::scratch(), common::runners(), AtomicBool::new(false));
    let options = options(folder.path());
    let run = Run::new(plan(folder.path(), "mock:scripted", 2), "", options.clone(), &runners, &stop).expect("checked");
    let (mut reader, mut held) = (None, 0);
    let ended = run
        .execute(&mut |event| match event {
            RunEvent::TrialEnded { record, .. } if record.round == 0 => {
                let connection = Connection::open(&options.file).expect("opens");
                connection.execute_batch("BEGIN; SELECT count(*) FROM trial").expect("reads");
                reader = Some(connection);
            }
            // Longer than SQLite's own timeout.
            RunEvent::FileHeld { seconds, .. } => {
                held += 1;
                if seconds > 5 {
                    reader = None;
                }
            }
            _ => {}
        })
        .expect("executes");
    assert!(held > 1, "the reader was in nobody's way, so this shows nothing");
    assert_eq!((ended.rounds, ended.interrupted), (2, false));
    assert_eq!(common::info(&options.file).rounds(), 2);
}

#[test]
fn a_run_that_waits_for_a_reader_can_be_stopped() {
    let (folder, runners, stop) = (common::scratch(), common::runners(), AtomicBool::new(false));
    let options = options(folder.path());
    let run = Run::new(plan(folder.path(), "mock:scripted", 2), "", options.clone(), &runners, &stop).expect("checked");
    let mut reader = None;
    let ended = run
        .execute(&mut |event| match event {
            RunEvent::TrialEnded { record, .. } if record.round == 1 => {
                let connection = Connection::open(&options.file).expect("opens");
                connection.execute_batch("BEGIN; SELECT count(*) FROM trial").expect("reads");
                reader = Some(connection);
            }
            RunEvent::FileHeld { .. } => stop.store(true, Ordering::Relaxed),
            _ => {}
        })
        .expect("executes");
    assert_eq!((ended.rounds, ended.interrupted, reader.is_some()), (1, true, true));
}

#[test]
fn a_run_file_is_one_processs_from_its_beginning() {
    let (folder, runners, stop) = (common::scratch(), common::runners(), AtomicBool::new(false));
    let options = options(folder.path());
    let run = Run::new(plan(folder.path(), "mock:scripted", 1), "", options.clone(), &runners, &stop).expect("checked");
    let refused = Run::resume(options.clone(), &runners, &stop).err().expect("it is being run");
    assert!(matches!(&refused, EngineError::Record(e) if e.is_bad_input()), "{refused}");
    drop(run);
    assert_eq!(common::resume(&options, &runners).rounds, 1);
}

/// Processes of a program that this process has started, oldest first.
fn children(program: &str) -> Vec<u32> {
    let own = std::process::id().to_string();
    let is_mine = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(1));
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        parent == Some(own.as_str()) && String::from_utf8_lossy(&line).contains(program)
    };
    let all = std::fs::read_dir("/proc").expect("there").flatten();
    let mut mine: Vec<u32> = all.filter_map(|e| e.file_name().to_str()?.parse().ok()).filter(is_mine).collect();
    mine.sort_unstable();
    mine
}

#[test]
fn of_several_processes_each_is_noticed_when_it_hangs() {
    hangs("processes", 2);
}

/// Nothing that it has started ticks in its place.
#[test]
fn a_process_that_is_stopped_with_its_threads_is_noticed() {
    hangs("threads", 1);
}

/// Stops the last of the processes of a trial by count.
fn hangs(executor: &str, processes: usize) {
    let (folder, stop) = (common::scratch(), AtomicBool::new(false));
    // The program has a unique name, so that no other test's processes are stopped.
    let home = folder.path().join("home");
    let honest = common::home().join("target/release/litelab-runner-rusqlite");
    common::runners();
    let name = format!("{executor}-hangs-in-a-test");
    std::fs::create_dir_all(&home).expect("folder");
    std::fs::copy(honest, home.join(&name)).expect("copied");
    let program = home.join(&name).display().to_string();
    let runners = common::write_runner(&home, "rusqlite", &[&program], &["rusqlite"], "");
    let study = format!(
        "rounds = 1\n[[scenario]]\nname = \"one\"\nworkload = \"w.toml\"\ndriver = \"rusqlite:rusqlite\"\n\
         profile = \"wal-normal\"\nexecutor = \"{executor}\"\nrole.w = {{ run = \"insert\", workers = 2, count = 1000000000 }}"
    );
    let plan = common::plan(folder.path(), common::INSERTS, &study);
    let patience = Patience { silence: Duration::from_secs(2), trial: Duration::from_secs(100), ..Patience::default() };
    let options = RunOptions { patience, ..options(folder.path()) };
    let run = Run::new(plan, "", options.clone(), &runners, &stop).expect("checked");
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| {
            // Each process starts when the one before it is ready; all work once there are rows.
            until("all work", || children(&name).len() == processes);
            std::thread::sleep(Duration::from_millis(500));
            let last = children(&name)[processes - 1].to_string();
            assert!(Command::new("kill").args(["-STOP", &last]).status().expect("kill").success());
        });
        run.execute(&mut |_| {}).expect("executes")
    });
    assert_eq!((ended.rounds, ended.failed), (1, 1));
    // And not that the trial was not over, which another process alone would have made of it.
    let reason = reason(&options.file);
    assert!(reason.contains("the runner hung: it said nothing for 2 s"), "{reason}");
}

/// Why the only trial of a run failed.
fn reason(file: &Path) -> String {
    common::failed(common::trials(file).remove(0).record.outcome).reason
}

/// Its first thread ticks on, and so does a role that ends with the one that hangs.
#[test]
fn a_worker_that_hangs_in_a_trial_by_count_is_noticed() {
    let (folder, runners) = (common::scratch(), common::runners());
    let endless = "\n[transaction.endless]\nsql = \"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT count(*) FROM n\"\n\
        [transaction.read]\nsql = \"SELECT count(*) FROM t\"\n";
    let study = "rounds = 1\n[[scenario]]\nname = \"one\"\nworkload = \"w.toml\"\ndriver = \"rusqlite:rusqlite\"\n\
        profile = \"wal-normal\"\nrole.w = { run = \"endless\", count = 1 }\nrole.r = { run = \"read\", until = \"w\" }";
    let plan = common::plan(folder.path(), &format!("{}{endless}", common::INSERTS), study);
    let second = Duration::from_secs(1);
    let patience = Patience { progress: 2 * second, trial: 100 * second, ..Patience::default() };
    let options = RunOptions { patience, ..options(folder.path()) };
    assert_eq!(common::execute(plan, &options, &runners).failed, 1);
    let reason = reason(&options.file);
    assert!(reason.contains("the runner hung: no transaction ended for 2 s"), "{reason}");
}

#[test]
fn nothing_of_a_run_lies_in_its_directory_but_in_a_folder_that_others_remove() {
    let (folder, runners, stop) = (common::scratch(), common::runners(), AtomicBool::new(false));
    let options = options(folder.path());
    let over = AtomicBool::new(false);
    let seen: Vec<PathBuf> = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut seen = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let entries = std::fs::read_dir(&options.directory).into_iter().flatten().flatten();
                seen.extend(entries.map(|entry| entry.path()));
                seen.dedup();
            }
            seen
        });
        // The run probes the disk here.
        let run = Run::new(plan(folder.path(), "mock:scripted", 1), "", options.clone(), &runners, &stop);
        let ended = run.and_then(|run| run.execute(&mut |_| {}));
        over.store(true, Ordering::Relaxed);
        ended.expect("executes");
        watcher.join().expect("looked")
    });
    assert!(!seen.is_empty());
    let prefix = litelab_engine::scratch::prefix();
    let name = |path: &PathBuf| path.file_name().expect("named").to_string_lossy().into_owned();
    let others: Vec<String> = seen.iter().map(name).filter(|name| !name.starts_with(&prefix)).collect();
    assert_eq!(others, Vec::<String>::new());
}
