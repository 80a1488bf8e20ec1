//! Background thread that samples a trial at regular intervals.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::database::DatabaseProbe;
use super::process::{ProcessProbe, ProcessUsage};
use super::sample::{Sample, Series};

/// Time between two samples.
const INTERVAL: Duration = Duration::from_millis(50);
/// Maximum number of samples kept; beyond it pairs are merged and the interval is doubled.
const LIMIT: usize = 20_000;
/// Number of databases read per sample; with more, they take turns and the others keep their last state. At about fifteen
/// microseconds each, a sample takes about a fiftieth of the interval.
const DATABASES_AT_ONCE: usize = 64;
/// Minimum time between two reads of each thread of a process.
const THREADS_EVERY: Duration = Duration::from_secs(1);

/// A running sampler. Dropping it stops the thread and discards the samples.
///
/// While it runs, the databases must not be open in this process: see the [crate].
#[derive(Debug)]
pub struct Sampler {
    requests: Option<Sender<Request>>,
    thread: Option<JoinHandle<Vec<Sample>>>,
}

#[derive(Debug)]
enum Request {
    Add(u32),
    Sample(Sender<u64>),
}

impl Sampler {
    /// Takes the first sample of the databases at these paths, which need not exist yet, and starts the thread.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(databases: Vec<PathBuf>) -> io::Result<Self> {
        Self::every(INTERVAL, databases)
    }

    fn every(interval: Duration, databases: Vec<PathBuf>) -> io::Result<Self> {
        let begin = Instant::now();
        let (requests, received) = channel();
        let mut state = State::new(databases, interval, LIMIT, begin);
        state.sample(Instant::now(), 0, true);
        let thread =
            std::thread::Builder::new().name("litelab-sampler".to_owned()).spawn(move || state.run(&received))?;
        Ok(Sampler { requests: Some(requests), thread: Some(thread) })
    }

    /// Adds a process, from the next sample on.
    pub fn add_process(&self, pid: u32) {
        self.request(Request::Add(pid));
    }

    /// Takes an additional sample, including threads, and returns its [`Sample::at_ns`]: for the boundaries of the
    /// measured window. `None` if the thread has died.
    pub fn sample_now(&self) -> Option<u64> {
        let (reply, received) = channel();
        self.request(Request::Sample(reply));
        received.recv().ok()
    }

    /// Takes the last sample, ends, and returns all samples in order of time; the first is that of the start. Call it while the processes exist, at least as zombies
    /// ([`super::MeasuredChild::has_ended`]); otherwise their usage since the last sample is lost.
    #[must_use]
    pub fn stop(mut self) -> Vec<Sample> {
        self.finish().unwrap_or_default()
    }

    fn request(&self, request: Request) {
        if let Some(requests) = &self.requests {
            // Fails only if the thread has panicked; then `stop` returns no samples.
            let _ = requests.send(request);
        }
    }

    fn finish(&mut self) -> Option<Vec<Sample>> {
        drop(self.requests.take());
        self.thread.take()?.join().ok()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.finish();
    }
}

struct State {
    begin: Instant,
    interval: Duration,
    processes: Vec<ProcessProbe>,
    databases: Vec<DatabaseProbe>,
    turn: usize,
    threads_due: Instant,
    series: Series,
}

impl State {
    fn new(databases: Vec<PathBuf>, interval: Duration, limit: usize, begin: Instant) -> Self {
        State {
            begin,
            interval,
            processes: Vec::new(),
            databases: databases.into_iter().map(DatabaseProbe::new).collect(),
            turn: 0,
            threads_due: begin,
            series: Series::new(limit),
        }
    }

