//! Kills of a server's node: valid ones resolve, and invalid ones are refused in one line.

use litelab_model::Plan;
use litelab_model::condition::KillPlan;

use crate::support;

const ROLE: &str = "role.w = { run = 'enter', workers = 4, for = '10s' }";

fn resolved(lines: &[&str]) -> Result<Plan, String> {
    let toml = format!(
        "name = 's'\ntitle = '?'\nworkload = 'acknowledged'\n[[scenario]]\nname = 'one'\n{}\n",
        lines.join("\n")
    );
    support::resolved(&toml)
}

fn kill(lines: &[&str]) -> KillPlan {
    resolved(lines).unwrap_or_else(|e| panic!("{e}")).variants[0].kill.clone().unwrap()
}

#[test]
fn a_node_is_killed_and_brought_back() {
    let galera = "driver = 'my'\nserver = 'galera'";
    let found = kill(&[galera, ROLE, "kill = { node = 2, after = '5s', back = '2500ms' }"]);
    assert_eq!(found, KillPlan::Node { node: 2, after_ms: 5000, back_ms: Some(2500) });
    assert_eq!(found.workers_of("w"), 0, "no worker goes with it");
    let found = kill(&[galera, ROLE, "kill = { node = 3, after = '5s' }"]);
    assert_eq!(found, KillPlan::Node { node: 3, after_ms: 5000, back_ms: None });
    // The node and the time can vary.
    let varied =
        "kill = { node = '$victim', after = '$after s' }\nvars.victim = 1\nvars.after = 1\nvary.victim = [1, 2, 3]";
    let plan = resolved(&[galera, ROLE, varied]).unwrap();
    let nodes = plan.variants.iter().map(|variant| variant.kill.clone().unwrap());
    assert!(nodes.eq([1, 2, 3].map(|node| KillPlan::Node { node, after_ms: 1000, back_ms: None })));
    let invariant = "invariant = [{ sql = 'SELECT 1', at_most = '$killed' }]";
    let plan = resolved(&[galera, ROLE, invariant, "kill = { node = 2, after = '5s' }"]).unwrap();
    assert_eq!(plan.variants[0].invariants[0].at_most.as_deref(), Some("1"));
}

#[test]
fn the_only_server_is_killed_where_it_comes_back() {
    for driver in ["my", "pg"] {
        let found = kill(&[&format!("driver = '{driver}'"), ROLE, "kill = { node = 1, after = '5s', back = '1s' }"]);
        assert_eq!(found, KillPlan::Node { node: 1, after_ms: 5000, back_ms: Some(1000) });
    }
}

#[test]
fn what_cannot_be_killed_is_refused_in_one_line() {
    let refused = |lines: &[&str], part: &str| {
        support::refused(resolved(lines), &["kill: ", part]);
    };
    let galera = "driver = 'my'\nserver = 'galera'";
    let with = |kill: &str, part: &str| refused(&[galera, ROLE, &format!("kill = {{ {kill} }}")], part);
    with("node = 0, after = '1s'", "node 0 does not exist: server `galera` has nodes 1 to 3");
    with("node = 4, after = '1s'", "node 4 does not exist: server `galera` has nodes 1 to 3");
    with("node = 1.5, after = '1s'", "node: ");
    with("node = 1, after = '0s'", "after is 0 ms");
    with("node = 1, after = '1s', back = '0s'", "back is 0 ms");
    with(
        "node = 1, after = '9s', back = '1s'",
        "10000 ms until the last of it do not fit into the 10000 ms of role `w`",
    );
    with("after = '1s'", "say what is killed");
    with("role = 'w', after = '1s'", "say what is killed");
    with("node = 1, role = 'w', after = '1s'", "keep one");
    with("node = 1, processes = 1, after = '1s'", "keep one");
    let count = "role.w = { run = 'enter', workers = 4, count = 10 }";
    refused(&[galera, count, "kill = { node = 2, after = '1s' }"], "role `w` must end by time");
    let node = "kill = { node = 2, after = '1s', back = '1s' }";
    refused(&["driver = 'my'", ROLE, node], "server `mariadb` is no cluster: node 2 does not exist");
    refused(&["driver = 'pg'", ROLE, node], "server `postgres` is no cluster");
    refused(&["driver = 'my'", ROLE, "kill = { node = 1, after = '1s' }"], "say with `back`");
    refused(&["driver = 'rusqlite'", ROLE, node], "driver `rusqlite` reaches none");
    let processes = "executor = 'processes'\nkill = { role = 'w', processes = 1, after = '1s', back = '1s' }";
    refused(&[galera, ROLE, processes], "`back` is of a node");
    // The error for an unknown key names the nearest key.
    support::refused(resolved(&[galera, ROLE, "kill = { nod = 2, after = '1s' }"]), &["`nod`", "`node`"]);
}

#[test]
fn the_plan_of_a_former_run_is_read() {
    let former = serde_json::json!({ "role": "w", "processes": 2, "after_ms": 200 });
    let kill: KillPlan = serde_json::from_value(former).unwrap();
    assert_eq!(kill, KillPlan::Processes { role: "w".into(), processes: 2, after_ms: 200 });
    let node = KillPlan::Node { node: 1, after_ms: 2, back_ms: None };
    assert_eq!(serde_json::from_value::<KillPlan>(serde_json::to_value(&node).unwrap()).unwrap(), node);
}
