//! Check of `CALL` statements before a run against the interface that the driver describes: a valid one has its
//! `writes` derived, an invalid one is refused in one line with its position; a driver accepts either SQL or
//! operations.

use litelab_engine::compile::compile;
use litelab_engine::runner::check_support;
use litelab_model::{Options, Plan, library, resolve};
use litelab_protocol::invocation::Operation;
use litelab_protocol::{DriverDescription, Executor, Fetch, Interface, Transaction};

const ENQUEUE: &str = r#"
[transaction.t]
sql = "CALL queue.enqueue(:payload, :priority)"
param.payload = { text = 20 }
param.priority = { uniform = [0, 9] }
"#;

/// A plan of one role that runs transaction `t`.
fn plan(transactions: &str) -> Plan {
    let folder = tempfile::tempdir().expect("folder");
    let workload = format!("name = \"w\"\nschema.sql = \"CREATE TABLE mine(id)\"\n{transactions}");
    std::fs::write(folder.path().join("w.toml"), workload).expect("written");
    let toml = "name = \"s\"\ntitle = \"?\"\n[[scenario]]\nname = \"one\"\nworkload = \"w.toml\"\n\
        role.r = { run = \"t\", count = 1 }\n";
    let text = library::Text { file: "s.toml".into(), directory: Some(folder.path().to_path_buf()), toml: toml.into() };
    let study = library::parse(&text).unwrap_or_else(|e| panic!("{e}"));
    resolve::resolve(&study, &text, &Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn compiled(transactions: &str) -> Plan {
    let mut plan = plan(transactions);
    compile(&mut plan).unwrap_or_else(|e| panic!("{e}"));
    plan
}

fn driver(interface: Option<&str>) -> DriverDescription {
    let operations = vec![
        Operation::writing("enqueue", &["payload", "priority"], &[]),
        Operation::writing("claim", &[], &["id", "payload"]),
        Operation { writes: false, ..Operation::writing("peek", &[], &["id"]) },
    ];
    DriverDescription {
        name: "d".into(),
        version: String::new(),
        sqlite: None,
        sharings: vec!["own-connection".into()],
        executors: vec![Executor::Threads],
        interface: interface.map(|name| Interface { name: name.into(), operations }),
        dialect: litelab_protocol::Dialect::Sqlite,
    }
}

/// The transaction of a plan, checked against the interface `queue`.
fn checked(transactions: &str) -> Result<Transaction, String> {
    let mut plan = plan(transactions);
    compile(&mut plan).map_err(|e| e.to_string())?;
    let mut variant = plan.variants.remove(0);
    check_support(&driver(Some("queue")), &mut variant).map(|()| variant.trial.transactions.remove(0))
}

fn refused(transactions: &str, parts: &[&str]) {
    let error = checked(transactions).expect_err(transactions);
    assert_eq!(error.lines().count(), 1, "{error}");
    for part in ["transaction `t`"].iter().chain(parts) {
        assert!(error.contains(part), "`{part}` not in: {error}");
    }
}

#[test]
fn an_invocation_is_kept_as_it_is_and_known_to_write() {
    let transaction = checked(ENQUEUE).expect("fits");
    assert_eq!(transaction.statements[0].sql, "CALL queue.enqueue(?1, ?2)");
    assert_eq!((transaction.statements[0].bind.as_slice(), transaction.writes), (&[0, 1][..], true));
    let claim = "[transaction.t]\nsql = \"CALL queue.claim()\"\nyields = [\"id\", \"payload\"]";
    let transaction = checked(claim).expect("fits");
    assert_eq!((transaction.statements[0].fetch, transaction.statements[0].required), (Fetch::First, true));
    assert!(!checked("[transaction.t]\nsql = \"CALL queue.peek()\"").expect("fits").writes);
    // SQL that only reads is still recognised as such.
    assert!(!compiled("[transaction.t]\nsql = \"SELECT 1\"").variants[0].trial.transactions[0].writes);
}

#[test]
fn the_tables_of_the_library_are_not_there_to_compile_with() {
    let invariant = "[[invariant]]\nsql = \"SELECT count(*) FROM tasks\"\nequals = \"committed.t\"";
    assert_eq!(compiled(&format!("{ENQUEUE}{invariant}")).variants[0].invariants.len(), 1);
    let sql = format!("[transaction.t]\nsql = \"INSERT INTO mine VALUES (1)\"\n{invariant}");
    let error = compile(&mut plan(&sql)).expect_err("there is no such table").to_string();
    assert!(error.contains("no such table: tasks"), "{error}");
}

#[test]
fn what_does_not_fit_its_interface_is_refused() {
    let call = |sql: &str, keys: &str| format!("[transaction.t]\nsql = \"{sql}\"\n{keys}");
    refused(&call("CALL queue.clam()", ""), &["operation `queue.clam`", "did you mean `queue.claim`?"]);
    let other = checked(&call("CALL cache.get()", "")).expect_err("another interface");
    assert!(other.contains("driver `d` has no interface `cache`"), "{other}");
    refused(&call("CALL queue.claim", ""), &["CALL interface.operation(?1, ?2)"]);
    refused(&call("CALL queue.enqueue('x', 1)", ""), &["CALL interface.operation(?1, ?2)"]);
    refused(&call("CALL queue.enqueue(:a)", "param.a = \"worker\""), &["(payload, priority)", "1 arguments"]);
    refused(&call("CALL queue.claim()", "yields = [\"payload\"]"), &["`queue.claim` yields", "in this order"]);
    refused(&call("CALL queue.claim()", "yields = [\"id\", \"payload\", \"x\"]"), &["`queue.claim` yields"]);
    let fetches = ENQUEUE.replace("param.payload", "fetch = \"all\"\nparam.payload");
    refused(&fetches, &["`queue.enqueue` returns nothing"]);
}

#[test]
fn a_driver_gets_sql_or_its_own_operations() {
    let support = |interface, plan: &Plan| check_support(&driver(interface), &mut plan.variants[0].clone());
    let (calls, sql) = (compiled(ENQUEUE), compiled("[transaction.t]\nsql = \"SELECT 1\""));
    assert_eq!(support(Some("queue"), &calls), Ok(()));
    assert_eq!(support(None, &sql), Ok(()));
    for (interface, plan, words) in [
        (None, &calls, "driver `d` has no interface `queue`"),
        (Some("orchestration"), &calls, "driver `d` has no interface `queue`"),
        (Some("queue"), &sql, "driver `d` takes no SQL but the operations of interface `queue`"),
    ] {
        let error = support(interface, plan).expect_err(words);
        assert!(error.contains(words), "{error}");
    }
    let mixed = "[transaction.t]\nsql = [\"CALL queue.claim()\", \"SELECT 1\"]";
    for interface in [None, Some("queue")] {
        let error = support(interface, &compiled(mixed)).expect_err("mixed");
        assert!(error.contains("mixes SQL with `CALL`"), "{error}");
    }
}
