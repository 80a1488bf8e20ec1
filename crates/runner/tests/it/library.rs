//! The tests of every library with its own connections, on async-sqlite.

use litelab_harness::testing::Program;
use litelab_harness::testing::library::Libraries;
use litelab_protocol::Executor;

const LIBRARIES: Libraries = Libraries(
    Program(env!("CARGO_BIN_EXE_litelab-runner-rusqlite")),
    &[(
        "async-sqlite",
        Executor::Dedicated,
        &["own-connection", "one-connection", "pool", "app-lock", "writer-readers"],
    )],
);

litelab_harness::library_tests!(LIBRARIES);
