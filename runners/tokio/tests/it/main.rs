//! The tests of every library with its own connections, on both drivers.

use litelab_harness::testing::Program;
use litelab_harness::testing::library::Libraries;
use litelab_protocol::Executor;

const LIBRARIES: Libraries = Libraries(
    Program(env!("CARGO_BIN_EXE_litelab-runner-tokio")),
    &[("tokio-rusqlite", Executor::Dedicated), ("deadpool-sqlite", Executor::Offload)],
);

litelab_harness::library_tests!(LIBRARIES);
