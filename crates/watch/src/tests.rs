//! Looks written by hand, and what becomes of them.

use std::time::{Duration, Instant};

use litelab_observe::live::{Hold, Look, Moment, Opener, Program, Seen};
use litelab_observe::{DatabaseHeader, FileSizes, Lock, WalIndex};
use litelab_record::recording::{Event, Phase, View};

use crate::Watch;
use crate::metrics::{Counts, exposition};

/// A database in WAL mode at `ms` milliseconds after a common start.
struct Script {
    begin: Instant,
    watch: Watch,
    at: u64,
    moment: Moment,
    processes: Vec<Seen>,
    all: Vec<Event>,
}

const PAGE: u32 = 4096;

impl Script {
    fn new() -> Self {
        let begin = Instant::now();
        let index = WalIndex {
            change_counter: 10,
            page_size: Some(PAGE),
            frames: 100,
            database_pages: 1000,
            salts: [1, 2],
            backfilled: 0,
            backfill_attempted: 0,
            read_marks: [Some(0), Some(100), None, None, None],
        };
        let header = DatabaseHeader {
            page_size: PAGE,
            wal: true,
            change_counter: 1,
            pages: 1000,
            free_pages: 0,
            written_by: 3_054_001,
        };
        let moment = Moment {
            at: begin,
            identity: Some((1, 1)),
            files: FileSizes { database: Some(4_096_000), wal: Some(412_032), shm: Some(32_768), journal: None },
            header: Some(header),
            log: None,
            index: Some(index),
            steady: true,
            torn: 0,
            denied: false,
            holds: vec![],
            openers: vec![],
            journal_header: false,
            free_bytes: Some(1 << 40),
            filesystem: Some("ext4".into()),
        };
        let watch = Watch::new(&["app.db".to_owned()], Duration::from_millis(100)).unwrap();
        Self { begin, watch, at: 0, moment, processes: vec![], all: vec![] }
    }

    fn index(&mut self) -> &mut WalIndex {
        self.moment.index.as_mut().unwrap()
    }

    fn commit(&mut self, frames: u32) {
        let index = self.index();
        (index.change_counter, index.frames) = (index.change_counter + 1, index.frames + frames);
    }

    fn holds(&mut self, holds: &[(Lock, u32)]) {
        let hold =
            |(lock, pid): &(Lock, u32)| Hold { lock: *lock, pid: Some(*pid), waits: false, of_description: false };
        self.moment.holds = holds.iter().map(hold).collect();
    }

    fn opens(&mut self, pid: u32, command: &str) {
        let program = Program { name: command.into(), command: command.into(), ..Program::default() };
        self.processes.push(Seen { pid, started: Some(1), program, readable: true, usage: None });
        self.moment.openers.push(Opener { pid, descriptors: 1, deleted: vec![], moved: None });
    }

    /// Looks once, `ms` after the last look.
    fn look(&mut self, ms: u64) -> View {
        self.at += ms;
        self.moment.at = self.begin + Duration::from_millis(self.at);
        let look = Look {
            databases: vec![self.moment.clone()],
            processes: self.processes.clone(),
            complete: true,
            sees_locks: true,
        };
        let (view, events) = self.watch.update(&look, 1e9 + self.at as f64 / 1e3).unwrap();
        self.all.extend(events);
        view
    }

    /// Looks every 100 ms for this time.
    fn looks(&mut self, ms: u64) -> View {
        let mut view = View::default();
        (0..ms / 100).for_each(|_| view = self.look(100));
        view
    }

    fn kinds(&self) -> Vec<(&str, Phase)> {
        self.all.iter().map(|event| (event.kind.as_str(), event.phase)).collect()
    }
}

#[test]
fn a_lock_is_as_old_as_its_transaction() {
    let mut script = Script::new();
    script.look(0);
    script.holds(&[(Lock::Write, 7)]);
    script.look(100);
    let view = script.look(100);
    let lock = &view.databases[0].locks[0];
    // Seen at 100 and 200 ms, not at 0: it began at 50 ± 50.
    assert_eq!((lock.pid, lock.seconds, lock.error_seconds, lock.at_least), (Some(7), 0.15, 0.05, false));
    // A commit, and the lock again: another transaction.
    script.commit(3);
    let view = script.look(100);
    assert_eq!(view.databases[0].locks[0].seconds, 0.05);
    // A look during a commit cannot tell them apart, and the next one begins anew.
    script.moment.steady = false;
    script.look(100);
    script.moment.steady = true;
    let view = script.look(100);
    assert_eq!(view.databases[0].locks[0].seconds, 0.05);
    assert_eq!(view.databases[0].totals.commits, 1);
}

