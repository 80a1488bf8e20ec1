//! An asynchronous program on real files: several databases, each with readers and a slow writer.

use crate::common::*;
use litelab_protocol::{Begin, Database, Executor, Fetch, Sharing, Trial, Until};

/// On each database one write that holds its lock for `hold` milliseconds, and three readers until it ends.
fn long_writes(databases: Vec<Database>, hold: u64) -> Trial {
    let mut write = insert(Begin::Immediate);
    write.hold_us = hold * 1_000;
    let read = vec![select("SELECT * FROM t WHERE id = ?1", &[0], Fetch::All)];
    let read = transaction("read", Begin::None, vec![uniform("id", 1, 100)], read);
    let mut roles = vec![role("w", 1, &[0], count(1)), role("r", 3, &[1], Until::Role { name: "w".into() })];
    roles[1].first_worker = 1;
    roles[1].load = litelab_protocol::Load::Closed { think_us: 5_000 };
    Trial { runtime_threads: Some(2), probe_ms: 5, ..trial("rusqlite", databases, vec![write, read], roles) }
}

/// Duration of the slowest read and lateness of the slowest timer, in nanoseconds.
fn slowest(trial: &Trial) -> (u64, u64) {
    let outcome = run(trial);
    let (write, read) = (outcome.operation("w", "insert"), outcome.operation("r", "read"));
    assert_eq!((write.committed, write.failed, read.failed), (trial.databases.len() as u64, 0, 0));
    let timers = &outcome.result.timers;
    assert!(timers["pool_wait"].count() > 0);
    (read.service.max().unwrap_or_default(), timers["probe"].max().unwrap_or_default())
}

#[test]
fn a_read_beside_a_long_write_takes_what_a_read_takes() {
    let scratches = [Scratch::new(), Scratch::new(), Scratch::new()];
    scratches.iter().for_each(|scratch| scratch.fill(100));
    let mut trial = long_writes(scratches.iter().map(Scratch::database).collect(), 1_000);
    trial.sharing = Sharing::WriterReaders { readers: 3 };
    // A read that waited for the write would take half of it; a read takes microseconds.
    for executor in [Executor::Dedicated, Executor::Offload] {
        trial.executor = executor;
        tries(|_| {
            let (read, late) = slowest(&trial);
            timely(read < 300 * MS && late < 300 * MS, format_args!("{executor}: {read} {late}"))
        });
    }
    // Three writes on two threads: nothing else runs during them.
    trial.executor = Executor::Inline;
    tries(|_| {
        let (_, late) = slowest(&trial);
        timely(late > 700 * MS, late)
    });
}

#[test]
fn a_read_on_the_writers_connection_waits_for_the_write() {
    for executor in [Executor::Offload, Executor::Dedicated] {
        let memory = |name: &str| Database::Memory {
            shared: false,
            name: name.into(),
            setup: vec!["CREATE TABLE t(id INTEGER PRIMARY KEY, a, b)".into()],
            teardown: vec![],
        };
        let mut trial = long_writes(vec![memory("one"), memory("two")], 300);
        trial.connection.settings.clear();
        (trial.executor, trial.sharing) = (executor, Sharing::OneConnection);
        tries(|_| {
            let (read, late) = slowest(&trial);
            let apart = (200 * MS..600 * MS).contains(&read) && late < 150 * MS;
            timely(apart, format_args!("{executor}: {read} {late}"))
        });
    }
}
