//! State of the screen: what looks, events and keys change, and what its pictures show.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use litelab_record::recording::{DatabaseView, Event, Phase, View};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// Events that are kept.
pub(super) const EVENTS: usize = 500;
/// Seconds of history that a sparkline can show.
const HISTORY: usize = 240;

/// State of the screen.
#[derive(Debug, Default)]
pub struct State {
    pub view: Arc<View>,
    /// Newest first. An event that lasts is there once, with its duration so far.
    pub events: VecDeque<Event>,
    /// History of each database, one point for each second.
    pub history: HashMap<String, VecDeque<Point>>,
    /// Database whose details are shown.
    pub database: usize,
    /// Event whose explanation is shown.
    pub event: usize,
    pub sort: Sort,
    pub paused: bool,
    /// What the title shows in place of the interval: the position in a recording.
    pub position: Option<String>,
    pub color: bool,
}

/// One second of a database.
#[derive(Clone, Copy, Debug, Default)]
pub struct Point {
    pub commits: f64,
    pub written: f64,
    pub copied: f64,
    pub backlog: f64,
    pub locked: f64,
}

impl Point {
    pub fn of(database: &DatabaseView) -> Self {
        let frame = f64::from(database.page_size.unwrap_or(0)) + 24.0;
        let rates = database.rates.unwrap_or_default();
        Self {
            commits: rates.commits,
            written: rates.frames * frame,
            copied: rates.checkpointed * frame,
            backlog: database.backlog_bytes.unwrap_or(0) as f64,
            locked: rates.write_locked,
        }
    }
}

/// Order of the databases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// As they were named.
    #[default]
    Named,
    Backlog,
    Commits,
    Reader,
}

impl Sort {
    const ALL: [Self; 4] = [Self::Named, Self::Backlog, Self::Commits, Self::Reader];

    pub fn name(self) -> &'static str {
        match self {
            Self::Named => "name",
            Self::Backlog => "backlog",
            Self::Commits => "commits",
            Self::Reader => "oldest reader",
        }
    }

    fn next(self) -> Self {
        let at = Self::ALL.iter().position(|sort| *sort == self).unwrap_or(0);
        Self::ALL[(at + 1) % Self::ALL.len()]
    }
}

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    Nothing,
    End,
    /// In a recording: faster, slower, back, forward.
    Faster,
    Slower,
    Back,
    Forward,
}

impl State {
    pub fn new() -> Self {
        Self { color: crate::style::color(), ..Self::default() }
    }

    /// Takes over a look and its events.
    pub fn take(&mut self, view: Arc<View>, events: Vec<Event>) {
        for event in events {
            self.note(event);
        }
        for database in &view.databases {
            let history = self.history.entry(database.path.clone()).or_default();
            let second = view.at.floor() > self.view.at.floor();
            if second || history.is_empty() {
                history.push_back(Point::of(database));
                history.drain(..history.len().saturating_sub(HISTORY));
            }
        }
        self.view = view;
    }

    /// Brings the durations of events that last up to date.
    pub fn lasting<'a>(&mut self, active: impl Iterator<Item = &'a Event>) {
        for now in active {
            if let Some(event) = self.events.iter_mut().find(|event| event.number == now.number) {
                event.seconds = now.seconds;
            }
        }
    }

    fn note(&mut self, event: Event) {
        if event.phase == Phase::End
            && let Some(begun) = self.events.iter_mut().find(|begun| begun.number == event.number)
        {
            (begun.phase, begun.seconds) = (Phase::End, event.seconds);
            return;
        }
        self.events.push_front(event);
        self.events.truncate(EVENTS);
        // The chosen event stays chosen.
        if self.event > 0 {
            self.event = (self.event + 1).min(self.events.len() - 1);
        }
    }

    /// The databases in the order in which they are shown.
    pub fn databases(&self) -> Vec<&DatabaseView> {
        let mut databases: Vec<&DatabaseView> = self.view.databases.iter().collect();
        let key = |database: &DatabaseView| match self.sort {
            Sort::Named => 0.0,
            Sort::Backlog => database.backlog_bytes.unwrap_or(0) as f64,
            Sort::Commits => database.rates.map_or(0.0, |rates| rates.commits),
            Sort::Reader => {
                let behind = database.readers.iter().filter(|reader| reader.behind_seconds.is_some());
                behind.map(|reader| reader.seconds).fold(0.0, f64::max)
            }
        };
        databases.sort_by(|a, b| key(b).total_cmp(&key(a)));
        databases
    }

    /// Carries out a key.
    pub fn key(&mut self, key: KeyEvent) -> Asked {
        if key.kind == KeyEventKind::Release {
            return Asked::Nothing;
        }
        let last = self.view.databases.len().saturating_sub(1);
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return Asked::End,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return Asked::End,
            KeyCode::Char('p' | ' ') => self.paused = !self.paused,
            KeyCode::Char('s') => self.sort = self.sort.next(),
            KeyCode::Down => self.database = (self.database + 1).min(last),
            KeyCode::Up => self.database = self.database.saturating_sub(1),
            KeyCode::Right => self.event = (self.event + 1).min(self.events.len().saturating_sub(1)),
            KeyCode::Left => self.event = self.event.saturating_sub(1),
            KeyCode::Char('+') => return Asked::Faster,
            KeyCode::Char('-') => return Asked::Slower,
            KeyCode::PageUp => return Asked::Back,
            KeyCode::PageDown => return Asked::Forward,
            _ => {}
        }
        Asked::Nothing
    }
}
