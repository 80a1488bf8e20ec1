//! A litelab built without servers names the remedy wherever a server is required.

use crate::common::{ends, refused, run};

#[test]
fn what_needs_a_server_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let url = "postgres=postgres://localhost/db";
    for arguments in [
        &["servers", "status"][..],
        &["servers", "up", "postgres", "--dir", "x"],
        &["run", "first-look", "--url", url],
        &["runners", "check", "rusqlite", "--url", url],
    ] {
        let line = refused(folder.path(), arguments);
        assert!(line.contains("built without servers: build it with `--features servers`"), "{line}");
    }
}

#[test]
fn studies_of_servers_are_listed_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    assert!(ends(&run(folder.path(), &["studies"]), 0).contains("leave-sqlite"));
}
