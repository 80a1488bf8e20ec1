//! `compare --fail` with the real runner: a regression is run again before it counts.

use std::path::{Path, PathBuf};

use crate::common::{ends, refused, run, study, words};

/// Runs a study whose metric is the size of a database with 20 blobs of `bytes`: no load on the machine changes it.
/// Returns the run file.
fn ran(dir: &Path, name: &str, bytes: u32) -> String {
    std::fs::write(
        dir.join(format!("{name}-work.toml")),
        format!(
            "name = \"work\"\n[schema]\nsql = \"CREATE TABLE t(a)\"\n[transaction.insert]\nsql = \"INSERT INTO t VALUES \
             (zeroblob({bytes}))\"\n"
        ),
    )
    .unwrap();
    let (toml, db) = (format!("{name}.toml"), format!("{name}.db"));
    std::fs::write(
        dir.join(&toml),
        format!(
            "name = \"gate\"\ntitle = \"Is it larger?\"\nrounds = 6\n[[scenario]]\nname = \"insert\"\n\
             workload = \"{name}-work.toml\"\nrole.w = {{ run = \"insert\", count = 20 }}\nmetrics = [\"database_size\"]\n"
        ),
    )
    .unwrap();
    ends(&run(dir, &["run", &toml, "-o", &db, "--no-calibration"]), 0);
    db
}

#[test]
fn a_database_that_becomes_five_times_as_large_is_confirmed_and_ends_with_3() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let (base, head) = (&*ran(dir, "base", 4000), &*ran(dir, "head", 20_000));
    // Runs of different work are refused without `--allow-unlike`.
    let line = refused(dir, &["compare", base, head, "--fail"]);
    assert!(line.contains("--allow-unlike=work"), "{line}");

    let out = ends(&run(dir, &["compare", base, head, "--fail", "--allow-unlike=work", "--markdown"]), 3);
    for part in [
        "drift between the two runs is not controlled",
        "## Confirmation",
        "base and head",
        "▼ confirmed",
        "1 of 1 regression confirmed",
    ] {
        assert!(out.contains(part), "`{part}` is not in:\n{out}");
    }
    // The run file of the re-run is kept, with base and head in the same rounds.
    let runs: Vec<PathBuf> = dir.join("litelab-runs").read_dir().unwrap().map(|e| e.unwrap().path()).collect();
    let [confirmation] = runs.as_slice() else { panic!("{runs:?}") };
    let shown = ends(&run(dir, &["show", confirmation.to_str().unwrap(), "--all"]), 0);
    assert!(shown.contains("head") && shown.contains("20 trials measured") && shown.contains("10 of 10"), "{shown}");
    // No study has its variants: the report names the command that repeats it, which runs.
    let name = confirmation.file_name().unwrap().to_str().unwrap();
    assert!(shown.contains(&format!("litelab repeat {name}")), "{shown}");
    let again = ends(&run(dir, &["repeat", confirmation.to_str().unwrap(), "--no-calibration"]), 0);
    assert!(again.contains("side=head"), "{again}");

    // An improvement is not a regression and is not run again.
    let out = ends(&run(dir, &["compare", head, base, "--fail", "--allow-unlike=work"]), 0);
    assert!(!out.contains("Confirmation"), "{out}");
    ends(&run(dir, &["compare", base, head, "--allow-unlike=work"]), 0);
    ends(&run(dir, &["compare", base, head, "--fail", "--no-confirm", "--allow-unlike"]), 3);
}

/// The head's run file holds values that are worse than the truth, as after a temporary disturbance of the machine.
#[test]
fn a_difference_that_does_not_come_again_is_no_regression() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let (base, honest, large) = (ran(dir, "base", 4000), ran(dir, "head", 4000), ran(dir, "large", 20_000));
    // The head ran other work; its plan is replaced by an honest one.
    let file = rusqlite::Connection::open(dir.join(&large)).unwrap();
    file.execute_batch(&format!(
        "ATTACH '{}' AS honest; UPDATE run SET value = (SELECT value FROM honest.run h WHERE h.key = 'plan') WHERE key = 'plan'",
        dir.join(honest).display()
    ))
    .unwrap();
    drop(file);
    let compare = ["compare", base.as_str(), &large, "--fail"];
    let out = ends(&run(dir, &[&compare[..], &["--no-confirm"]].concat()), 3);
    assert!(out.contains("1 regression"), "{out}");
    let out = ends(&run(dir, &compare), 0);
    assert!(out.contains("none of 1 regression showed itself again"), "{out}");
}

#[test]
fn a_regression_that_cannot_be_looked_at_again_ends_with_1_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let (base, head) = (&*ran(dir, "base", 4000), &*ran(dir, "head", 20_000));
    let change = |file: &str, sql: &str| {
        rusqlite::Connection::open(dir.join(file)).unwrap().execute_batch(sql).unwrap();
    };
    // The base ran with another build of the same versions: only head is run again, and the output reports it.
    change(base, "UPDATE run SET value = json_set(value, '$.rusqlite', 'another') WHERE key = 'builds'");
    let out = ends(&run(dir, &["compare", base, head, "--fail", "--allow-unlike=work"]), 3);
    let told = words(&out);
    assert!(told.contains("only head was run again") && told.contains("drift is not controlled"), "{out}");
    assert!(told.contains("build another"), "{out}");
    // The head's build does not exist any more.
    change(head, "UPDATE run SET value = json_set(value, '$.rusqlite', 'gone') WHERE key = 'builds'");
    let out = ends(&run(dir, &["compare", base, head, "--fail", "--allow-unlike=work"]), 1);
    let told = words(&out);
    assert!(told.contains("could not be confirmed: head ran with rusqlite") && told.contains("build gone"), "{out}");
    assert!(told.contains("no regression could be confirmed or refuted"), "{out}");
}

#[test]
fn variants_of_one_run_are_run_again_within_rounds() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    study(
        dir,
        "rounds = 6\nrole.w = { run = \"insert\", count = 20 }\nvary.bytes = [4000, 20000]\nmetrics = [\"database_size\"]",
        "vars.bytes = 1\nschema.sql = \"CREATE TABLE t(a)\"\n[transaction.insert]\nsql = \"INSERT INTO t VALUES \
         (zeroblob($bytes))\"",
    );
    ends(&run(dir, &["run", "s.toml", "-o", "s.db", "--no-calibration"]), 0);
    let variants = ["compare", "s.db", "--base", "bytes=4000", "--head", "bytes=20000", "--fail"];
    let out = ends(&run(dir, &variants), 3);
    assert!(out.contains("1 of 1 regression confirmed") && !out.contains("drift"), "{out}");
    // A re-run is impossible without the data.
    let sql = "UPDATE run SET value = json_set(value, '$.variants[0].data', json('{\"from\":\"/gone/app.db\",\"transaction\":null,\"rows\":0,\"then\":null}')) WHERE key = 'plan'";
    rusqlite::Connection::open(dir.join("s.db")).unwrap().execute_batch(sql).unwrap();
    let out = ends(&run(dir, &variants), 1);
    assert!(out.contains("/gone/app.db: no such file"), "{out}");
}
