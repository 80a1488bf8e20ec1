//! Lines for a pipe or a log, and `--once`.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anstyle::Style;
use anyhow::Result;
use litelab_doctor::judge::bytes_in_words as bytes;
use litelab_record::recording::{DatabaseView, Event, Phase, ReaderView, View};

use super::session::Session;
use crate::exit::Exit;
use crate::{output, style};

/// Time for which `--once` looks: long enough for a rate.
const ONCE: Duration = Duration::from_millis(500);
/// Time for which `--once` waits until all programs were searched for SQLite.
const EXAMINED: Duration = Duration::from_secs(5);
/// Time between two lines about a database.
const STATUS: Duration = Duration::from_secs(10);

/// Looks for half a second and prints what was seen.
pub fn once(session: &mut Session, json: bool, stop: &AtomicBool) -> Result<Exit> {
    let (mut view, mut all) = session.look()?;
    // The first look takes longer: it searches all processes.
    let begin = Instant::now();
    while begin.elapsed() < ONCE || (session.is_examining() && begin.elapsed() < EXAMINED) {
        std::thread::sleep(session.due().saturating_duration_since(Instant::now()));
        if stop.load(Ordering::Relaxed) {
            return Ok(Exit::Interrupted);
        }
        let (newer, events) = session.look()?;
        all.extend(events);
        view = newer;
    }
    if json {
        output::json(&as_json(&view, &all)?)?;
        return Ok(Exit::Ok);
    }
    for database in &view.databases {
        output::headed(style::STRONG, &database.path, format_args!("  {}", status(database)));
        lines(database, &view).iter().for_each(|line| output::line(format_args!("  {line}")));
    }
    all.iter().for_each(event);
    view.limits.iter().for_each(|limit| output::note(style::WARNING, "not visible", &limit.text));
    Ok(Exit::Ok)
}

fn as_json(view: &View, events: &[Event]) -> Result<serde_json::Value> {
    let mut value = serde_json::to_value(view)?;
    value["events"] = serde_json::to_value(events)?;
    Ok(value)
}

/// Looks until it is stopped, and prints a line of JSON for each look.
pub fn stream(session: &mut Session, stop: &AtomicBool) -> Result<()> {
    while !stop.load(Ordering::Relaxed) && !output::is_closed() {
        let (view, events) = session.look()?;
        output::lines(&format!("{}\n", as_json(&view, &events)?));
        wait(session, stop);
    }
    Ok(())
}

/// Sleeps until the next look is due, or the program is to end.
fn wait(session: &Session, stop: &AtomicBool) {
    /// Greatest delay of the end.
    const STEP: Duration = Duration::from_millis(200);
    while !stop.load(Ordering::Relaxed) && session.due() > Instant::now() {
        std::thread::sleep(session.due().saturating_duration_since(Instant::now()).min(STEP));
    }
}

/// Looks until it is stopped; prints events as they come, and now and then a line about each database.
pub fn run(session: &mut Session, stop: &AtomicBool) -> Result<()> {
    if let Some(address) = session.address() {
        output::log(format_args!("metrics: http://{address}/metrics"));
    }
    let listens = session.address().is_some();
    let mut told: Option<Instant> = None;
    let mut limits = Vec::new();
    while !stop.load(Ordering::Relaxed) && !output::is_closed() {
        let (view, events) = session.look()?;
        events.iter().for_each(event);
        for limit in &view.limits {
            // The text may name processes, which change.
            if !limits.contains(&limit.name) {
                output::note(style::WARNING, "not visible", &limit.text);
                limits.push(limit.name.clone());
            }
        }
        // A server's log has events; its numbers are in the metrics. The second look is the first one with rates.
        let ready = view.databases.iter().any(|database| database.totals.looks > 10);
        if !listens && ready && told.is_none_or(|told| told.elapsed() >= STATUS) {
            told = Some(Instant::now());
            for database in &view.databases {
                print(database, &view);
            }
        }
        wait(session, stop);
    }
    Ok(())
}

