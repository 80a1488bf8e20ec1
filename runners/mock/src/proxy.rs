//! Runs a fault: starts an honest runner as a child process and falsifies its messages.

use std::io::{BufRead, Write};
use std::process::ExitCode;

use litelab_protocol::{Database, Failed, Message, Tick, Trial};
use rusqlite::Connection;

use crate::fault::Fault;
use crate::honest::{self, GO, start};
use crate::{library, say, server};

/// Passes the trial to the honest runner, and its messages to the core.
pub fn run(fault: Fault, asked: Trial) -> Result<ExitCode, String> {
    if fault == Fault::HangsBeforeReady {
        hang();
    }
    if !fault.executors().contains(&asked.executor) {
        return Err(format!("executor {} is not supported by {}", asked.executor, asked.driver));
    }
    let mut trial = asked.clone();
    let (target, driver) =
        if fault.is_of_a_server() { (honest::server_target(), server::DRIVER) } else { (honest::target(), "rusqlite") };
    trial.driver = driver.into();
    fault.falsify_trial(&mut trial);
    if let Some(interface) = fault.interface() {
        library::translate(fault, interface, &mut trial)?;
    }
    let (mut child, mut to, from) = start(&target, &trial)?;
    if fault == Fault::StartsEarly {
        let _sent = to.write_all(GO);
    }
    let (hangs, early) = (fault == Fault::Hangs, fault == Fault::StartsEarly);
    std::thread::spawn(move || {
        let mut line = String::new();
        while std::io::stdin().lock().read_line(&mut line).is_ok_and(|n| n > 0) {
            if !early {
                let _sent = to.write_all(line.as_bytes()).and_then(|()| to.flush());
            }
            line.clear();
        }
        // The core has exited; a fault that hangs must not outlive it.
        if hangs {
            std::process::exit(1);
        }
    });
    let mut started = Vec::new();
    for line in from.lines() {
        let line = line.map_err(|e| e.to_string())?;
        let line: Message = serde_json::from_str(&line).map_err(|e| format!("the honest runner said {line}: {e}"))?;
        if !matches!(line, Message::Ready(_)) {
            misbehave(fault);
        }
        match line {
            Message::Ready(mut ready) => {
                fault.falsify_settings(&asked, &mut ready.connections);
                started.clone_from(&ready.connections);
                say(&Message::Ready(ready));
            }
            Message::Tick(_)
                if matches!(fault, Fault::NeverTicks | Fault::OrchestrationNeverTicks | Fault::QueueNeverTicks) => {}
            Message::Tick(mut tick) => {
                fault.falsify_tick(&mut tick);
                say(&Message::Tick(tick));
            }
            Message::Result(_) if fault == Fault::NoLastLine => {}
            Message::Result(mut result) => {
                if fault == Fault::LosesRow {
                    // The runner's connections are closed, and all its ticks have been read.
                    lose_row(&asked)?;
                }
                if fault == Fault::ServerLosesRow {
                    server::lose_row(&asked)?;
                }
                fault.falsify_result(&asked, &mut result);
                if fault == Fault::RepeatsSettings {
                    result.connections.clone_from(&started);
                }
                let result = Message::Result(result);
                say(&result);
                if fault == Fault::SpeaksAfterResult {
                    say(&result);
                }
            }
            Message::Failed(failed) if fault == Fault::ServerHidesErrors => {
                say(&Message::Failed(Failed { code: None, ..failed }));
            }
            other => say(&other),
        }
    }
    let status = child.wait().map_err(|e| e.to_string())?;
    if fault == Fault::PrintsGoodbye {
        println!("Goodbye.");
    }
    match (fault, status.code()) {
        (Fault::ExitsBadly, Some(0)) => Ok(ExitCode::from(3)),
        (_, Some(0)) => Ok(ExitCode::SUCCESS),
        _ => Ok(ExitCode::FAILURE),
    }
}

/// Actions of some faults in place of the first line after `go`.
fn misbehave(fault: Fault) {
    match fault {
        Fault::Hangs => hang(),
        Fault::OutlivesCore => std::thread::sleep(std::time::Duration::from_secs(20)),
        Fault::Dies => std::process::exit(9),
        Fault::DiesBySignal => std::process::abort(),
        Fault::PrintsGarbage => println!("Inserting rows, please wait..."),
        Fault::EndlessLine => {
            let block = [b'x'; 1 << 16];
            let mut out = std::io::stdout().lock();
            while out.write_all(&block).is_ok() {}
            std::process::exit(1);
        }
        Fault::EndlessTicks => loop {
            say(&Message::Tick(Tick::default()));
        },
        _ => {}
    }
}

/// Hangs until the core closes the input.
fn hang() -> ! {
    let mut ignored = String::new();
    while std::io::stdin().lock().read_line(&mut ignored).is_ok_and(|n| n > 0) {}
    std::process::exit(1)
}

/// Deletes one row of the first table that contains one.
fn lose_row(trial: &Trial) -> Result<(), String> {
    for database in &trial.databases {
        let Database::File { path } = database else { continue };
        let connection = Connection::open(path).map_err(|e| e.to_string())?;
        let tables = || -> rusqlite::Result<Vec<String>> {
            connection
                .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")?
                .query_map([], |row| row.get(0))?
                .collect()
        };
        for table in tables().map_err(|e| e.to_string())? {
            let sql = format!("DELETE FROM \"{table}\" WHERE rowid = (SELECT max(rowid) FROM \"{table}\")");
            if connection.execute(&sql, []).map_err(|e| e.to_string())? > 0 {
                return Ok(());
            }
        }
    }
    Ok(())
}
