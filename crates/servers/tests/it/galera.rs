//! A cluster of three nodes: all have the same content, and a killed node catches up.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use crate::common::{installed, own, processes};
use litelab_servers::{Admin, Kind, Options};

#[test]
fn a_cluster_has_one_content_and_a_killed_node_catches_up() {
    if !installed(Kind::Galera) {
        return;
    }
    let mut cluster = own(Kind::Galera, "cluster");
    assert!(cluster.dead().is_empty());
    assert_eq!(cluster.url().matches("127.0.0.1:").count(), 3);
    let node = |cluster: &litelab_servers::Instance, n| Admin::connect(&cluster.node_url(n)).unwrap();

    let mut first = node(&cluster, 0);
    first.create_schema("shared").unwrap();
    first.script("shared", "CREATE TABLE t (x integer PRIMARY KEY); INSERT INTO t VALUES (1), (2)").unwrap();
    let mut third = node(&cluster, 2);
    let content = |admin: &mut Admin| admin.content_hash("shared", "t").unwrap();
    let before = content(&mut first);
    assert_eq!(content(&mut third), before);

    // The URL names three hosts, and the setting applies to each.
    let name = "innodb_flush_log_at_trx_commit";
    let mut all = Admin::connect(cluster.url()).unwrap();
    let was = all.set_server(name, "2").unwrap();
    for n in 0..3 {
        assert_eq!(node(&cluster, n).setting(name).unwrap(), "2", "node {n}");
    }
    assert_eq!((was.as_str(), all.set_server(name, &was).unwrap().as_str()), ("1", "2"));

    cluster.kill(0).unwrap();
    assert_eq!(cluster.dead(), [0]);
    // The next host of the URL answers.
    let mut rest = Admin::connect(cluster.url()).unwrap();
    rest.script("shared", "INSERT INTO t VALUES (3)").unwrap();
    cluster.restart(0, &Options::default()).unwrap();
    assert!(cluster.dead().is_empty());
    let after = content(&mut node(&cluster, 0));
    assert_ne!(after, before);
    assert_eq!(content(&mut node(&cluster, 1)), after);

    let place = cluster.folder().to_owned();
    drop(cluster);
    assert!(!place.exists() && processes(&place).is_empty());
}
