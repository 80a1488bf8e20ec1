use std::time::{Duration, Instant};

use super::*;
use crate::testkit::{Sqlite, lock_description};
use crate::{Lock, sidecar};

fn observer(sqlite: &Sqlite) -> Observer {
    Observer::new(vec![sqlite.path().to_owned()], Duration::from_millis(20))
}

/// Locks held, without those that every connection in WAL mode holds.
fn held(look: &Look) -> Vec<(Lock, Option<u32>)> {
    let holds = look.databases[0].holds.iter().filter(|hold| !hold.waits && hold.lock != Lock::Shared);
    holds.map(|hold| (hold.lock, hold.pid)).collect()
}

/// Looks until the condition holds; a panic after ten seconds.
fn until(observer: &mut Observer, holds: impl Fn(&Look) -> bool) -> Look {
    let begin = Instant::now();
    loop {
        let look = observer.look();
        if holds(&look) {
            return look;
        }
        assert!(begin.elapsed() < Duration::from_secs(10), "{look:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn writer_reader_and_backlog_at_once() {
    let mut sqlite = Sqlite::spawn();
    sqlite.wal_database(4096);
    let pid = Some(sqlite.pid());
    let mut observer = observer(&sqlite);
    assert_eq!(held(&observer.look()), []);
    sqlite.begin_reader();
    let look = observer.look();
    let [(Lock::Read(slot @ 1..), reader)] = held(&look)[..] else { panic!("{look:?}") };
    assert_eq!(reader, pid);
    let index = look.databases[0].index.unwrap();
    assert_eq!(index.read_marks[usize::from(slot)], Some(index.frames));
    sqlite.exec("BEGIN IMMEDIATE");
    let look = observer.look();
    assert_eq!(held(&look)[0], (Lock::Write, pid));
    assert!(look.databases[0].steady && look.sees_locks);
    sqlite.exec("INSERT INTO t(x) VALUES (zeroblob(20000))");
    sqlite.exec("COMMIT");
    let [_, log, backfilled] = sqlite.checkpoint("PASSIVE");
    let look = observer.look();
    assert!(!held(&look).contains(&(Lock::Write, pid)));
    let index = look.databases[0].index.unwrap();
    assert_eq!((i64::from(index.frames), i64::from(index.backfilled)), (log, backfilled));
    assert_eq!(i64::from(index.backlog()), log - backfilled);
    assert_eq!(look.processes.len(), 1);
    assert!(look.processes[0].readable);
    let look = until(&mut observer, |look| !look.processes[0].program.sqlite.is_empty());
    assert_eq!(look.processes[0].program.language.as_deref(), Some("rust"));
    assert_eq!(look.databases[0].openers[0].descriptors, 2);
}

#[test]
fn a_reader_of_the_database_file_alone_has_slot_zero_and_stops_every_checkpoint() {
    let mut sqlite = Sqlite::spawn();
    sqlite.wal_database(4096);
    sqlite.checkpoint("PASSIVE");
    sqlite.begin_reader();
    let mut observer = observer(&sqlite);
    assert_eq!(held(&observer.look()), [(Lock::Read(0), Some(sqlite.pid()))]);
    sqlite.exec("INSERT INTO t(x) VALUES (zeroblob(20000))");
    sqlite.checkpoint("PASSIVE");
    let index = observer.look().databases[0].index.unwrap();
    assert!(index.backlog() > 0 && index.backlog() == index.frames - index.backfilled, "{index:?}");
    assert_eq!(index.backfilled, 0, "the log was restarted, and no page of it can be copied");
}

#[test]
fn rollback_mode() {
    let mut sqlite = Sqlite::spawn();
    sqlite.exec("PRAGMA journal_mode=DELETE");
    sqlite.exec("CREATE TABLE t(x)");
    let pid = Some(sqlite.pid());
    let mut observer = observer(&sqlite);
    sqlite.begin_reader();
    let shared = |look: &Look| look.databases[0].holds.iter().any(|hold| hold.lock == Lock::Shared && hold.pid == pid);
    assert!(shared(&observer.look()));
    sqlite.exec("BEGIN IMMEDIATE");
    sqlite.exec("INSERT INTO t(x) VALUES (1)");
    let look = observer.look();
    assert_eq!(held(&look), [(Lock::Reserved, pid)]);
    assert!(!look.databases[0].header.unwrap().wal);
}

#[test]
fn a_process_that_comes_later_is_found_by_its_lock() {
    let mut first = Sqlite::spawn();
    first.wal_database(4096);
    let mut observer = observer(&first);
    observer.look();
    let mut second = Sqlite::spawn_on(first.path());
    second.exec("BEGIN IMMEDIATE");
    let look = observer.look();
    assert!(held(&look).contains(&(Lock::Write, Some(second.pid()))), "{look:?}");
    second.exec("ROLLBACK");
    // Two processes on one slot: F_GETLK names one of them, `/proc/locks` both.
    first.begin_reader();
    second.begin_reader();
    let both = |look: &Look| {
        let pids: Vec<_> = held(look).into_iter().filter(|(lock, _)| *lock == Lock::Read(1)).collect();
        pids.len() == 2
    };
    until(&mut observer, both);
    second.close();
    until(&mut observer, |look| look.databases[0].openers.len() == 1);
}

#[test]
fn a_known_process_that_opens_another_database_is_found_there() {
    let mut sqlite = Sqlite::spawn();
    sqlite.wal_database(4096);
    let other = sidecar(sqlite.path(), ".other");
    let mut owner = Sqlite::spawn_on(&other);
    owner.wal_database(4096);
    let mut observer = Observer::new(vec![sqlite.path().to_owned(), other.clone()], Duration::from_millis(20));
    observer.look();
    sqlite.exec(&format!("ATTACH '{}' AS other", other.display()));
    sqlite.exec("SELECT count(*) FROM other.t");
    let pid = sqlite.pid();
    until(&mut observer, |look| look.databases[1].openers.iter().any(|opener| opener.pid == pid));
    sqlite.exec("BEGIN IMMEDIATE");
    let look = observer.look();
    assert!(
        look.databases
            .iter()
            .all(|database| { database.holds.iter().any(|hold| hold.lock == Lock::Write && hold.pid == Some(pid)) })
    );
}

#[test]
fn replaced_moved_and_deleted_files() {
    let mut sqlite = Sqlite::spawn();
    sqlite.wal_database(4096);
    let mut observer = observer(&sqlite);
    let before = observer.look().databases[0].identity;
    let moved = sidecar(sqlite.path(), ".old");
    std::fs::rename(sqlite.path(), &moved).unwrap();
    let look = observer.look();
    assert_eq!(look.databases[0].identity, None);
    assert_eq!(look.databases[0].openers[0].moved.as_deref(), Some(moved.canonicalize().unwrap().as_path()));
    std::fs::write(sqlite.path(), b"another").unwrap();
    let look = observer.look();
    assert!(look.databases[0].identity.is_some() && look.databases[0].identity != before);
    std::fs::remove_file(sidecar(sqlite.path(), "-wal")).unwrap();
    std::fs::remove_file(&moved).unwrap();
    let look = until(&mut observer, |look| look.databases[0].openers[0].deleted.len() == 2);
    assert_eq!(look.databases[0].openers[0].deleted, ["", "-wal"]);
    // One that begins now knows the deleted log by its path only.
    let look = self::observer(&sqlite).look();
    assert_eq!(look.databases[0].openers[0].deleted, ["-wal"]);
}

#[test]
fn a_file_that_takes_the_name_of_another_database_belongs_to_that() {
    let mut sqlite = Sqlite::spawn();
    sqlite.wal_database(4096);
    let other = sidecar(sqlite.path(), ".other");
    let mut observer = Observer::new(vec![sqlite.path().to_owned(), other.clone()], Duration::from_millis(20));
    observer.look();
    for suffix in ["", "-wal", "-shm"] {
        std::fs::rename(sidecar(sqlite.path(), suffix), sidecar(&other, suffix)).unwrap();
    }
    let look = observer.look();
    let pids = |at: usize| look.databases[at].openers.iter().map(|opener| opener.pid).collect::<Vec<_>>();
    assert_eq!((pids(0), pids(1)), (vec![], vec![sqlite.pid()]));
    assert_eq!(look.databases[1].openers[0].moved, None);
}

#[test]
fn a_lock_of_an_open_file_description_has_no_owner_here() {
    let mut sqlite = Sqlite::spawn();
    sqlite.wal_database(4096);
    let _locked = lock_description(sqlite.path(), 120);
    // This process is left out of all searches, so that the owner stays unknown.
    let look = observer(&sqlite).look();
    let hold = look.databases[0].holds.iter().find(|hold| hold.lock == Lock::Write).unwrap();
    assert_eq!((hold.pid, hold.of_description), (None, true));
}

#[test]
fn a_lock_of_an_open_file_description_is_found_by_the_descriptor_that_has_it() {
    let mut sqlite = Sqlite::spawn();
    sqlite.wal_database(4096);
    let pid = Some(sqlite.pid());
    sqlite.lock_description(120);
    sqlite.lock_description(121);
    let mut observer = observer(&sqlite);
    // The first look reads each descriptor. The next ones would read one of each file, that of the connections.
    let expected = [(Lock::Write, pid), (Lock::Checkpoint, pid)];
    assert_eq!((0..3).map(|_| held(&observer.look())).collect::<Vec<_>>(), [expected; 3]);
}

#[test]
fn nothing_to_see() {
    let dir = tempfile::tempdir().unwrap();
    let mut observer = Observer::new(vec![dir.path().join("none.db")], Duration::from_secs(1));
    let look = observer.look();
    assert_eq!((look.databases[0].identity, look.databases[0].index), (None, None));
    assert!(look.databases[0].holds.is_empty() && look.processes.is_empty());
}
