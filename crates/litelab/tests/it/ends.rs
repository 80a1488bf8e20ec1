//! A run stays on one disk, locks its run file, and ends in every case; commands that read files end too.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::common::{ends, litelab, names, refused, rounds, run, said, send, study, until};

/// Runs two rounds into `k.db`, with databases in `there`.
const RUN: [&str; 10] =
    ["run", "smoke", "--rounds", "2", "-o", "k.db", "--only", "processes", "--no-calibration", "--dir=there"];

/// A run file whose second round is missing, as after a kill.
fn stopped(folder: &Path) {
    ends(&run(folder, &RUN), 0);
    remove_last_round(folder);
}

fn remove_last_round(folder: &Path) {
    sql(
        folder,
        "DELETE FROM series WHERE trial IN (SELECT id FROM trial WHERE round = 1); DELETE FROM trial WHERE round = 1; \
         DELETE FROM round WHERE number = 1; DELETE FROM run WHERE key = 'finished'",
    );
}

fn sql(folder: &Path, sql: &str) {
    rusqlite::Connection::open(folder.join("k.db")).unwrap().execute_batch(sql).unwrap();
}

/// A run that takes minutes, returned after its first round is stored.
fn going(command: &mut Command, folder: &Path) -> Child {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    rounds(&folder.join("k.db"), 1);
    child
}

fn long(folder: &Path) -> Command {
    litelab(folder, &["run", "smoke", "--rounds", "400", "-o", "k.db", "--only", "sharing", "--no-calibration"])
}

/// Output of a child that was asked to end; kills it after 30 s.
fn ended(mut child: Child) -> Output {
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(30) {
            child.kill().unwrap();
            panic!("it was asked to end and did not");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

#[test]
fn a_run_goes_on_in_its_directory_and_on_no_other_file_system() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    stopped(dir);
    std::fs::remove_dir(dir.join("there")).unwrap();
    // On another file system than the first one.
    let elsewhere = tempfile::tempdir_in("/dev/shm").unwrap();
    let elsewhere = elsewhere.path().to_str().unwrap();
    let line = refused(dir, &["run", "--resume", "k.db", "--dir", elsewhere]);
    assert!(line.contains("k.db: its rounds were measured on") && line.contains("tmpfs at /dev/shm"), "{line}");
    assert!(line.contains("--dir") && line.contains("begin a new run"), "{line}");
    // Also from another working directory.
    std::fs::create_dir(dir.join("other")).unwrap();
    ends(&run(&dir.join("other"), &["run", "--resume", "../k.db"]), 0);
    assert!(dir.join("there").is_dir());
    assert_eq!(names(&dir.join("other")), [""; 0]);
}

#[test]
fn what_would_have_no_effect_or_destroy_the_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    stopped(dir);
    for option in [&["--dry-run"][..], &["--rounds", "3"], &["--only", "processes"], &["--quick"], &["-o", "x.db"]] {
        let line = refused(dir, &[&["run", "--resume", "k.db"], option].concat());
        assert!(line.contains("--resume"), "{line}");
    }
    assert!(refused(dir, &["run", "smoke", "--resume", "k.db"]).contains("--resume"));
    std::os::unix::fs::symlink(dir.join("k.db"), dir.join("alias.db")).unwrap();
    for output in ["k.db", "alias.db"] {
        assert!(refused(dir, &["export", "k.db", "-o", output]).contains("this is the run file itself"));
    }
    // The SQL of a run file is checked as that of a study is.
    let before = std::fs::read(dir.join("k.db")).unwrap();
    sql(
        dir,
        "UPDATE run SET value = replace(value, 'PRAGMA synchronous = ', 'ATTACH ''x'' AS x; PRAGMA synchronous = ')",
    );
    let line = refused(dir, &["run", "--resume", "k.db"]);
    assert!(line.contains("is not one statement PRAGMA"), "{line}");
    std::fs::write(dir.join("k.db"), before).unwrap();
    ends(&run(dir, &["run", "--resume", "k.db"]), 0);
}

#[test]
fn a_run_goes_on_with_the_data_it_began_with() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let app = |sql: &str| rusqlite::Connection::open(dir.join("app.db")).unwrap().execute_batch(sql).unwrap();
    app("CREATE TABLE note(id INTEGER PRIMARY KEY, text)");
    let workload = "data.from = \"app.db\"\n[transaction.t]\nsql = \"INSERT INTO note(text) VALUES ('x')\"";
    study(dir, "rounds = 2\nrole.r = { run = \"t\", count = 5 }", workload);
    ends(&run(dir, &["run", "s.toml", "-o", "k.db", "--no-calibration"]), 0);
    remove_last_round(dir);
    ends(&run(dir, &["run", "--resume", "k.db"]), 0);
    remove_last_round(dir);
    app("INSERT INTO note(text) VALUES ('later')");
    let line = refused(dir, &["run", "--resume", "k.db"]);
    assert!(line.contains("app.db, which the data come from, has changed since this run began"), "{line}");
}

