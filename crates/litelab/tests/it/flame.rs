//! Call stacks of a variant, with the real runner and the installed `perf`; and a machine without it. The runner must
//! be built (`litelab runners build rusqlite`). Where `perf` is missing or not permitted, that part is skipped with a
//! printed line.

use std::path::Path;
use std::process::Output;

use crate::common::{ends, folder, litelab, refused, run, said};
use litelab_record::stacks::Stacks;
use litelab_record::{Recorder, RunFile};

/// Ends by count and not by time, so that a busy machine does not reduce the CPU time that is sampled.
const STUDY: &str = r#"
name = "hot"
title = "Where does the time go?"
[vars]
preload = 2000
[[scenario]]
name = "reads"
workload = "insert"
role.readers = { run = "read", workers = 2, count = 200000 }
vary.sharing = ["own-connection", "one-connection"]
"#;

fn stacks(file: &Path) -> Vec<(usize, Stacks)> {
    RunFile::open(file).unwrap().info().unwrap().stacks.into_iter().collect()
}

/// Lines that report missing call stacks.
fn complaints(output: &Output) -> Vec<String> {
    said(output).lines().filter(|line| line.starts_with("no call stacks")).map(str::to_owned).collect()
}

#[test]
fn a_variant_is_sampled_where_the_machine_allows_it() {
    let folder = folder(&[("hot.toml", STUDY)]);
    let arguments = ["run", "hot.toml", "--rounds", "1", "--no-calibration", "--flame", "-o", "hot.db"];
    let output = run(folder.path(), &arguments);
    let shown = ends(&output, 0);
    let file = folder.path().join("hot.db");
    let stacks = stacks(&file);
    // A message about all variants, not about one: the machine has no `perf`, or does not permit it.
    if let [line] = complaints(&output).as_slice()
        && line.starts_with("no call stacks: ")
    {
        assert!(stacks.is_empty());
        println!("sampling not tried: {line}");
        return;
    }
    assert_eq!(complaints(&output), [""; 0]);
    assert_eq!(stacks.iter().map(|(variant, _)| *variant).collect::<Vec<_>>(), [0, 1]);
    for (_, stacks) in &stacks {
        let functions = stacks.functions();
        let step = functions.iter().find(|function| function.name.contains("sqlite3_step"));
        assert!(step.is_some_and(|step| step.samples * 10 > stacks.samples()), "{}", stacks.folded());
    }
    assert!(shown.contains("Where CPU time goes") && shown.contains("with what it calls"), "{shown}");
    // Sampled trials are not part of the result: one trial of each variant remains.
    let trials = ends(&run(folder.path(), &["export", "hot.db", "--format", "csv"]), 0);
    assert_eq!(trials.lines().count(), 1 + 2, "{trials}");
    ends(&run(folder.path(), &["report", "hot.db"]), 0);
    let page = std::fs::read_to_string(folder.path().join("hot.html")).unwrap();
    assert_eq!(page.matches("CPU time by call stack, ").count(), 2 * 2, "caption and title of each");
    assert!(!folder.path().join("litelab-runs").read_dir().unwrap().any(|_| true), "scratch is removed");
    // A second request finds the stacks already stored.
    let again = run(folder.path(), &["run", "--resume", "hot.db", "--flame"]);
    ends(&again, 0);
    assert!(!said(&again).contains("sampling"), "{}", said(&again));
}

#[test]
fn without_the_tool_a_line_says_so_and_the_run_goes_on() {
    let folder = folder(&[("hot.toml", STUDY)]);
    let nothing = folder.path().join("nothing");
    std::fs::create_dir(&nothing).unwrap();
    let arguments = ["run", "hot.toml", "--rounds", "1", "--no-calibration", "--flame", "-o", "hot.db"];
    let output = litelab(folder.path(), &arguments).env("PATH", &nothing).output().unwrap();
    let shown = ends(&output, 0);
    assert!(
        matches!(complaints(&output).as_slice(), [line] if line.contains("perf is missing: install")),
        "{output:?}"
    );
    assert!(shown.contains("own connection") && !shown.contains("Where CPU time goes"), "{shown}");
    let file = folder.path().join("hot.db");
    assert_eq!(stacks(&file), []);
    // Without `--flame` there is no message about it.
    let file_exists = ["run", "hot.toml", "--rounds", "1", "--no-calibration", "-o", "other.db"];
    let output = litelab(folder.path(), &file_exists).env("PATH", &nothing).output().unwrap();
    ends(&output, 0);
    assert_eq!(complaints(&output), [""; 0]);
    let line = refused(folder.path(), &["run", "--resume", "other.db"]);
    assert!(line.contains("--flame"), "{line}");

    let line = refused(folder.path(), &["export", "hot.db", "--format", "folded"]);
    assert!(line.contains("--resume hot.db --flame"), "{line}");

    // Stacks stored later are read back, and damaged ones are left out.
    let given = Stacks::parse("main;sqlite3_step;fcntl_[k] 3\nmain 1\n", 199);
    Recorder::open(&file).unwrap().stacks(1, &given).unwrap();
    assert_eq!(stacks(&file), [(1, given)]);
    let folded = ends(&run(folder.path(), &["export", "hot.db", "--format", "folded"]), 0);
    let variant = "reads/sharing=one-connection";
    assert_eq!(folded, format!("{variant};main 1\n{variant};main;sqlite3_step;fcntl_[k] 3\n"));
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection.execute_batch("UPDATE flame SET folded = x'00'; INSERT INTO flame VALUES (0, 'x', 7)").unwrap();
    assert_eq!(stacks(&file), []);
    ends(&run(folder.path(), &["show", "hot.db"]), 0);
}
