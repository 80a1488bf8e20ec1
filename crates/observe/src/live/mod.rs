//! One look after the other at databases that other programs use: the wal-index, the locks and who holds them.
//!
//! | source | gives | cost |
//! |---|---|---|
//! | stat(2), the first bytes of each file | sizes, wal-index, headers | 20 µs for each look and database |
//! | `/proc/PID/fdinfo/FD` | locks of a known process | 5 µs for each descriptor: one of each file, once a second all |
//! | `fcntl(F_GETLK)` | one owner of each lock, also an invisible one | 1 µs for each lock |
//! | `/proc/locks` | further owners, waiters; needs no permission | some ms of waiting |
//! | `/proc/PID/fd` of all processes | processes without a lock, deleted and moved files | some ms of CPU time |
//!
//! A read of `/proc/locks` waits for an RCU grace period, and every operation on a lock of the whole system takes a
//! slower path meanwhile (`locks_start` in `fs/locks.c` of Linux). It is therefore read by a thread of its own, every ten
//! seconds; more often, up to `locks_every`, after somebody opened a database, and while there is a process whose
//! descriptors may not be read, a lock without a known owner, or a process that waits for a lock. The search through all
//! processes follows an open, a change of files, a lock without a known owner, or [`EVERY`].

mod database;
mod entry;
pub(crate) mod holders;
mod images;
mod moment;
mod opens;
mod process;
mod program;
pub(crate) mod query;
mod table;
#[cfg(all(test, target_os = "linux"))]
mod tests;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use database::{Database, Reading};
use entry::LockEntry;
use images::Examiner;
pub use moment::{Hold, Look, Moment, Opener, Seen};
use opens::Opens;
use process::{Known, Process, others};
pub use program::Program;
use table::Table;

/// Time between two searches through all processes without a reason.
const EVERY: Duration = Duration::from_secs(10);
/// Least time between two searches, also with a reason.
const LEAST: Duration = Duration::from_millis(500);
/// A search through all processes may use this share of a core.
const SHARE: u32 = 500;
/// Time between two reads of the resource usage of processes, and of the free space of file systems.
const SLOW: Duration = Duration::from_secs(1);

/// Observer of databases. It opens their files for reading only, and keeps none of them open.
///
/// Not for a process that has one of the databases open: see the [crate].
#[derive(Debug)]
pub struct Observer {
    databases: Vec<Database>,
    processes: Vec<Process>,
    examiner: Examiner,
    table: Table,
    opens: Opens,
    searched: Option<(Instant, Duration)>,
    search_again: bool,
    complete: bool,
    slow: Option<Instant>,
}

impl Observer {
    /// Creates an observer of the databases at these paths, which need not exist yet. `locks_every` is the least time
    /// between two reads of `/proc/locks`, which are rarer where nothing requires them.
    #[must_use]
    pub fn new(databases: Vec<PathBuf>, locks_every: Duration) -> Self {
        Self {
            databases: databases.into_iter().map(Database::new).collect(),
            processes: Vec::new(),
            examiner: Examiner::new(),
            table: Table::new(locks_every),
            opens: Opens::default(),
            searched: None,
            search_again: true,
            complete: true,
            slow: None,
        }
    }

    /// Looks once.
    pub fn look(&mut self) -> Look {
        let begin = Instant::now();
        let slow = self.slow.is_none_or(|at| begin - at >= SLOW);
        let mut changed = false;
        for database in &mut self.databases {
            changed |= database.stat(slow);
        }
        let known = self.known();
        let opened = self.opens.any();
        if changed {
            self.refresh(&known);
            self.opens.follow(self.databases.iter().map(Database::path));
        }
        self.search_again |= changed || opened;
        self.search(begin, &known);
        let entries = self.table.entries();
        for entry in entries.iter().filter(|entry| !entry.waits) {
            let mut parts = self.databases.iter().enumerate();
            let part = parts.find_map(|(number, database)| Some((number, database.part(entry)?)));
            if let (Some((number, suffix)), Some(pid)) = (part, entry.pid) {
                self.examine(pid, (number, suffix), &known);
            }
        }
        for ((pid, started), contents) in self.examiner.found() {
            let mut same = self.processes.iter_mut();
            if let Some(process) = same.find(|process| (process.pid, process.started) == (pid, started)) {
                process.program.add(contents);
            }
        }
        let mut moments = Vec::new();
        for number in 0..self.databases.len() {
            moments.push(self.moment(number, &entries, &known, slow));
        }
        // Those of this look.
        self.opens.any();
        let waits = moments.iter().any(|moment| moment.holds.iter().any(|hold| hold.waits));
        if opened || waits || self.search_again || self.processes.iter().any(|process| !process.readable) {
            self.table.require();
        }
        if slow {
            self.slow = Some(begin);
            self.processes.iter_mut().for_each(Process::measure);
        }
        let seen = |process: &Process| Seen {
            pid: process.pid,
            started: process.started,
            program: process.program.clone(),
            readable: process.readable,
            usage: process.used,
        };
        Look {
            databases: moments,
            processes: self.processes.iter().map(seen).collect(),
            complete: self.complete,
            sees_locks: cfg!(target_os = "linux") && self.table.works(),
        }
    }