#[test]
fn what_was_held_at_the_first_look_has_a_lower_bound() {
    let mut script = Script::new();
    script.holds(&[(Lock::Read(1), 7)]);
    script.look(0);
    let reader = script.look(400).databases[0].readers[0].clone();
    assert_eq!((reader.seconds, reader.at_least, reader.behind_seconds), (0.4, true, None));
}

#[test]
fn a_reader_pins_what_is_behind_its_mark() {
    let mut script = Script::new();
    script.look(0);
    script.holds(&[(Lock::Read(1), 7), (Lock::Read(0), 8)]);
    script.commit(50);
    script.index().backfilled = 90;
    script.look(100);
    let view = script.look(300);
    let readers = &view.databases[0].readers;
    // The reader of the file alone pins all that is not copied, and comes first.
    assert_eq!((readers[0].slot, readers[0].pins_frames), (Some(0), 60));
    assert_eq!((readers[1].slot, readers[1].mark, readers[1].pins_frames), (Some(1), Some(100), 50));
    assert_eq!(readers[1].pins_bytes, 50 * 4120);
    assert_eq!(readers[1].behind_seconds, Some(0.3));
    // The slot is used again with another mark: another reader.
    script.index().read_marks[1] = Some(150);
    let view = script.look(100);
    let reader = view.databases[0].readers.iter().find(|reader| reader.slot == Some(1)).unwrap();
    assert_eq!((reader.seconds, reader.behind_seconds, reader.pins_frames), (0.05, None, 0));
}

#[test]
fn attempts_at_a_checkpoint_are_not_one_long_checkpoint() {
    let mut script = Script::new();
    script.look(0);
    for _ in 0..80 {
        script.holds(&[(Lock::Checkpoint, 7)]);
        script.commit(1);
        script.look(100);
    }
    assert_eq!(script.kinds(), []);
    // One that copies notes how far it will go.
    script.index().backfill_attempted = 150;
    script.look(100);
    for _ in 0..60 {
        script.commit(1);
        script.look(100);
    }
    assert_eq!(script.kinds(), [("long-checkpoint", Phase::Begin)]);
}

#[test]
fn rates_and_totals_over_a_reset() {
    let mut script = Script::new();
    script.look(0);
    for _ in 0..30 {
        script.commit(2);
        script.look(100);
    }
    script.index().backfilled = 160;
    script.look(100);
    let index = script.index();
    (index.salts, index.frames, index.backfilled, index.change_counter) = ([2, 9], 5, 0, index.change_counter + 1);
    let view = script.look(100);
    let totals = view.databases[0].totals;
    assert_eq!((totals.commits, totals.frames, totals.checkpointed, totals.resets), (31, 65, 160, 1));
    let rates = view.databases[0].rates.unwrap();
    assert!((rates.commits - 9.5).abs() < 0.6, "{rates:?}");
    assert_eq!(script.kinds(), [("reset", Phase::Once)]);
}

#[test]
fn a_long_write_begins_and_ends_and_names_its_process() {
    let mut script = Script::new();
    script.opens(7, "sqlite3");
    script.looks(200);
    script.holds(&[(Lock::Write, 7)]);
    script.looks(900);
    assert_eq!(script.kinds(), []);
    script.looks(2000);
    script.holds(&[]);
    script.looks(300);
    assert_eq!(script.kinds(), [("long-write", Phase::Begin), ("long-write", Phase::End)]);
    let begun = &script.all[0];
    assert_eq!((begun.pid, begun.rule.as_str(), begun.severity.as_str()), (Some(7), "LL501", "warning"));
    assert!(begun.message.starts_with("7 sqlite3 has held the write lock for 1."), "{}", begun.message);
    // Another holder is another event.
    script.opens(8, "job");
    script.holds(&[(Lock::Write, 7)]);
    script.looks(1500);
    script.holds(&[(Lock::Write, 8)]);
    script.looks(1500);
    let begun: Vec<Option<u32>> =
        script.all.iter().filter(|event| event.phase == Phase::Begin).map(|event| event.pid).collect();
    assert_eq!(begun, [Some(7), Some(7), Some(8)]);
}

