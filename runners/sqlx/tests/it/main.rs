//! The tests of every library with its own connections, on both drivers.

mod queue;

use litelab_harness::testing::library::{Libraries, inspect};
use litelab_harness::testing::{Program, Scratch};
use litelab_protocol::Executor;

const LIBRARIES: Libraries =
    Libraries(Program(env!("CARGO_BIN_EXE_litelab-runner-sqlx")), &[("sqlx", Executor::Dedicated)]);

litelab_harness::library_tests!(LIBRARIES);

/// sqlx refuses a key that it does not have.
#[test]
fn the_keys_of_a_name_are_those_of_sqlx() {
    let scratch = Scratch::new();
    let path = scratch.path("test.db").display().to_string();
    let found = inspect(&LIBRARIES.0, "sqlx", &format!("sqlite://{path}?mode=ro")).expect("an answer");
    assert_eq!((found.connections.len(), found.upgrade), (3, None), "a database that is only read has no upgrade");
    let refused = inspect(&LIBRARIES.0, "sqlx", &format!("sqlite://{path}?busy_timeout=5")).expect_err("no such key");
    assert!(refused.contains("unknown query parameter `busy_timeout`"), "{refused}");
    let refused = inspect(&LIBRARIES.0, "apalis-sqlite", &path).expect_err("a queue has an interface of its own");
    assert!(refused.contains("(`dsn`)"), "{refused}");
}
