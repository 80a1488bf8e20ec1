//! A calibration of this machine with the real runner, and a run after it.

use crate::common::{ends, refused, run, said, words};
use litelab_record::RunFile;
use litelab_record::calibration::{HostCalibration, Work};

#[test]
fn a_host_is_calibrated_and_the_runs_that_follow_know_it() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    ends(&run(dir, &["run", "smoke", "--only", "processes", "--no-calibration", "-o", "before.db"]), 0);
    assert_eq!(RunFile::open(&dir.join("before.db")).unwrap().info().unwrap().host, None);

    let calibrate = |seconds: &str| {
        let json = ends(&run(dir, &["calibrate", "--quick", "--time", seconds, "--json"]), 0);
        let calibration: HostCalibration = serde_json::from_str(&json).unwrap();
        (json, calibration)
    };
    let (mut json, mut calibration) = calibrate("3");
    // On a busy machine too few operations may end within a trial of 100 ms, which then has no value.
    for seconds in ["6", "12", "24", "48"] {
        if calibration.noise.iter().all(|noise| noise.rounds >= 6) {
            break;
        }
        (json, calibration) = calibrate(seconds);
    }
    // The values depend on the machine; their completeness does not.
    for work in Work::ALL {
        let of_work: Vec<_> = calibration.noise.iter().filter(|n| n.work == work).collect();
        assert!(of_work.len() >= 2, "{json}");
        for noise in of_work {
            assert!(noise.rounds >= 6 && noise.experiments == noise.rounds / 6, "{noise:?}");
            assert!(noise.false_rate.unwrap().interval().is_some(), "{noise:?}");
            let effects: Vec<f64> = noise.effects.iter().filter_map(|e| e.effect).collect();
            assert!(effects.is_sorted_by(|few, many| few >= many), "more rounds show less: {noise:?}");
        }
    }
    assert!(calibration.runners.iter().any(|r| r.runner == "rusqlite" && r.nanos.0 > 0.0), "{json}");
    assert!(calibration.sync.unwrap().append.writes > 0);
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if host.trim().len() > 6 {
        assert!(!json.contains(host.trim()), "{json}");
    }
    let kept: Vec<_> = dir.join("litelab-runs").read_dir().unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(kept, ["calibration"], "no scratch is left");

    let kept: HostCalibration = serde_json::from_str(&ends(&run(dir, &["calibrate", "--show", "--json"]), 0)).unwrap();
    assert_eq!(kept, calibration);

    let told =
        run(dir, &["run", "first-look", "--quick", "--only", "commit", "--rounds", "2", "--all", "-o", "after.db"]);
    let table = ends(&told, 0);
    let stored = RunFile::open(&dir.join("after.db")).unwrap().info().unwrap().host.unwrap();
    assert_eq!(stored.calibration, calibration);
    assert!(table.contains("calibrated") && table.contains("before the run"), "{table}");
    // Two rounds give no interval on any machine: the warning precedes the first trial and is in the header.
    let told = said(&told);
    assert!(told.contains("commit: this host shows no difference in 2 rounds; the study asks for 5 %"), "{told}");
    assert!(words(&table).contains("shows no difference in 2 rounds"), "{table}");
}

#[test]
fn what_cannot_be_calibrated_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let unknown = run(folder.path(), &["calibrate", "--driver", "rusqlit"]);
    ends(&unknown, 2);
    let error = said(&unknown);
    let error = error.lines().last().unwrap();
    assert!(error.contains("rusqlit") && error.contains("rusqlite"), "{error}");
    assert!(refused(folder.path(), &["calibrate", "--show"]).contains("begin with `litelab calibrate`"));
    std::fs::write(folder.path().join("file"), "").unwrap();
    ends(&run(folder.path(), &["calibrate", "--dir", "file"]), 2);
}
