//! The tests of every library with its own connections, on async-sqlite, and on drivers whose connections the harness
//! keeps.

use litelab_harness::testing::Program;
use litelab_harness::testing::library::Libraries;
use litelab_protocol::Executor;

const LIBRARIES: Libraries = Libraries(
    Program(env!("CARGO_BIN_EXE_litelab-runner-rusqlite")),
    &[
        ("async-sqlite", Executor::Dedicated),
        ("rusqlite", Executor::Dedicated),
        ("rusqlite", Executor::Offload),
        ("c", Executor::Threads),
    ],
);

litelab_harness::library_tests!(LIBRARIES);
