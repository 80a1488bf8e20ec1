//! The runner of duroxide's own SQLite provider, as published.

use std::process::ExitCode;

fn main() -> ExitCode {
    litelab_harness::main("duroxide", [litelab_runner_duroxide::driver("duroxide-sqlite")])
}