#[test]
fn a_starved_checkpoint_names_the_oldest_reader_or_that_no_checkpoint_runs() {
    let mut script = Script::new();
    script.opens(977, "python report.py");
    script.look(0);
    script.holds(&[(Lock::Read(1), 977)]);
    script.commit(8000);
    script.looks(9900);
    assert_eq!(script.kinds(), []);
    script.looks(400);
    let event = script.all.last().unwrap();
    assert_eq!((event.kind.as_str(), event.pid, event.rule.as_str()), ("starved-checkpoint", Some(977), "LL514"));
    assert!(event.message.contains("977 python report.py") && event.message.contains("33 MB"), "{}", event.message);
    script.holds(&[]);
    script.look(100);
    let kinds: Vec<&str> = script.all.iter().map(|event| event.rule.as_str()).collect();
    assert_eq!(kinds, ["LL514", "LL514", "LL515"], "begin, end, and the cause that remains");
    script.index().backfilled = 8100;
    script.look(100);
    assert_eq!(script.all.last().map(|event| event.phase), Some(Phase::End));
}

#[test]
fn readers_without_a_gap_let_a_copied_log_grow() {
    let mut script = Script::new();
    script.holds(&[(Lock::Read(1), 7)]);
    script.look(0);
    for _ in 0..400 {
        script.commit(50);
        let frames = script.index().frames;
        script.index().backfilled = frames - 20;
        script.look(100);
    }
    assert!(script.kinds().contains(&("no-reader-gap", Phase::Begin)), "{:?}", script.kinds());
}

#[test]
fn a_busy_storm_needs_commits_and_several_processes() {
    let mut script = Script::new();
    for pid in 1..=4 {
        script.opens(pid, "worker");
    }
    script.look(0);
    for at in 0..120 {
        script.holds(&[(Lock::Write, 1 + at % 4)]);
        script.commit(1);
        script.look(100);
    }
    assert!(script.kinds().contains(&("busy-storm", Phase::Begin)), "{:?}", script.kinds());
}

#[test]
fn files_that_change_are_told() {
    let mut script = Script::new();
    script.opens(7, "app");
    script.look(0);
    script.moment.identity = Some((1, 2));
    script.look(100);
    script.moment.openers[0].moved = Some("/srv/old.db".into());
    script.moment.identity = None;
    script.look(100);
    script.moment.openers[0].moved = None;
    script.moment.identity = Some((1, 3));
    script.look(100);
    script.moment.identity = None;
    script.look(100);
    // Found later than the move.
    script.moment.openers[0].moved = Some("/srv/older.db".into());
    script.looks(300);
    script.moment.openers[0].deleted = vec!["-wal".into()];
    script.looks(2500);
    let kinds: Vec<&str> = script.all.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["replaced", "moved", "appeared", "removed", "moved", "deleted-open"]);
    assert!(script.all[1].message.contains("/srv/old.db") && script.all[5].message.contains("app.db-wal"));
}

#[test]
fn sizes_and_modes_that_change_are_told() {
    let mut script = Script::new();
    script.look(0);
    script.moment.files.wal = Some(70 << 20);
    script.look(100);
    script.moment.files.wal = Some(90 << 20);
    script.look(100);
    script.moment.files.wal = Some(130 << 20);
    script.look(100);
    script.moment.files.wal = Some(0);
    script.index().database_pages = 700;
    script.look(100);
    // Recovery of an empty log leaves no size.
    script.index().database_pages = 0;
    script.moment.header.as_mut().unwrap().pages = 700;
    assert_eq!(script.look(100).databases[0].pages, Some(700));
    script.moment.index = None;
    script.moment.header.as_mut().unwrap().wal = false;
    script.look(100);
    script.moment.files.journal = Some(20_000);
    script.moment.journal_header = true;
    script.looks(1500);
    let kinds: Vec<&str> = script.all.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["growth", "growth", "truncated", "shrunk", "mode-changed", "hot-journal"]);
}

#[test]
fn a_log_that_was_truncated_passes_its_sizes_again() {
    let mut script = Script::new();
    for size in [300_u64, 64, 130, 70, 200] {
        script.moment.files.wal = Some(size << 20);
        script.look(100);
    }
    let grown: Vec<&Event> = script.all.iter().filter(|event| event.kind == "growth").collect();
    assert_eq!(grown.len(), 3, "300, 130 and 200 MiB: {:?}", script.kinds());
}

