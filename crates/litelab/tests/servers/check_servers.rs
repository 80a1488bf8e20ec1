//! `litelab runners check` on drivers of servers: on a user's server, and without one.

use std::path::Path;

use crate::common::servers::{built, possible};
use crate::common::{self, ends, folder, litelab, run};
use litelab_servers::{Instance, Kind};

#[test]
fn a_server_that_is_not_installed_is_a_line_with_its_packages() {
    let elsewhere = ["/usr/sbin", "/usr/local/sbin", "/usr/libexec"];
    if !built() || elsewhere.iter().any(|f| Path::new(f).join("mariadb-install-db").exists()) {
        return;
    }
    let folder = folder(&[]);
    let check = ["runners", "check", "go:mysql", "go:noop"];
    let output = litelab(folder.path(), &check).env("PATH", "/nowhere").output().unwrap();
    let shown = ends(&output, 0);
    let said = common::said(&output);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("driver `mysql` of runner `go`: mariadb is not installed"), "{said}");
    assert!(said.contains("apt-get install mariadb-server"), "{said}");
    // A driver without a server has not passed; the rest was checked.
    assert!(shown.contains("go (noop): may be used") && !shown.contains("mysql"), "{shown}");
}

/// The tests of the conformance suite show that schemas are dropped on a correct server.
#[test]
fn a_wrong_url_is_one_line_before_any_check() {
    if !possible(&[Kind::Postgres]) {
        return;
    }
    let folder = folder(&[]);
    let server =
        Instance::start(Kind::Postgres, &folder.path().join("mine"), &litelab_servers::Options::default()).unwrap();
    let (account, host) = server.url().split_once('@').unwrap();
    let right = account.rsplit_once(':').unwrap();
    for (url, part) in [
        (format!("{}:secret@{host}", right.0), "refuses the connection"),
        (format!("{account}@127.0.0.1:1/postgres"), "no server answers at 127.0.0.1:1"),
    ] {
        let given = format!("postgres={url}");
        let output = run(folder.path(), &["runners", "check", "go:postgres", "--url", &given]);
        let shown = ends(&output, 2);
        let line = common::said(&output);
        assert!(line.lines().count() == 1 && line.contains(part), "{line}");
        assert!(!line.contains("secret") && !line.contains(right.1) && shown.is_empty(), "{line}{shown}");
        let left = std::fs::read_dir(folder.path().join("litelab-runs")).unwrap().count();
        assert_eq!(left, 0, "nothing was begun");
    }
}