/// Prints an event with its fix.
pub fn event(event: &Event) {
    let look = match event.severity.as_str() {
        "error" => style::ERROR,
        "warning" => style::WARNING,
        _ => Style::new(),
    };
    // The time at which the condition of the event became true.
    let begin = format!("{} ", time(event.at + event.seconds));
    let head = format!("{} {}", event.rule, event.severity);
    let text = match event.phase {
        Phase::End => format!(" {}: over after {}: {}", event.database, seconds(event.seconds), event.kind),
        Phase::Once | Phase::Begin => format!(" {}: {}", event.database, event.message),
    };
    output::spans(&[(Style::new(), &begin), (look, &head), (Style::new(), &text)]);
    if event.phase != Phase::End && event.severity != "note" {
        output::line(format_args!("         {}", event.fix));
    }
}

/// Prints a line about a database, and one for each holder of its locks.
pub fn print(database: &DatabaseView, view: &View) {
    output::line(format_args!("{} {} {}", time(view.at), database.path, status(database)));
    lines(database, view).iter().for_each(|line| output::line(format_args!("         {line}")));
}

/// A database in one line.
fn status(database: &DatabaseView) -> String {
    let mut out = database.mode.clone();
    if let Some(rates) = database.rates {
        let _ = write!(out, ", {:.0} commits/s, write lock {:.0} %", rates.commits, 100.0 * rates.write_locked);
    }
    if let (Some(frames), Some(backlog)) = (database.frames, database.backlog_frames) {
        let size = bytes(database.backlog_bytes.unwrap_or(0) as f64);
        let _ = write!(out, ", log {frames} frames, backlog {backlog} ({size})");
    }
    if let Some(wal) = database.wal_bytes {
        let _ = write!(out, ", -wal {}", bytes(wal as f64));
    }
    if database.mode == "unknown" && database.database_bytes.is_none() {
        out.push_str(": no such file");
    }
    out
}

/// Holders of the locks of a database, one line each.
fn lines(database: &DatabaseView, view: &View) -> Vec<String> {
    let locks = database.locks.iter().map(|lock| {
        let held = age(lock.seconds, lock.at_least);
        format!("{:<10} held {held:>8}  {}", lock.lock, view.holder(lock.pid))
    });
    let readers = database.readers.iter().map(|reader| {
        let slot = reader.slot.map_or_else(|| "shared".to_owned(), |slot| format!("read {slot}"));
        let held = age(reader.seconds, reader.at_least);
        let note = note(reader, view).map_or(String::new(), |note| format!(", {note}"));
        format!("{slot:<10} held {held:>8}  {}{note}", view.holder(reader.pid))
    });
    let waiters = database.waiters.iter().map(|lock| {
        let waited = age(lock.seconds, lock.at_least);
        format!("{:<10} waits {waited:>7}  {}", lock.lock, view.holder(lock.pid))
    });
    locks.chain(readers).chain(waiters).collect()
}

/// What is special about a reader: a lock that Litestream holds by design, and what its snapshot pins.
pub fn note(reader: &ReaderView, view: &View) -> Option<String> {
    let companion = reader.pid.and_then(|pid| view.process(pid)?.companion.as_deref());
    let own = (companion == Some("litestream")).then(|| "Litestream's own read lock".to_owned());
    let pins = (reader.pins_frames > 0).then(|| format!("snapshot pins {}", bytes(reader.pins_bytes as f64)));
    let notes: Vec<String> = own.into_iter().chain(pins).collect();
    (!notes.is_empty()).then(|| notes.join(", "))
}

/// An age, with the sign of a lower bound.
pub fn age(value: f64, at_least: bool) -> String {
    format!("{}{}", if at_least { "≥" } else { "" }, seconds(value))
}

/// A duration in words.
pub fn seconds(value: f64) -> String {
    match value {
        s if s < 0.0995 => format!("{:.0} ms", s * 1e3),
        s if s < 9.95 => format!("{s:.1} s"),
        s => output::duration(s),
    }
}

/// Time of day in UTC.
pub fn time(unix: f64) -> String {
    let second = unix.rem_euclid(86_400.0) as u64;
    format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
}
