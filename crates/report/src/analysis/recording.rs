//! A recording of databases in use: its course, who held what, and its events.

use std::collections::BTreeMap;

use litelab_record::RecordError;
use litelab_record::recording::{DatabaseView, Event, Phase, Recording, View};

/// Largest number of points of a course; a longer recording is divided into windows, each with its largest values.
const POINTS: u64 = 600;
/// Age in seconds from which a lock is listed.
const LISTED: f64 = 0.1;

/// What a recording shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordingAnalysis {
    /// Name of the file, without its path.
    pub file: String,
    /// Start in UTC.
    pub created: String,
    /// Times of the first and the last view, in seconds since 1970.
    pub span: (f64, f64),
    /// The databases, in the order in which they were named.
    pub databases: Vec<Course>,
    /// All events, an event that lasted once, with its duration.
    pub events: Vec<Event>,
    /// What could not be seen.
    pub limits: Vec<String>,
}

/// One database over the time of a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Course {
    /// Path as it was named.
    pub path: String,
    /// Points in order of time.
    pub points: Vec<Point>,
    /// Largest number of bytes of log not copied; `None` if it was never known.
    pub backlog: Option<u64>,
    /// Commits and resets of the log during the recording.
    pub commits: u64,
    /// Resets of the log.
    pub resets: u64,
    /// Locks and read marks, the longest first.
    pub holders: Vec<Holder>,
}

/// Values of one window, each the largest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Seconds since the beginning.
    pub seconds: f64,
    /// Bytes of log not copied.
    pub backlog: f64,
    /// Bytes of the log file.
    pub log: f64,
    /// Commits per second.
    pub commits: f64,
}

/// A process that held a lock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Holder {
    /// Lock: `write`, `read`, …
    pub lock: String,
    /// Process in one line.
    pub process: String,
    /// Longest time for which one transaction held it, in seconds.
    pub longest: f64,
    /// Whether it was held at the first look already.
    pub at_least: bool,
    /// Largest part of the log that it kept from being copied, in bytes.
    pub pinned: u64,
}

/// Analyses a recording.
///
/// # Errors
/// If the file is damaged.
pub fn analyse(recording: &Recording) -> Result<RecordingAnalysis, RecordError> {
    let count = recording.moments()?;
    let mut out = RecordingAnalysis {
        file: recording.file_name(),
        created: recording.created()?,
        events: events(recording.events()?),
        ..RecordingAnalysis::default()
    };
    let mut holders: Vec<BTreeMap<(String, String), Holder>> = Vec::new();
    let mut windows = 0;
    for number in 0..count {
        let Some(view) = recording.view(number)? else { break };
        if number == 0 {
            out.span.0 = view.at;
        }
        out.span.1 = view.at;
        let new = windows == 0 || number * POINTS / count.max(POINTS) >= windows;
        windows += u64::from(new);
        for limit in &view.limits {
            if !out.limits.contains(&limit.text) {
                out.limits.push(limit.text.clone());
            }
        }
        for (at, database) in view.databases.iter().enumerate() {
            if out.databases.len() == at {
                out.databases.push(Course { path: database.path.clone(), ..Course::default() });
                holders.push(BTreeMap::new());
            }
            let course = &mut out.databases[at];
            course.add(database, view.at - out.span.0, new);
            hold(&mut holders[at], database, &view);
        }
    }
    // One that has no end lasted to the end of the recording at least.
    for event in out.events.iter_mut().filter(|event| event.phase == Phase::Begin) {
        event.seconds = event.seconds.max(out.span.1 - event.at);
    }
    for (course, holders) in out.databases.iter_mut().zip(holders) {
        course.holders = holders.into_values().filter(|holder| holder.longest >= LISTED).collect();
        course.holders.sort_by(|a, b| b.longest.total_cmp(&a.longest));
    }
    Ok(out)
}

impl Course {
    fn add(&mut self, database: &DatabaseView, seconds: f64, new: bool) {
        if new || self.points.is_empty() {
            self.points.push(Point { seconds, ..Point::default() });
        }
        if let Some(point) = self.points.last_mut() {
            point.backlog = point.backlog.max(database.backlog_bytes.unwrap_or(0) as f64);
            self.backlog = self.backlog.max(database.backlog_bytes);
            point.log = point.log.max(database.wal_bytes.unwrap_or(0) as f64);
            point.commits = point.commits.max(database.rates.map_or(0.0, |rates| rates.commits));
        }
        (self.commits, self.resets) = (database.totals.commits, database.totals.resets);
    }
}

/// One event for the beginning and the end of what lasted.
fn events(all: Vec<Event>) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    for event in all {
        match events.iter_mut().find(|begun| begun.number == event.number && event.number > 0) {
            Some(begun) => (begun.phase, begun.seconds) = (event.phase, event.seconds),
            None => events.push(event),
        }
    }
    events
}

fn hold(holders: &mut BTreeMap<(String, String), Holder>, database: &DatabaseView, view: &View) {
    let locks = database.locks.iter().map(|lock| (lock.lock.as_str(), lock.pid, lock.seconds, lock.at_least, 0));
    let readers = database.readers.iter();
    let readers = readers.map(|r| ("read", r.pid, r.seconds, r.at_least, r.pins_bytes));
    for (lock, pid, seconds, at_least, pinned) in locks.chain(readers) {
        let process = view.holder(pid);
        let holder = holders.entry((lock.to_owned(), process.clone())).or_insert_with(|| Holder {
            lock: lock.to_owned(),
            process,
            ..Holder::default()
        });
        if seconds > holder.longest {
            (holder.longest, holder.at_least) = (seconds, at_least);
        }
        holder.pinned = holder.pinned.max(pinned);
    }
}