#[test]
fn with_long_intervals_a_lock_seen_once_is_not_held_for_long() {
    let mut script = Script::new();
    script.look(0);
    script.holds(&[(Lock::Write, 7)]);
    script.look(60_000);
    script.commit(1);
    script.look(60_000);
    assert_eq!(script.kinds(), [], "two transactions of any length");
    // The same transaction at two looks.
    script.look(60_000);
    assert_eq!(script.kinds(), [("long-write", Phase::Begin)]);
}

#[test]
fn a_large_commit_after_a_quiet_time_is_no_starved_checkpoint() {
    let mut script = Script::new();
    script.looks(60_000);
    script.commit(5000);
    script.looks(5000);
    assert!(!script.kinds().contains(&("starved-checkpoint", Phase::Begin)), "{:?}", script.kinds());
    script.looks(6000);
    assert!(script.kinds().contains(&("starved-checkpoint", Phase::Begin)), "{:?}", script.kinds());
}

#[test]
fn idle_time_does_not_hide_that_there_is_no_gap_between_readers() {
    let mut script = Script::new();
    script.commit(5000);
    script.index().backfilled = 5000;
    script.looks(600_000);
    script.holds(&[(Lock::Read(1), 7)]);
    script.looks(29_000);
    assert!(!script.kinds().contains(&("no-reader-gap", Phase::Begin)), "{:?}", script.kinds());
    script.looks(2000);
    assert!(script.kinds().contains(&("no-reader-gap", Phase::Begin)), "{:?}", script.kinds());
}

#[test]
fn a_checkpoint_ends_the_age_of_a_reader_of_the_file_alone() {
    let mut script = Script::new();
    script.index().backfilled = 100;
    script.holds(&[(Lock::Read(0), 7)]);
    script.looks(5000);
    script.commit(10);
    script.index().backfilled = 110;
    let view = script.look(100);
    assert_eq!(view.databases[0].readers[0].seconds, 0.05);
}

#[test]
fn a_file_system_that_fills_is_told_with_its_time() {
    let mut script = Script::new();
    script.moment.free_bytes = Some(1 << 30);
    script.look(0);
    for second in 1..=25_u64 {
        script.moment.free_bytes = Some((1 << 30) - second * 1_000_000);
        script.looks(1000);
    }
    let event = script.all.iter().find(|event| event.kind == "full-soon").unwrap();
    // A gigabyte at a megabyte a second.
    assert!(event.message.contains("is full in 18 min"), "{}", event.message);
    script.moment.free_bytes = Some(4096);
    script.looks(1000);
    assert_eq!(script.all.last().map(|event| event.kind.as_str()), Some("full"));
}

#[test]
fn processes_that_come_and_go_are_told_together() {
    let mut script = Script::new();
    script.look(0);
    script.opens(7, "one");
    script.look(100);
    script.opens(8, "two");
    script.opens(9, "three");
    script.looks(11_000);
    let texts: Vec<&str> = script.all.iter().map(|event| event.message.as_str()).collect();
    assert_eq!(texts, ["opened by 7 one", "opened by 8 two, 9 three"]);
}

#[test]
fn limits_tell_what_helps() {
    let mut script = Script::new();
    script.look(0);
    let hidden = Hold { lock: Lock::Write, pid: None, waits: false, of_description: false };
    script.moment.holds = vec![hidden, Hold { lock: Lock::Read(1), of_description: true, ..hidden }];
    script.moment.filesystem = Some("nfs4".into());
    script.processes.push(Seen { pid: 5, started: None, program: Program::default(), readable: false, usage: None });
    let view = script.look(100);
    let names: Vec<&str> = view.limits.iter().map(|limit| limit.name.as_str()).collect();
    assert_eq!(names, ["no-permission", "other-pid-namespace", "open-file-description", "network-file-system"]);
    assert_eq!(view.holder(None), "a process that is not visible here");
    script.moment.holds = vec![Hold { lock: Lock::Exclusive, pid: Some(7), ..hidden }];
    script.moment.index = None;
    let written = view.databases[0].totals.write_locked_seconds;
    let view = script.looks(3000);
    assert!(view.limits.iter().any(|limit| limit.name == "exclusive-locking-mode"));
    // The lock of such a process is not that of a transaction.
    assert!(view.databases[0].locks.iter().any(|lock| lock.lock == "exclusive" && lock.seconds > 2.0), "{view:?}");
    let text = exposition(&view, script.watch.active(), &Counts::default()).unwrap();
    assert!(text.contains("sqlite_write_lock_held_seconds{database=\"app.db\"} 0.0"), "{text}");
    assert_eq!(view.databases[0].totals.write_locked_seconds, written);
}