#[test]
fn a_run_that_began_on_a_server_of_the_users_goes_on_there_only() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    stopped(dir);
    let server = r#"{"postgres": {"version": "PostgreSQL 17.0", "url": "postgres://me@db/app", "own": true}}"#;
    sql(dir, &format!("INSERT INTO run(key, value) VALUES ('servers', '{server}')"));
    let line = refused(dir, &["run", "--resume", "k.db"]);
    assert!(line.contains("server `postgres` was your own (postgres://me@db/app): name it with --url"), "{line}");
}

#[test]
fn a_run_file_of_before_its_directory_was_kept_is_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    stopped(dir);
    sql(dir, "DELETE FROM run WHERE key = 'directory'");
    ends(&run(dir, &["run", "--resume", "k.db"]), 0);
    assert!(dir.join("litelab-runs").is_dir());
}

#[test]
fn a_second_process_is_refused_at_once_and_the_first_goes_on_until_ctrl_c() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let child = going(&mut long(dir), dir);
    let line = refused(dir, &["run", "--resume", "k.db"]);
    assert!(line.contains("k.db: another litelab is running this run"), "{line}");
    std::os::unix::fs::symlink(dir.join("k.db"), dir.join("alias.db")).unwrap();
    assert!(refused(dir, &["run", "--resume", "alias.db"]).contains("another litelab is running"));
    assert!(refused(dir, &["run", "smoke", "-o", "k.db"]).contains("this file exists"));
    rounds(&dir.join("k.db"), 3);
    send("-INT", &[child.id()]);
    let output = ended(child);
    assert!(ends(&output, 130).contains("── sharing"), "what is there is shown");
    assert!(said(&output).contains("go on with `litelab run --resume k.db`"));
    assert_eq!(names(dir), ["alias.db", "k.db", "litelab-runs"], "no lock is left");
}

#[test]
fn a_closed_terminal_ends_a_run_well_unless_it_is_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    // Under nohup the child would inherit the ignored SIGHUP.
    let own = long(dir);
    let mut heeding = Command::new("env");
    heeding.arg("--default-signal=HUP").arg(own.get_program()).args(own.get_args());
    let child = going(heeding.current_dir(dir).env("NO_COLOR", "1"), dir);
    send("-HUP", &[child.id()]);
    let output = ended(child);
    ends(&output, 130);
    assert!(said(&output).contains("go on with"));
    assert_eq!(names(&dir.join("litelab-runs")), [""; 0]);

    std::fs::remove_file(dir.join("k.db")).unwrap();
    let own = long(dir);
    let mut nohup = Command::new("sh");
    nohup.args(["-c", "trap '' HUP; exec \"$@\"", "nohup"]).arg(own.get_program()).args(own.get_args());
    let child = going(nohup.current_dir(dir), dir);
    send("-HUP", &[child.id()]);
    rounds(&dir.join("k.db"), 4);
    send("-TERM", &[child.id()]);
    ends(&ended(child), 130);
}