    /// Whether programs are still being searched for SQLite: until then their copies of it, and the language of some, are
    /// unknown.
    #[must_use]
    pub fn is_examining(&self) -> bool {
        self.examiner.is_busy()
    }

    /// The files of all databases by identity, first those that the paths lead to, then those that were replaced and may
    /// still be open.
    fn known(&self) -> Vec<Known> {
        let all = self.databases.iter().enumerate().flat_map(|(number, database)| database.known(number));
        let (mut current, former): (Vec<Known>, Vec<Known>) = all.partition(|known| known.path.is_some());
        current.extend(former);
        current
    }

    /// Lists the descriptors of all known processes again.
    fn refresh(&mut self, known: &[Known]) {
        self.processes.retain_mut(|process| process.refresh(known));
    }

    /// Examines a process that holds a lock on a file, unless its descriptor of that file is known.
    fn examine(&mut self, pid: u32, (database, suffix): (usize, &str), known: &[Known]) {
        match self.processes.iter_mut().find(|process| process.pid == pid) {
            Some(process) if !process.readable || process.has(database, suffix) => {}
            // One that was known already has opened another database.
            Some(process) => {
                process.refresh(known);
            }
            None if pid == std::process::id() => {}
            None => {
                let found = Process::of(pid, known);
                if let Some(process) = found.unwrap_or_else(|_| Some(Process::unreadable(pid))) {
                    self.add(process);
                }
            }
        }
    }

    fn add(&mut self, process: Process) {
        self.examiner.ask((process.pid, process.started), process.directory.clone());
        self.processes.push(process);
        self.processes.sort_by_key(|process| process.pid);
    }

    /// Searches through all processes, if that is due.
    fn search(&mut self, now: Instant, known: &[Known]) {
        if let Some((last, cost)) = self.searched {
            let pause = (cost * SHARE).max(if self.search_again { LEAST } else { EVERY });
            if now - last < pause {
                return;
            }
        }
        self.search_again = false;
        self.complete = false;
        if let Some(others) = others() {
            self.complete = true;
            self.refresh(known);
            for pid in others {
                if self.processes.iter().any(|process| process.pid == pid) {
                    continue;
                }
                match Process::of(pid, known) {
                    Ok(Some(process)) => self.add(process),
                    Ok(None) => {}
                    // It may have the files open. If it holds a lock, `/proc/locks` names it.
                    Err(_) => self.complete = false,
                }
            }
        }
        self.searched = Some((now, now.elapsed()));
    }

    /// Adds the locks of the processes whose descriptors are known. Returns whether a descriptor has gone.
    fn add_known(&mut self, number: usize, reading: &mut Reading, every: bool) -> bool {
        let mut gone = false;
        for process in self.processes.iter_mut().filter(|process| process.readable) {
            match process.locks(number, every) {
                (_, true) => gone = true,
                (locks, false) => {
                    locks.iter().for_each(|(entry, suffix)| reading.add(entry, suffix, Some(process.pid)));
                }
            }
        }
        gone
    }

    fn moment(&mut self, number: usize, entries: &[LockEntry], known: &[Known], every: bool) -> Moment {
        let mut reading = self.databases[number].begin();
        if self.add_known(number, &mut reading, every) {
            self.refresh(known);
        }
        for (pid, suffix) in reading.owners() {
            let knew = self.processes.iter().any(|process| process.pid == pid && process.has(number, suffix));
            if knew {
                continue;
            }
            self.examine(pid, (number, suffix), known);
            let found = self.processes.iter_mut().find(|process| process.pid == pid);
            for (entry, suffix) in found.map(|process| process.locks(number, true).0).unwrap_or_default() {
                reading.add(&entry, suffix, Some(pid));
            }
        }
        if !every && reading.lacks_owner() {
            self.add_known(number, &mut reading, true);
        }
        let readable = |pid| self.processes.iter().any(|process| process.pid == pid && process.readable);
        let database = &self.databases[number];
        for entry in entries {
            // Locks of processes whose descriptors are known were read just now; the table is older.
            // A process that has ended since holds none.
            let stale = entry.pid.is_some_and(|pid| readable(pid) || has_ended(pid)) && !entry.waits;
            if let Some(suffix) = database.part(entry).filter(|_| !stale && entry.pid.is_some()) {
                reading.add(entry, suffix, entry.pid);
            }
        }
        self.search_again |= reading.lacks_owner();
        let mut moment = reading.end();
        moment.openers = self.processes.iter().filter_map(|process| opener(process, number)).collect();
        moment
    }
}

fn opener(process: &Process, number: usize) -> Option<Opener> {
    let open: Vec<_> = process.open.iter().filter(|open| open.database == number).collect();
    if open.is_empty() {
        return None;
    }
    let moved = open.iter().find(|open| open.suffix.is_empty() && !open.current && !open.deleted);
    Some(Opener {
        pid: process.pid,
        descriptors: open.iter().filter(|open| open.suffix.is_empty()).count(),
        deleted: process.deleted(number),
        moved: moved.map(|open| open.path.clone()),
    })
}

/// Whether no process has this number.
fn has_ended(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}