#[test]
fn metrics_have_a_line_for_each_holder() {
    let mut script = Script::new();
    script.opens(7, "we\"ird\nname");
    script.holds(&[(Lock::Write, 7), (Lock::Read(1), 7)]);
    script.look(0);
    script.commit(10);
    let view = script.looks(1500);
    let mut counts = Counts::default();
    script.all.iter().for_each(|event| counts.add(event));
    let text = exposition(&view, script.watch.active(), &counts).unwrap();
    for line in [
        "sqlite_commits_total{database=\"app.db\"} 1.0",
        "sqlite_wal_backlog_frames{database=\"app.db\"} 110.0",
        "sqlite_wal_backlog_bytes{database=\"app.db\"} 453200.0",
        "sqlite_events_total{database=\"app.db\",kind=\"long-write\",rule=\"LL503\"} 1.0",
        "sqlite_reader_pinned_bytes{database=\"app.db\",pid=\"7\",process=\"we\\\"ird\\nname\",slot=\"1\"} 41200.0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert!(text.ends_with("# EOF\n"));
}

#[test]
fn rates_of_a_process_are_those_between_two_readings() {
    let mut script = Script::new();
    script.opens(7, "app");
    let usage = |cpu_ms: u64, written: u64| litelab_observe::ProcessUsage {
        user_ns: cpu_ms * 1_000_000,
        write_bytes: Some(written),
        ..litelab_observe::ProcessUsage::default()
    };
    script.processes[0].usage = Some((script.begin, usage(100, 0)));
    assert_eq!(script.looks(300).processes[0].cpu, None);
    script.processes[0].usage = Some((script.begin + Duration::from_secs(2), usage(1100, 4_000_000)));
    script.look(100);
    // Looks between two readings change nothing.
    let view = script.looks(300);
    let process = &view.processes[0];
    assert_eq!((process.cpu, process.written_per_second), (Some(0.5), Some(2e6)));
    // What may not be read is not 0.
    assert_eq!(process.read_per_second, None);
}

#[test]
fn a_shared_lock_without_wal_begins_anew_after_each_commit() {
    let mut script = Script::new();
    script.moment.index = None;
    script.moment.header.as_mut().unwrap().wal = false;
    script.holds(&[(Lock::Shared, 8)]);
    let age = |view: &View| view.databases[0].readers[0].seconds;
    script.look(0);
    assert!(age(&script.looks(2000)) > 1.5);
    script.moment.header.as_mut().unwrap().change_counter += 1;
    assert!(age(&script.look(100)) < 0.2);
}

#[test]
fn a_writer_in_rollback_mode_that_waits_for_readers() {
    let mut script = Script::new();
    script.moment.index = None;
    script.moment.header.as_mut().unwrap().wal = false;
    script.look(0);
    script.holds(&[(Lock::Reserved, 7), (Lock::Pending, 7), (Lock::Shared, 7), (Lock::Shared, 8), (Lock::Shared, 9)]);
    script.looks(1500);
    let event = script.all.iter().find(|event| event.kind == "pending-writer").unwrap();
    assert!(event.message.ends_with("waits for 2 readers"), "{event:?}");
    assert!(script.kinds().contains(&("pending-writer", Phase::Begin)), "{:?}", script.kinds());
    script.holds(&[(Lock::Reserved, 7), (Lock::Pending, 7), (Lock::Exclusive, 7)]);
    script.looks(200);
    assert!(script.kinds().contains(&("pending-writer", Phase::End)), "{:?}", script.kinds());
}

#[test]
fn counters_of_log_and_file_are_not_compared() {
    let mut script = Script::new();
    script.moment.index = None;
    script.look(0);
    let mut other = Script::new();
    script.moment.index = Some(*other.index());
    script.look(100);
    script.commit(1);
    assert_eq!(script.look(100).databases[0].totals.commits, 1);
}