/// A statement of a schema is one call of SQLite: the first Ctrl-C ends the program in the middle of it.
#[test]
fn a_request_to_end_is_heeded_within_a_single_statement() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let endless =
        "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0";
    let workload =
        format!("schema.sql = \"CREATE TABLE t(a); {endless}\"\n[transaction.t]\nsql = \"SELECT count(*) FROM t\"");
    study(dir, "role.r = { run = \"t\", count = 1 }", &workload);
    let mut command = litelab(dir, &["run", "s.toml", "--no-calibration"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let runs = dir.join("litelab-runs");
    let scratch = || names(&runs).into_iter().find(|name| name.starts_with(".scratch-"));
    until("the schema is executed", || {
        scratch().is_some_and(|name| names(&runs.join(name).join("prepared")).iter().any(|file| file.ends_with(".db")))
    });
    send("-INT", &[child.id()]);
    ends(&ended(child), 130);
    assert_eq!(scratch(), None);
}

#[test]
fn a_doctor_that_is_interrupted_leaves_nothing_beside_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    rusqlite::Connection::open(dir.join("app.db")).unwrap().execute_batch("CREATE TABLE t(a)").unwrap();
    // Its probe may be over before the signal arrives.
    let is_interrupted = (0..50).any(|_| {
        let mut command = litelab(dir, &["doctor", "app.db", "--fsync"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        while names(dir).len() == 1 {
            if child.try_wait().unwrap().is_some() {
                return false;
            }
        }
        send("-STOP", &[child.id()]);
        send("-INT", &[child.id()]);
        let was_there = names(dir).len() > 1;
        send("-CONT", &[child.id()]);
        let output = ended(child);
        assert_eq!(names(dir), ["app.db"]);
        was_there && output.status.code() == Some(130)
    });
    assert!(is_interrupted, "no probe was interrupted");
}

#[test]
fn a_pipe_in_place_of_a_file_is_refused_and_one_that_is_waited_for_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    assert!(Command::new("mkfifo").arg(dir.join("p.db")).arg(dir.join("p.toml")).status().unwrap().success());
    for arguments in [&["show", "p.db"][..], &["export", "p.db"], &["report", "p.db"], &["run", "--resume", "p.db"]] {
        assert!(refused(dir, arguments).contains("p.db: this is no regular file"));
    }
    assert!(refused(dir, &["show", "/dev/zero"]).contains("this is no regular file"));
    let workload = "data.from = \"p.db\"\n[transaction.t]\nsql = \"SELECT 1\"";
    study(dir, "role.w = { run = \"t\", count = 5 }", workload);
    assert!(refused(dir, &["run", "s.toml"]).contains("p.db: this is no regular file"));
    let piped = std::fs::read_to_string(dir.join("s.toml")).unwrap().replace("w.toml", "./p.toml");
    std::fs::write(dir.join("piped.toml"), piped).unwrap();
    assert!(refused(dir, &["run", "piped.toml"]).contains("p.toml: cannot read the workload: it is no regular file"));
    assert!(refused(dir, &["run", "/dev/zero"]).contains("cannot read the study: it is larger than 64 MiB"));
    let child = litelab(dir, &["run", "p.toml"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("it waits for the pipe", || {
        std::fs::read_to_string(format!("/proc/{}/wchan", child.id())).is_ok_and(|at| at.contains("fifo"))
            || std::fs::read_to_string(format!("/proc/{}/stat", child.id())).is_ok_and(|stat| stat.contains(") S "))
    });
    std::thread::sleep(Duration::from_millis(300));
    send("-INT", &[child.id()]);
    ends(&ended(child), 130);
}

#[test]
fn a_view_in_place_of_a_table_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    ends(&run(dir, &RUN), 0);
    sql(
        dir,
        "ALTER TABLE runner RENAME TO former; \
         CREATE VIEW runner AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS name, x AS \
         description FROM c",
    );
    for arguments in [&["show", "k.db"][..], &["export", "k.db"], &["run", "--resume", "k.db"]] {
        let child = litelab(dir, arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let output = ended(child);
        ends(&output, 2);
        assert!(said(&output).contains("k.db: this is no litelab run: its `runner` is no table"));
    }
}

#[test]
fn an_empty_file_is_no_run_and_in_nobodys_way() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    std::fs::write(dir.join("k.db"), "").unwrap();
    for arguments in [&["show", "k.db"][..], &["run", "--resume", "k.db"]] {
        let line = refused(dir, arguments);
        assert!(line.contains("k.db: this file is empty") && line.contains("-o k.db"), "{line}");
    }
    ends(&run(dir, &RUN), 0);
}

#[test]
fn an_export_beyond_a_limit_names_its_file_and_leaves_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    ends(&run(dir, &RUN), 0);
    std::fs::write(dir.join("out.json"), "old").unwrap();
    let own = litelab(dir, &["export", "k.db", "-o", "out.json"]);
    // The limit is one unit of 512 bytes. The SIGXFSZ that the kernel sends must not end the program.
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 1; exec \"$@\"", "limited"]).arg(own.get_program()).args(own.get_args());
    let output = limited.current_dir(dir).env("NO_COLOR", "1").output().unwrap();
    ends(&output, 2);
    let line = said(&output);
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(line.contains("out.json: it cannot be written") && line.contains("ulimit -f"), "{line}");
    assert_eq!(std::fs::read_to_string(dir.join("out.json")).unwrap(), "old");
    assert_eq!(names(dir), ["k.db", "out.json", "there"]);
    ends(&run(dir, &["export", "k.db", "-o", "out.json"]), 0);
    let text = std::fs::read_to_string(dir.join("out.json")).unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(&text).unwrap().is_object());
    // A path that is not a regular file is not replaced.
    ends(&run(dir, &["export", "k.db", "-o", "/dev/null"]), 0);
    assert!(!Path::new("/dev/null").is_file());
}
