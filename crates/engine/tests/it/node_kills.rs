//! Checks of a server after a kill of one node: each node compared with what the server acknowledged to the workers.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use litelab_engine::verify::{self, Contents};
use litelab_model::{Options, Variant, library, resolve};
use litelab_protocol::{Dialect, TransactionResult, TrialResult, Unfinished};

/// A node as seen by its client.
struct Node {
    rows: f64,
    hash: &'static str,
}

impl Contents for Node {
    fn databases(&self) -> usize {
        1
    }

    fn number(&mut self, _: usize, _: &str) -> Result<f64, String> {
        Ok(self.rows)
    }

    fn content(&mut self, _: usize, _: &str) -> Result<String, String> {
        Ok(self.hash.to_owned())
    }
}

fn node(rows: f64) -> Node {
    Node { rows, hash: "same" }
}

fn variant() -> Variant {
    let toml = "name = 's'\ntitle = '?'\nworkload = 'acknowledged'\n[[scenario]]\nname = 'one'\ndriver = 'my'\nserver = 'galera'\nrole.w = { run = 'enter', for = '9s' }\nkill = { node = 2, after = '1s', back = '1s' }\n";
    let text = library::Text { file: "s.toml".into(), directory: None, toml: toml.into() };
    let study = library::parse(&text).unwrap();
    let options = Options { dialects: [("my".to_owned(), Dialect::Mysql)].into(), ..Options::default() };
    resolve::resolve(&study, &text, &options).unwrap().variants.remove(0)
}

/// A result with these numbers of acknowledged and failed transactions.
fn told(committed: u64, failed: u64) -> TrialResult {
    let operation = TransactionResult {
        role: "w".into(),
        transaction: "enter".into(),
        committed,
        failed,
        ended: committed,
        measured: committed,
        rows: committed,
        ..TransactionResult::default()
    };
    TrialResult { operations: vec![operation], ..TrialResult::default() }
}

#[test]
fn what_was_acknowledged_is_looked_for_on_every_node() {
    let variant = variant();
    let (content, lost) = verify::nodes(&variant, &mut [node(100.0), node(100.0), node(100.0)], &told(100, 0)).unwrap();
    assert_eq!((content["entry"].as_str(), lost), ("same", Some(0)));
    // The commit of a failed transaction may have taken effect or not.
    for rows in [100.0, 101.0] {
        assert!(verify::nodes(&variant, &mut [node(rows), node(rows)], &told(100, 1)).is_ok());
    }
}

#[test]
fn a_loss_is_caught_whichever_node_has_it() {
    let variant = variant();
    for victim in 0..3 {
        let mut nodes = [node(100.0), node(100.0), node(100.0)];
        nodes[victim].rows = 97.0;
        let error = verify::nodes(&variant, &mut nodes, &told(100, 0)).unwrap_err();
        let expected = format!("node {}: 3 of the transactions that workers were told of are lost", victim + 1);
        assert_eq!(error, expected);
        // A runner that reports more commits than it made gives the same result.
        assert!(verify::nodes(&variant, &mut [node(100.0)], &told(101, 0)).unwrap_err().contains(": 1 of the"));
    }
    // A sum over no rows is NULL, not zero.
    assert!(verify::nodes(&variant, &mut [node(f64::NAN)], &told(1, 0)).unwrap_err().contains("are lost"));
    // A transaction that certainly failed does not excuse the loss of another.
    assert!(verify::nodes(&variant, &mut [node(99.0)], &told(100, 5)).unwrap_err().contains(": 1 of the"));
}

#[test]
fn nodes_that_differ_are_caught_though_each_has_enough() {
    let variant = variant();
    let mut nodes = [node(100.0), node(100.0), Node { rows: 100.0, hash: "other" }];
    let error = verify::nodes(&variant, &mut nodes, &told(100, 0)).unwrap_err();
    assert_eq!(error, "node 3: table `entry` holds other rows than node 1 has");
    // A row that no worker entered.
    let error = verify::nodes(&variant, &mut [node(100.0), node(101.0)], &told(100, 0)).unwrap_err();
    assert!(error.starts_with("node 2: invariant `and no row that nobody entered`"), "{error}");
}

#[test]
fn without_an_invariant_of_what_was_committed_nothing_is_said_of_losses() {
    let mut variant = variant();
    variant.invariants.retain(|invariant| invariant.at_most.is_some());
    let (_, lost) = verify::nodes(&variant, &mut [node(3.0)], &told(5, 0)).unwrap();
    assert_eq!(lost, None);
}

#[test]
fn a_transaction_whose_end_nobody_saw_is_there_or_not() {
    let variant = variant();
    let with_unfinished = |count: usize| {
        let mut told = told(100, 0);
        told.operations[0].unfinished = vec![Unfinished { service_ns: 1, response_ns: None }; count];
        told
    };
    for rows in [100.0, 101.0, 102.0] {
        assert!(verify::nodes(&variant, &mut [node(rows)], &with_unfinished(2)).is_ok(), "{rows}");
    }
    assert!(verify::nodes(&variant, &mut [node(99.0)], &with_unfinished(2)).unwrap_err().contains(": 1 of the"));
    let error = verify::nodes(&variant, &mut [node(103.0)], &with_unfinished(2)).unwrap_err();
    assert!(error.contains("found 103, expected at most 100 ="), "{error}");
    assert!(error.ends_with(", 100 to 102 with those whose end nobody saw"), "{error}");
}
