//! Converts a file of duroxide's own SQLite provider into one of this crate, or back:
//!
//! `cargo run --example transfer -- from-built-in|to-built-in SOURCE TARGET`
//!
//! The source must not be in use and is not changed; the target is a new file. Prints one line; exit code 2 with one
//! line on standard error if the file was not converted.

use std::process::ExitCode;

use duroxide_onewriter::transfer::{self, TransferError, Transferred};

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let (convert, source, target): (fn(_, _) -> Result<Transferred, TransferError>, _, _) = match &arguments[..] {
        [direction, source, target] if direction == "from-built-in" => (transfer::from_built_in, source, target),
        [direction, source, target] if direction == "to-built-in" => (transfer::to_built_in, source, target),
        _ => {
            eprintln!("usage: transfer from-built-in|to-built-in SOURCE TARGET");
            return ExitCode::from(2);
        }
    };
    match convert(source, target) {
        Ok(Transferred { instances, executions, events, messages, activities, values }) => {
            println!(
                "{instances} instances, {executions} executions, {events} events, {messages} messages, \
                 {activities} activities, {values} values"
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
