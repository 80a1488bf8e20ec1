//! A run file of format 2, written by the version before: it is read with the same numbers, and never written.

use std::path::Path;

use flate2::read::GzDecoder;
use litelab_record::{Recorder, RunFile};

use crate::common::{ends, refused, run, said, words};

/// Variants, and the median throughput that the version before exported for them.
const THROUGHPUT: [(&str, f64); 9] = [
    ("access/sharing=own-connection", 511_225.315_612_771_43),
    ("access/sharing=one-connection", 112_560.679_785_312_07),
    ("access/sharing=pool(2)", 118_554.523_871_511_95),
    ("access/sharing=app-lock", 480_212.417_992_02),
    ("access/sharing=writer-readers(2)", 345_945.416_261_063_1),
    ("processes/only", 7_594.684_874_360_185),
    ("open/only", 203.333_333_333_333_34),
    ("memory/location=memory", 2_227.839_205_568_73),
    ("memory/location=memory-shared", 1_994.350_118_481_802_4),
];

/// Rows that the version before printed, in its words for sharing.
const ROWS: [(&str, &str); 7] = [
    ("own-connection", "recent commits at risk 511k/s [?] 911 ns [?] 21.8 µs [?]"),
    ("one-connection", "recent commits at risk 113k/s [?] 2.78 µs [?] 45.5 µs [?]"),
    ("app-lock", "recent commits at risk 480k/s [?] 1.09 µs [?] 70.2 µs [?]"),
    ("writer-readers(2)", "recent commits at risk 346k/s [?] 1.15 µs [?] 28.2 µs [?]"),
    ("only", "recent commits at risk 7.59k/s [?] 20.4 µs [?] max of 100: 13.6 ms [?]"),
    ("only ¹", "recent commits at risk max of 61: 2.59 ms [?] max of 61: 2.38 ms [?] 203/s [?]"),
    ("memory", "in memory 2.23k/s [?] max of 5: 561 µs [?] max of 5: 561 µs [?]"),
];

/// Writes the file to `folder`, and returns its bytes.
pub fn old(folder: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let packed = include_bytes!("../fixtures/format-2.db.gz");
    std::io::copy(&mut GzDecoder::new(packed.as_slice()), &mut bytes).unwrap();
    std::fs::write(folder.join("old.db"), &bytes).unwrap();
    bytes
}

/// Asserts that the file has these bytes and that no file was left beside it.
fn untouched(folder: &Path, before: &[u8]) {
    assert!(std::fs::read(folder.join("old.db")).unwrap() == before, "old.db was changed");
    let beside = |name: &str| folder.join(format!("old.db-{name}")).exists();
    assert!(!["journal", "wal", "shm", "lock"].into_iter().any(beside));
}

#[test]
fn a_file_of_format_2_is_read_with_the_same_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, before) = (folder.path(), old(folder.path()));
    let file = RunFile::open(&dir.join("old.db")).unwrap();
    let info = file.info().unwrap();
    assert_eq!((info.rounds(), info.plan.scenarios[0].dimensions[0].as_str()), (2, "sharing"));
    assert!(info.study_toml.contains("vary.access"));
    let sent: Vec<_> = info.plan.variants[0].trial.connection.settings.iter().map(|s| s.sql.as_str()).collect();
    assert_eq!(sent, ["PRAGMA busy_timeout = 5000", "PRAGMA journal_mode = wal", "PRAGMA synchronous = normal"]);
    assert!(!file.series(1).unwrap().ticks.is_empty());
    drop(file);

    let exported = ends(&run(dir, &["export", "old.db", "--format", "json"]), 0);
    let analysis: serde_json::Value = serde_json::from_str(&exported).unwrap();
    let variants = analysis["variants"].as_array().unwrap().iter();
    let throughput: Vec<_> = variants
        .map(|v| (v["name"].as_str().unwrap(), v["metrics"]["throughput"]["estimate"]["value"].as_f64().unwrap()))
        .collect();
    assert_eq!(throughput, THROUGHPUT);

    let shown = ends(&run(dir, &["show", "old.db", "--all"]), 0);
    let rows: Vec<String> = shown.lines().map(words).collect();
    for (name, values) in ROWS {
        let row = format!("{name} {values}");
        assert!(rows.contains(&row), "`{row}` is not in:\n{shown}");
    }
    for part in ["rounds   2 of 2 · 18 trials", "harness: 484 ns per transaction", "1.46 µs", "4.86 µs", "3.68 µs"]
    {
        assert!(shown.contains(part), "`{part}` is not in:\n{shown}");
    }
    ends(&run(dir, &["export", "old.db", "--format", "csv", "-o", "old.csv"]), 0);
    ends(&run(dir, &["report", "old.db", "-o", "old.html"]), 0);
    untouched(dir, &before);
}

#[test]
fn a_file_of_format_2_is_repeated_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, before) = (folder.path(), old(folder.path()));
    let repeat = ["repeat", "old.db", "-o", "new.db", "--dir", "data", "--no-calibration", "--allow-unlike"];
    let output = run(dir, &repeat);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", said(&output));
    let info = RunFile::open(&dir.join("new.db")).unwrap().info().unwrap();
    assert!(info.finished.is_some() && info.done == [2; 4]);
    let compared = ends(&run(dir, &["compare", "old.db", "new.db", "--allow-unlike"]), 0);
    assert!(compared.contains("rounds needed") && !compared.contains("only in"), "{compared}");
    untouched(dir, &before);
}

#[test]
fn a_file_of_format_2_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, before) = (folder.path(), old(folder.path()));
    let line = "old.db: it has format 2 of another version of litelab, and this one writes format 3 only: run its plan \
                anew with `litelab repeat`";
    for arguments in [&["run", "--resume", "old.db"][..], &["run", "--resume", "old.db", "--flame"]] {
        assert_eq!(refused(dir, arguments), line);
    }
    assert!(Recorder::open(&dir.join("old.db")).unwrap_err().to_string().ends_with(line));
    untouched(dir, &before);
}
