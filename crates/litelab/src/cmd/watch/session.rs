//! Looks at regular times, and what follows each of them: the recording, metrics, actions.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use litelab_observe::live::Observer;
use litelab_record::RecordError;
use litelab_record::recording::{Event, RecordingWriter, View};
use litelab_watch::Watch;

use super::action::Actions;
use super::serve::{Server, Snapshot};
use super::{Args, warn};

/// Least time between two reads of `/proc/locks`.
const LOCKS: Duration = Duration::from_millis(100);
/// Greatest time between two recorded views.
const RECORDED: Duration = Duration::from_secs(1);
/// Time between two commits of the recording.
const COMMIT: Duration = Duration::from_secs(10);

/// Running observation.
pub struct Session {
    observer: Observer,
    watch: Watch,
    interval: Duration,
    due: Instant,
    server: Option<Server>,
    actions: Actions,
    recorder: Option<Recorder>,
    /// Whether the recording has ended early.
    has_failed: bool,
    counts: litelab_watch::metrics::Counts,
}

struct Recorder {
    writer: RecordingWriter,
    last: Option<(Instant, Vec<String>)>,
    /// The last view, if it was not stored.
    skipped: Option<Arc<View>>,
    committed: Instant,
}

impl Session {
    /// Opens what the arguments name.
    pub fn new(args: &Args, interval: Duration) -> Result<Self> {
        let server = args.listen.map(Server::start).transpose()?;
        let recorder = args.record.as_deref().map(RecordingWriter::create).transpose()?;
        let recorder = recorder.map(Recorder::new);
        let names: Vec<String> = args.databases.iter().map(|path| path.display().to_string()).collect();
        // A relative path stays right only as long as the working directory does; an absolute one always.
        let paths = args.databases.iter().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone()));
        Ok(Self {
            observer: Observer::new(paths.collect(), LOCKS),
            watch: Watch::new(&names, interval)?,
            interval,
            due: Instant::now(),
            server,
            actions: Actions::new(args.exec.clone(), args.webhook.clone(), args.on, args.every)?,
            recorder,
            has_failed: false,
            counts: litelab_watch::metrics::Counts::default(),
        })
    }

    /// Time of the next look.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// Address at which metrics are served.
    pub fn address(&self) -> Option<std::net::SocketAddr> {
        self.server.as_ref().map(Server::address)
    }

    /// Looks, and carries out what follows. Returns the view and the events.
    pub fn look(&mut self) -> Result<(Arc<View>, Vec<Event>)> {
        let now = Instant::now();
        self.due += self.interval;
        if self.due < now {
            // Missed looks are left out.
            self.due = now + self.interval;
        }
        let look = self.observer.look();
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let (view, events) = self.watch.update(&look, at)?;
        let view = Arc::new(view);
        for event in &events {
            self.counts.add(event);
            self.actions.take(event);
        }
        if let Some(recorder) = &mut self.recorder
            && let Err(error) = recorder.take(&view, &events)
        {
            // Metrics and actions go on, as on a disk that fills up.
            warn(format_args!("the recording ends here: {error:#}"));
            self.recorder = None;
            self.has_failed = true;
        }
        if let Some(server) = &self.server {
            let active = self.watch.active().cloned().collect();
            server.publish(Snapshot { view: Arc::clone(&view), active, counts: self.counts.clone() });
        }
        for failure in self.actions.failures() {
            warn(failure);
        }
        Ok((view, events))
    }

    /// Whether programs are still being examined.
    pub fn is_examining(&self) -> bool {
        self.observer.is_examining()
    }

    /// Events that last.
    pub fn active(&self) -> impl Iterator<Item = &Event> {
        self.watch.active()
    }

    /// Ends the recording and the programs of events. Returns whether all of it was stored.
    pub fn end(&mut self) -> Result<bool> {
        let stored = self.recorder.take().map_or(Ok(()), |recorder| recorder.writer.finish());
        for failure in self.actions.finish() {
            warn(failure);
        }
        stored?;
        Ok(!self.has_failed)
    }
}

impl Recorder {
    fn new(writer: RecordingWriter) -> Self {
        Self { writer, last: None, skipped: None, committed: Instant::now() }
    }

    fn take(&mut self, view: &Arc<View>, events: &[Event]) -> Result<()> {
        let now = Instant::now();
        let holders = holders(view);
        let changed = self.last.as_ref().is_some_and(|(_, before)| *before != holders);
        let due = self.last.as_ref().is_none_or(|(at, _)| now - *at >= RECORDED);
        // The age of a lock at its end is in the view before.
        if changed && let Some(before) = self.skipped.take() {
            self.writer.moment(&before)?;
        }
        if changed || due || !events.is_empty() {
            self.writer.moment(view)?;
            (self.last, self.skipped) = (Some((now, holders)), None);
        } else {
            self.skipped = Some(Arc::clone(view));
        }
        for event in events {
            self.writer.event(view.at, event)?;
        }
        if now - self.committed >= COMMIT {
            match self.writer.commit() {
                // Somebody reads the recording: it is committed at the next look.
                Err(RecordError::Busy(_)) => {}
                done => {
                    done?;
                    self.committed = now;
                }
            }
        }
        Ok(())
    }
}

/// Which locks that last are held by whom. Locks of short transactions, which change at every look, do not count.
fn holders(view: &View) -> Vec<String> {
    /// Age from which a lock counts.
    const LASTING: f64 = 0.25;
    let locks = view.databases.iter().flat_map(|database| {
        let locks = database.locks.iter().filter(|lock| lock.seconds >= LASTING);
        let locks = locks.map(|lock| format!("{} {} {:?}", database.path, lock.lock, lock.pid));
        let readers = database.readers.iter().filter(|reader| reader.seconds >= LASTING);
        locks.chain(readers.map(|reader| format!("{} {:?} {:?}", database.path, reader.mark, reader.pid)))
    });
    locks.collect()
}

#[cfg(test)]
mod tests {
    use litelab_record::recording::{DatabaseView, LockView, Recording};

    use super::*;

    #[test]
    fn a_recording_has_a_lock_as_old_as_it_became() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("incident.db");
        let mut recorder = Recorder::new(RecordingWriter::create(&path).unwrap());
        // The lock is held from 0.1 s to 0.9 s.
        for look in 0..12 {
            let seconds = f64::from(look) / 10.0;
            let lock = LockView { lock: "write".into(), pid: Some(7), seconds: seconds - 0.1, ..LockView::default() };
            let locks = if (1..10).contains(&look) { vec![lock] } else { Vec::new() };
            let database = DatabaseView { path: "app.db".into(), locks, ..DatabaseView::default() };
            let view = View { at: seconds, databases: vec![database], ..View::default() };
            recorder.take(&Arc::new(view), &[]).unwrap();
        }
        recorder.writer.finish().unwrap();
        let recording = Recording::open(&path).unwrap().unwrap();
        let views = (0..recording.moments().unwrap()).map(|at| recording.view(at).unwrap().unwrap());
        let ages = views.flat_map(|view| view.databases[0].locks.iter().map(|lock| lock.seconds).collect::<Vec<_>>());
        let longest = ages.fold(0.0, f64::max);
        assert!((longest - 0.8).abs() < 1e-9, "{longest}");
    }
}
