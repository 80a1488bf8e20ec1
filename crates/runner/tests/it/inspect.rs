//! The verb `inspect` with a data source name.

use litelab_protocol::{Inspect, Upgrade, Value};
use serde_json::json;

use crate::common::*;

const DRIVERS: [&str; 3] = ["rusqlite", "c", "async-sqlite"];

fn request(driver: &str, dsn: &str) -> Inspect {
    let read_back = vec!["busy_timeout".into(), "journal_mode".into()];
    Inspect { read_back, ..inspect_request(driver, dsn) }
}

/// Busy timeout and journal mode of all connections, and the outcome of the upgrade.
fn found(request: &Inspect) -> (Value, Value, Option<Upgrade>) {
    let inspection = RUNNER.inspect(request).expect("an answer");
    assert_eq!(inspection.connections.len(), 3);
    let settings = &inspection.connections[0].settings;
    assert!(inspection.connections.iter().all(|other| other.settings == *settings), "{inspection:?}");
    (settings["busy_timeout"].clone(), settings["journal_mode"].clone(), inspection.upgrade)
}

/// Of the keys of a name only SQLite's own have an effect; another is ignored without an error.
#[test]
fn a_data_source_name_has_the_effect_of_the_driver() {
    for driver in DRIVERS {
        let patience = Value::from(if driver == "c" { 0 } else { 5_000 });
        for mode in ["delete", "wal"] {
            let scratch = Scratch::new();
            scratch.run(&format!("PRAGMA journal_mode = {mode}"));
            let path = scratch.path("test.db").display().to_string();
            let usual = |upgrade| (patience.clone(), mode.into(), upgrade);
            for (dsn, upgrade) in [
                (path.clone(), Some(Upgrade::Fails)),
                (format!("file:{path}?busy_timeout=77&_journal_mode=persist"), Some(Upgrade::Fails)),
                (format!("file:{path}?mode=ro"), None),
            ] {
                assert_eq!(found(&request(driver, &dsn)), usual(upgrade), "{driver} {dsn}");
            }
            let memory = (patience.clone(), "memory".into(), None);
            if driver == "async-sqlite" {
                let refused = RUNNER.inspect(&request(driver, ":memory:")).expect_err("the library refuses it");
                assert!(refused.contains("pools cannot use multiple connections"), "{refused}");
            } else {
                assert_eq!(found(&request(driver, ":memory:")), memory, "{driver}");
            }
            assert_eq!(found(&request(driver, "file:shared?mode=memory&cache=shared")), memory, "{driver}");
            let left: i64 = scratch
                .connection
                .query_row("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'litelab%'", [], |row| row.get(0))
                .expect("a count");
            assert_eq!(left, 0, "the table of the trial is dropped");
        }
    }
}

#[test]
fn a_name_is_refused_where_it_means_nothing() {
    let refused = RUNNER.inspect(&request("noop", ":memory:")).expect_err("noop opens nothing");
    assert!(refused.contains("driver `noop` opens no SQLite database by a data source name (`dsn`)"), "{refused}");
    let mut optioned = request("rusqlite", ":memory:");
    optioned.options.insert("turbo".into(), json!(1));
    assert!(RUNNER.inspect(&optioned).expect_err("rusqlite has no options").contains("option `turbo`"));
    let nowhere = RUNNER.inspect(&request("rusqlite", "/no/such/folder/test.db")).expect_err("no folder");
    assert!(nowhere.contains("SQLITE_CANTOPEN"), "{nowhere}");
}
