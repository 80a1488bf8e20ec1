//! The tests of every library with its own connections, on async-sqlite, and on drivers whose connections the harness
//! keeps.

use litelab_harness::testing::Program;
use litelab_harness::testing::library::Libraries;
use litelab_protocol::Executor;

const SHARINGS: &[&str] = &["own-connection", "one-connection", "pool", "app-lock", "writer-readers"];

const LIBRARIES: Libraries = Libraries(
    Program(env!("CARGO_BIN_EXE_litelab-runner-rusqlite")),
    &[
        ("async-sqlite", Executor::Dedicated, SHARINGS),
        ("rusqlite", Executor::Dedicated, SHARINGS),
        ("rusqlite", Executor::Offload, SHARINGS),
        ("c", Executor::Threads, SHARINGS),
    ],
);

litelab_harness::library_tests!(LIBRARIES);
