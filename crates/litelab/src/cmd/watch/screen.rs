//! The screen: keys in, pictures out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event;

use super::draw;
use super::session::Session;
use super::state::{Asked, EVENTS, State};

/// Time between two pictures.
const PICTURE: Duration = Duration::from_millis(250);

/// A terminal that is restored when it goes out of scope, also after an error.
pub struct Terminal(DefaultTerminal);

impl Terminal {
    pub fn open() -> Result<Self> {
        Ok(Self(ratatui::try_init()?))
    }

    pub fn draw(&mut self, state: &State) -> Result<()> {
        self.0.draw(|frame| draw::draw(frame, state))?;
        Ok(())
    }

    /// The next key before `due`.
    pub fn key(&mut self, due: Instant, state: &mut State) -> Result<Asked> {
        let wait = due.saturating_duration_since(Instant::now());
        if event::poll(wait)? {
            match event::read()? {
                event::Event::Key(key) => {
                    let asked = state.key(key);
                    self.draw(state)?;
                    return Ok(asked);
                }
                event::Event::Resize(..) => self.draw(state)?,
                _ => {}
            }
        }
        Ok(Asked::Nothing)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Shows the screen until `q`.
pub fn run(session: &mut Session, stop: &AtomicBool) -> Result<()> {
    let mut terminal = Terminal::open()?;
    let mut state = State::new();
    let mut picture = Instant::now();
    // While it is paused, looks, recording and metrics go on.
    let mut held = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let (view, events) = session.look()?;
        held.extend(events);
        // A pause may last for days. Most events have a beginning and an end.
        held.drain(..held.len().saturating_sub(2 * EVENTS));
        if !state.paused {
            state.take(view, std::mem::take(&mut held));
            state.lasting(session.active());
        }
        if picture <= Instant::now() {
            terminal.draw(&state)?;
            picture = Instant::now() + PICTURE;
        }
        while session.due() > Instant::now() && !stop.load(Ordering::Relaxed) {
            let until = session.due().min(Instant::now() + PICTURE);
            if terminal.key(until, &mut state)? == Asked::End {
                return Ok(());
            }
        }
        if terminal.key(Instant::now(), &mut state)? == Asked::End {
            return Ok(());
        }
    }
    Ok(())
}
