//! The runner's description of itself.

use crate::common::*;
use litelab_protocol::{Description, VERSION};

#[test]
fn describe_names_the_builds() {
    let output = RUNNER.verb("describe", "");
    let description: Description = serde_json::from_slice(&output.stdout).expect("description");
    assert_eq!(description.protocol, VERSION);
    assert!(description.runtime.starts_with("rustc 1."), "{}", description.runtime);
    let driver = &description.drivers[0];
    assert!(driver.version.starts_with("0.41."), "{}", driver.version);
    let sqlite = driver.sqlite.as_ref().expect("build");
    assert_eq!(sqlite.version, rusqlite::version());
    assert!(sqlite.source_id.starts_with("20") && !sqlite.compile_options.is_empty());
    assert!(driver.sharings.contains(&"group-commit".into()));
    let c = description.drivers.iter().find(|driver| driver.name == "c").expect("driver c");
    assert_eq!((&c.version, &c.sqlite), (&sqlite.version, &driver.sqlite));
    assert!(!c.sharings.contains(&"group-commit".into()));
    let names: Vec<_> = description.drivers.iter().map(|driver| driver.name.as_str()).collect();
    assert_eq!(names, ["rusqlite", "by-hand", "async-sqlite", "c", "noop"]);
    assert!(description.drivers.iter().all(|driver| driver.sqlite.is_some() == (driver.name != "noop")));
}
