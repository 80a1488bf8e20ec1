//! The runner as a separate program, for tests; the words before the verb are those of its manifest.

fn main() -> std::process::ExitCode {
    litelab_runner::main(std::env::args().next_back().as_deref())
}
