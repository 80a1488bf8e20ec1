//! A recording on the screen, or as lines.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Result;
use litelab_record::recording::{Event, Phase, Recording};

use super::plain;
use super::screen::Terminal;
use super::state::{Asked, State};
use crate::exit::{BadInput, Exit};
use crate::interrupt;

/// Seconds by which a key goes back or forward.
const STEP: f64 = 10.0;
/// Longest pause between two views: a time in which nothing was recorded is passed over.
const LONGEST: f64 = 5.0;
/// Longest wait for a key.
const POLL: Duration = Duration::from_millis(100);

/// Plays a recording; off a terminal prints its last view and its events.
pub fn run(recording: &Recording) -> Result<Exit> {
    let moments = recording.moments()?;
    let events = recording.events()?;
    if moments == 0 {
        return Err(BadInput(format!("{}: this recording is empty", recording.file_name())).into());
    }
    if std::io::stdout().is_terminal() && std::io::stdin().is_terminal() {
        play(recording, moments, &events)?;
        return Ok(Exit::Ok);
    }
    events.iter().for_each(plain::event);
    if let Some(view) = recording.view(moments - 1)? {
        view.databases.iter().for_each(|database| plain::print(database, &view));
    }
    Ok(Exit::Ok)
}

fn play(recording: &Recording, moments: u64, events: &[Event]) -> Result<()> {
    let stop = interrupt::stop();
    let mut terminal = Terminal::open()?;
    let mut state = State::new();
    let (mut number, mut speed) = (0, 1.0_f64);
    while !stop.load(Ordering::Relaxed) {
        let Some(view) = recording.view(number)? else { break };
        let (at, before) = (view.at, state.view.at);
        let began = |event: &&Event| event.phase != Phase::End && event.at > before && event.at <= at;
        let ended = |event: &&Event| {
            let end = event.at + event.seconds;
            event.phase == Phase::End && end > before && end <= at
        };
        let new = events.iter().filter(|event| began(event) || ended(event)).cloned().collect();
        state.take(Arc::new(view), new);
        let pace = if speed < 1.0 { format!("{speed:.2}") } else { format!("{speed:.0}") };
        state.position = Some(format!("{} of {moments}, {pace}× +/-", number + 1));
        terminal.draw(&state)?;
        let next = recording.view((number + 1).min(moments - 1))?.map_or(at, |next| next.at);
        let wait = ((next - at) / speed).clamp(0.02, LONGEST);
        let due = Instant::now() + Duration::from_secs_f64(wait);
        let to = loop {
            let now = Instant::now();
            let held = state.paused || number + 1 == moments;
            if !held && now >= due {
                break number + 1;
            }
            let poll = if held { now + POLL } else { due.min(now + POLL) };
            match terminal.key(poll, &mut state)? {
                _ if stop.load(Ordering::Relaxed) => return Ok(()),
                Asked::End => return Ok(()),
                Asked::Faster => speed = (speed * 2.0).min(64.0),
                Asked::Slower => speed = (speed / 2.0).max(0.25),
                Asked::Back => break seek(recording, moments, at - STEP)?,
                Asked::Forward => break seek(recording, moments, at + STEP)?,
                Asked::Nothing => {}
            }
        };
        if to != number + 1 {
            // The events and the history of another moment are those of all views before it.
            state = State { database: state.database, sort: state.sort, paused: state.paused, ..State::new() };
        }
        number = to;
    }
    Ok(())
}

/// Number of the last view at or before a time, by bisection.
fn seek(recording: &Recording, moments: u64, at: f64) -> Result<u64> {
    let (mut low, mut high) = (0, moments);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if recording.view(middle)?.is_some_and(|view| view.at <= at) { low = middle } else { high = middle }
    }
    Ok(low)
}