    fn run(mut self, requests: &Receiver<Request>) -> Vec<Sample> {
        // Due times are absolute: a late sample does not delay later ones.
        let mut due = self.begin + self.interval;
        loop {
            match requests.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(Request::Add(pid)) => self.processes.push(ProcessProbe::new(pid)),
                Ok(Request::Sample(reply)) => {
                    // The caller may have gone; the sample is taken regardless.
                    let _ = reply.send(self.sample(Instant::now(), 0, true));
                }
                Err(RecvTimeoutError::Timeout) => {
                    // Missed slots are skipped, to avoid a burst of samples.
                    let missed = self.slots_since(due);
                    due += self.interval * missed;
                    self.sample(due, missed.into(), false);
                    due += self.interval;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let now = Instant::now();
        let missed = if now < due { 0 } else { u64::from(self.slots_since(due)) + 1 };
        self.sample(now, missed, true);
        self.series.into_samples()
    }

    /// Number of whole intervals from `due` until now.
    fn slots_since(&self, due: Instant) -> u32 {
        let slots = Instant::now().saturating_duration_since(due).as_nanos() / self.interval.as_nanos();
        u32::try_from(slots).unwrap_or(u32::MAX)
    }

    /// Takes a sample and returns its time.
    fn sample(&mut self, due: Instant, missed: u64, every_thread: bool) -> u64 {
        let now = Instant::now();
        let late = now.saturating_duration_since(due);
        let every_thread = every_thread || now >= self.threads_due;
        if every_thread {
            self.threads_due = now + THREADS_EVERY;
        }
        let mut sample = Sample {
            at_ns: nanoseconds(now.saturating_duration_since(self.begin)),
            late_ns: nanoseconds(late),
            moments: 1,
            late_moments: u32::from(late > self.interval / 2),
            missed,
            process: self.look_at_processes(every_thread),
            wal_restarts_exact: true,
            ..Sample::default()
        };
        self.look_at_databases(&mut sample);
        let at_ns = sample.at_ns;
        if self.series.push(sample) {
            self.interval *= 2;
        }
        at_ns
    }

    fn look_at_processes(&mut self, every_thread: bool) -> Option<ProcessUsage> {
        let usages = self.processes.iter_mut().filter_map(|process| process.read(every_thread));
        usages.reduce(|sum, usage| sum.plus(&usage))
    }

    fn look_at_databases(&mut self, sample: &mut Sample) {
        let count = self.databases.len();
        for offset in 0..count.min(DATABASES_AT_ONCE) {
            self.databases[(self.turn + offset) % count].read();
        }
        self.turn = (self.turn + DATABASES_AT_ONCE) % count.max(1);
        for database in &self.databases {
            let DatabaseProbe { state, totals, .. } = database;
            sample.database_bytes += state.files.database.unwrap_or(0);
            sample.wal_bytes += state.files.wal.unwrap_or(0);
            sample.journal_bytes += state.files.journal.unwrap_or(0);
            add(&mut sample.wal_frames, state.frames());
            add(&mut sample.wal_backlog, state.index.map(|index| index.backlog().into()));
            sample.frames_backfilled += totals.frames_backfilled;
            sample.wal_restarts += totals.wal_restarts;
            sample.wal_restarts_exact &= totals.wal_restarts_exact;
            sample.owners.extend_from_slice(&database.owners);
        }
    }
}

fn add(sum: &mut Option<u64>, more: Option<u64>) {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or(0) + more);
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Summary;
    use crate::testkit::Sqlite;

    const NEVER: Duration = Duration::from_secs(60);

    fn sampler(sqlite: &Sqlite, interval: Duration) -> Sampler {
        let sampler = Sampler::every(interval, vec![sqlite.path().to_owned()]).unwrap();
        sampler.add_process(sqlite.pid());
        sampler
    }

    #[test]
    fn a_log_that_grows_and_is_truncated_leaves_its_peak() {
        let mut sqlite = Sqlite::spawn();
        sqlite.wal_database(4096);
        let sampler = sampler(&sqlite, Duration::from_millis(5));
        let begin = sampler.sample_now().unwrap();
        for _ in 0..5 {
            sqlite.exec("INSERT INTO t(x) VALUES (zeroblob(100000))");
        }
        sampler.sample_now().unwrap();
        let [_, log, backfilled] = sqlite.checkpoint("PASSIVE");
        sampler.sample_now().unwrap();
        sqlite.exec("PRAGMA wal_checkpoint(TRUNCATE)");
        let samples = sampler.stop();
        let summary = Summary::since(&samples, 0);

        let length = |frames: i64| 32 + frames as u64 * (24 + 4096);
        let (first, last) = (samples.first().unwrap(), samples.last().unwrap());
        assert_eq!((summary.wal_peak_bytes, last.wal_bytes), (length(log), 0));
        let peak = |of: fn(&Sample) -> Option<u64>| samples.iter().filter_map(of).max();
        assert_eq!(peak(|sample| sample.wal_frames), Some(log as u64));
        assert_eq!(peak(|sample| sample.wal_backlog), Some(log as u64));
        assert_eq!(last.frames_backfilled, backfilled as u64);
        // The log carried five times 100,000 bytes into the database.
        assert!(last.database_bytes >= 500_000 + first.database_bytes, "{first:?} {last:?}");
        let within = Summary::since(&samples, begin);
        assert_eq!(within.wal_peak_bytes, summary.wal_peak_bytes);
        #[cfg(target_os = "linux")]
        {
            let written = |sample: &Sample| sample.process.unwrap().write_call_bytes.unwrap();
            let before = samples.iter().find(|sample| sample.at_ns == begin).unwrap();
            // Written to the log, and again to the database.
            let written = written(last) - written(before);
            assert!(written >= 1_000_000, "{written}");
            assert!(summary.rss_peak_bytes > Some(1_000_000), "{summary:?}");
            assert!(summary.voluntary_switches.is_some());
        }
        assert!(samples.is_sorted_by_key(|sample| sample.at_ns));
    }

    #[test]
    fn due_times_do_not_drift() {
        // On a busy machine the stop may overtake slots that are late, but not in every attempt.
        assert!((0..5).any(|_| slots_add_up()), "slots taken and slots missed are not all there are");
    }

    /// Whether each slot of a sampler was taken or counted as missed.
    fn slots_add_up() -> bool {
        let sampler = Sampler::every(Duration::from_millis(10), Vec::new()).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        let samples = sampler.stop();
        let summary = Summary::since(&samples, 0);
        // Every sample except the first and the last is due at a multiple of the interval, however late others were.
        for sample in &samples[1..samples.len() - 1] {
            assert_eq!((sample.at_ns - sample.late_ns) % 10_000_000, 0, "{sample:?}");
        }
        let slots = summary.samples - 2 + samples.iter().map(|sample| sample.missed).sum::<u64>();
        let expected = samples.last().unwrap().at_ns / 10_000_000;
        slots.abs_diff(expected) <= 1
    }

    #[test]
    fn the_series_is_bounded_and_the_interval_doubles() {
        let begin = Instant::now();
        let mut state = State::new(Vec::new(), Duration::from_millis(1), 8, begin);
        for _ in 0..22 {
            state.sample(begin, 0, true);
        }
        assert!(state.interval >= Duration::from_millis(4), "{:?}", state.interval);
        let samples = state.series.into_samples();
        assert!(samples.len() <= 8);
        assert_eq!(Summary::since(&samples, 0).samples, 22);
    }

    #[test]
    fn many_databases_take_turns_and_all_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let databases: Vec<PathBuf> = (0..150).map(|n| dir.path().join(format!("{n}.db"))).collect();
        databases.iter().for_each(|path| std::fs::write(path, [0; 10]).unwrap());
        let sampler = Sampler::every(NEVER, databases).unwrap();
        sampler.sample_now().unwrap();
        let samples = sampler.stop();
        assert_eq!(samples.iter().map(|sample| sample.database_bytes).collect::<Vec<_>>(), [640, 1280, 1500]);
    }

