//! Messages of the drivers `scripted` and `noop`.

use std::io::BufRead;
use std::time::Duration;

use litelab_protocol::{Message, Ready, Trial};

use crate::script::Script;
use crate::{say, settings, simulate};

/// Reports the requested settings as in effect, waits for `go` and plays the script.
pub fn run(trial: &Trial, input: &mut impl BufRead) -> Result<(), String> {
    if trial.protocol != litelab_protocol::VERSION {
        return Err(format!("protocol {} is not {}", trial.protocol, litelab_protocol::VERSION));
    }
    let script = Script::of(trial)?;
    let mut played = simulate::play(trial, &script)?;
    let connections = settings::claimed(trial);
    played.result.connections = connections.clone();
    say(&Message::Ready(Ready { connections }));
    let mut go = String::new();
    if input.read_line(&mut go).map_err(|e| e.to_string())? == 0 {
        return Ok(());
    }
    std::thread::sleep(Duration::from_millis(script.pause_ms));
    for tick in played.ticks {
        say(&Message::Tick(tick));
    }
    say(&Message::Result(Box::new(played.result)));
    Ok(())
}
