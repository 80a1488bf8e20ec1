//! Nodes that are killed while workers write, and that rejoin. Without the Go runner or a server a test prints a line
//! and passes.

use std::path::Path;

use crate::common::servers::{built, nothing_is_left, possible, trials};
use crate::common::{ends, folder, run, said};
use litelab_record::outcome::{FailureKind, Outcome};
use litelab_servers::Kind;

/// Each worker starts at a different node, so that one of them loses its connection.
const CLUSTER: &str = r#"
name = "cluster"
title = "What is left when a node dies?"
rounds = 1
workload = "acknowledged"
driver = "go:mysql"
server = "galera"
profile = "mariadb-reconnect"

[[scenario]]
name = "node"
role.w = { run = "enter", workers = 3, for = "6s", think = "2ms" }
kill = { node = 2, after = "1s", back = "1s" }
metrics = ["throughput", "stall", "worker_stall", "gauge:rejoin_ns", "gauge:lost"]

# Another trial, on the cluster that the first has left, or is to find.
[[scenario]]
name = "whole"
role.w = { run = "enter", workers = 3, count = 30 }
"#;

#[test]
fn a_killed_node_loses_nothing_and_comes_back() {
    if !possible(&[Kind::Galera]) {
        return;
    }
    let folder = folder(&[("cluster.toml", CLUSTER)]);
    let dir = folder.path();
    let shown = ends(&run(dir, &["run", "cluster.toml", "-o", "run.db", "--all"]), 0);
    nothing_is_left(dir);
    let (info, trials) = trials(&dir.join("run.db"));
    assert_eq!(trials.len(), 2);
    for trial in trials {
        let Outcome::Measured(measured) = &trial.outcome else { panic!("{:?}", trial.outcome) };
        let committed: u64 = measured.result.operations.iter().map(|o| o.committed).sum();
        let gaps: Vec<u64> = measured.result.workers.iter().map(|worker| worker.stall_ns).collect();
        assert_eq!(gaps.len(), 3);
        assert!(gaps.iter().all(|gap| *gap <= measured.result.elapsed_ns), "{gaps:?}");
        if info.plan.variants[trial.variant].kill.is_none() {
            assert_eq!((committed, measured.gauges.len()), (30, 0));
            continue;
        }
        let gauges = &measured.gauges;
        assert!(gauges["killed_ns"] >= 1e9 && gauges["started_ns"] >= gauges["killed_ns"], "{gauges:?}");
        // After the rejoin the node must hold the acknowledged rows too.
        assert!(gauges["rejoin_ns"] > 0.0 && gauges["lost"] == 0.0, "{gauges:?}");
        // No worker commits while the cluster stalls. A tick may come late, and a commit just before it.
        let all = measured.stall_ns.unwrap();
        assert!(gaps.iter().all(|gap| *gap + 1_000_000_000 > all), "{gaps:?} {all}");
        let errors: Vec<_> = measured.result.operations.iter().flat_map(|o| &o.errors).collect();
        assert!(errors.iter().any(|(name, n)| name.starts_with("CONNECTION_") && n.cured > 0), "{errors:?}");
        assert!(committed > 0);
    }
    for part in ["worker_stall", "gauge:rejoin_ns", "gauge:lost", "CONNECTION_"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

/// Negative control: InnoDB that writes its log once per second loses acknowledged rows, and the check finds the loss.
const LOSSY: &str = r#"
name = "lossy"
title = "What is left of a server that does not write what it says?"
rounds = 3
workload = "acknowledged"
driver = "go:mysql"

[[scenario]]
name = "server"
role.w = { run = "enter", workers = 2, for = "5s" }
kill = { node = 1, after = "1500ms", back = "500ms" }
vary.profile = ["mariadb-reconnect", "lazy.toml"]
"#;

#[test]
fn a_server_that_loses_what_it_acknowledged_is_caught() {
    if !possible(&[Kind::Mariadb]) {
        return;
    }
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles/mariadb-reconnect.toml");
    let durable = std::fs::read_to_string(home).unwrap();
    let lazy = durable.replace("_commit = 1", "_commit = 0").replace("mariadb-reconnect", "lazy");
    let folder = folder(&[("lossy.toml", LOSSY), ("lazy.toml", &lazy)]);
    let dir = folder.path();
    ends(&run(dir, &["run", "lossy.toml", "--rounds", "3", "-o", "run.db"]), 1);
    nothing_is_left(dir);
    let (info, trials) = trials(&dir.join("run.db"));
    let mut caught = 0;
    for trial in &trials {
        let variant = &info.plan.variants[trial.variant];
        match &trial.outcome {
            Outcome::Measured(measured) => assert!(measured.gauges["lost"] == 0.0),
            Outcome::Failed(failure) => {
                assert_eq!((variant.profile.as_str(), failure.kind), ("lazy", FailureKind::Invariant), "{failure:?}");
                assert!(failure.reason.starts_with("node 1: ") && failure.reason.ends_with("are lost"), "{failure:?}");
                caught += 1;
            }
        }
    }
    // A node killed directly after a write of its log loses nothing.
    assert!(trials.len() == 6 && caught > 0, "{trials:?}");
}

#[test]
fn a_server_of_the_users_is_not_killed() {
    if !built() {
        return;
    }
    let folder = folder(&[("cluster.toml", CLUSTER)]);
    // No server listens there: the study is refused before any connection.
    let url = "galera=mysql://me:secret@127.0.0.1:1,127.0.0.1:1,127.0.0.1:1";
    let output = run(folder.path(), &["run", "cluster.toml", "--url", url]);
    ends(&output, 2);
    let error = said(&output);
    assert!(error.contains("kill: server `galera` is yours (--url)") && !error.contains("secret"), "{error}");
}
