//! The runner of duroxide's own SQLite provider with two constants of its source made options; see `patch`.

use std::process::ExitCode;

fn main() -> ExitCode {
    litelab_harness::main("duroxide-patched", [litelab_runner_duroxide::driver("duroxide-patched")])
}