    #[test]
    fn a_process_added_later_and_ended_keeps_its_totals() {
        let sampler = Sampler::every(NEVER, Vec::new()).unwrap();
        let mut sqlite = Sqlite::spawn();
        sqlite.wal_database(4096);
        sampler.add_process(sqlite.pid());
        sampler.sample_now().unwrap();
        sqlite.close();
        let samples = sampler.stop();
        assert_eq!(samples[0].process, None);
        if cfg!(target_os = "linux") {
            let [alive, ended] = [1, 2].map(|at: usize| samples[at].process.unwrap());
            assert!(alive.rss_bytes > Some(0));
            assert_eq!(ended.rss_bytes, Some(0));
            assert!(ended.write_call_bytes >= alive.write_call_bytes && alive.write_call_bytes > Some(20_000));
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_owner_of_a_lock_and_of_a_snapshot_that_is_behind() {
        use crate::{Lock, LockOwner};
        let mut sqlite = Sqlite::spawn();
        sqlite.wal_database(4096);
        let sampler = sampler(&sqlite, NEVER);
        sqlite.begin_reader();
        sqlite.exec("BEGIN IMMEDIATE");
        sampler.sample_now().unwrap();
        sqlite.exec("INSERT INTO t(x) VALUES (1)");
        sqlite.exec("COMMIT");
        let pid = sqlite.pid();
        let samples = sampler.stop();
        let summary = Summary::since(&samples, 0);
        let locks = |at: usize| samples[at].owners.iter().map(|owner| (owner.lock, owner.pid)).collect::<Vec<_>>();
        assert_eq!(locks(0), []);
        assert_eq!(locks(1), [(Lock::Write, pid)], "a snapshot that is current holds no one up");
        assert_eq!(locks(2), [(Lock::Read(1), pid)]);
        let shares: Vec<(LockOwner, f64)> = summary.locks.iter().map(|one| (one.owner, one.share)).collect();
        let third = |lock| (LockOwner { lock, pid }, 1.0 / 3.0);
        assert_eq!(shares, [third(Lock::Write), third(Lock::Read(1))]);
        // In run files.
        let text = serde_json::to_string(&summary.locks).unwrap();
        assert_eq!(serde_json::from_str::<Vec<crate::LockShare>>(&text).unwrap(), summary.locks);
    }
}
