//! Every access, every begin, every kind of database: the counts are those of the rows.

use crate::common::*;
use litelab_protocol::histogram::Histogram;
use litelab_protocol::{Access, Begin, Database, Executor, Fetch, Prepare, Source};

const ACCESSES: [Access; 6] = [
    Access::PerWorker,
    Access::Shared,
    Access::Pool { connections: 1 },
    Access::Pool { connections: 2 },
    Access::WriteLock,
    Access::Split { readers: 2 },
];

#[test]
fn counts_are_those_of_the_rows() {
    for access in ACCESSES {
        for (begin, prepare) in [
            (Begin::None, Prepare::Once),
            (Begin::Deferred, Prepare::Each),
            (Begin::Immediate, Prepare::Once),
            (Begin::Exclusive, Prepare::Each),
        ] {
            let (a, b) = (Scratch::new(), Scratch::new());
            a.fill(100);
            b.fill(100);
            let read = vec![select("SELECT * FROM t WHERE id = ?1", &[0], Fetch::All)];
            let id = param("id", Source::Uniform { low: 1, high: 100 });
            let read = transaction("read", begin, vec![id], read);
            let mut roles = vec![role("writer", 3, &[0], count(60)), role("reader", 2, &[1], count(80))];
            roles[1].first_worker = 3;
            let mut trial = trial(vec![a.database(), b.database()], vec![insert(begin), read], roles);
            (trial.access, trial.prepare) = (access, prepare);
            let outcome = run(&trial);
            let context = format!("{access} {begin:?}");
            for scratch in [&a, &b] {
                assert_eq!(scratch.number("SELECT count(*) FROM t"), 160, "{context}");
            }
            let (write, read) = (outcome.operation("writer", "insert"), outcome.operation("reader", "read"));
            assert_eq!((write.committed, write.rows, write.failed), (120, 120, 0), "{context}");
            assert_eq!((read.committed, read.rows, read.measured), (160, 160, 160), "{context}");
            assert_eq!((write.service.count(), read.service.count()), (120, 160), "{context}");
            let counts = |h: &Option<_>| h.as_ref().map(Histogram::count);
            assert_eq!((counts(&read.query), counts(&read.first_row)), (Some(160), Some(160)), "{context}");
            assert_eq!((counts(&write.query), counts(&write.lag)), (None, None), "{context}");
            let waits = match access {
                Access::PerWorker => (None, None),
                Access::WriteLock => (Some(120), None),
                _ => (Some(120), Some(160)),
            };
            assert_eq!((counts(&write.wait), counts(&read.wait)), waits, "{context}");

            let labels: Vec<_> = outcome.ready.connections.iter().map(|c| (c.database, c.label.as_str())).collect();
            let each: &[&str] = match access {
                Access::PerWorker | Access::WriteLock => &["writer", "writer", "writer", "reader", "reader"],
                Access::Shared => &["shared"],
                Access::Pool { connections: 1 } => &["pool"],
                Access::Pool { .. } => &["pool", "pool"],
                _ => &["writer", "reader", "reader"],
            };
            let expected: Vec<_> = (0..2).flat_map(|d| each.iter().map(move |label| (d, *label))).collect();
            assert_eq!(labels, expected, "{context}");

            let workers = &outcome.result.workers;
            let indices: Vec<_> = workers.iter().map(|w| (w.database, w.worker)).collect();
            let expected: Vec<_> = (0..2).flat_map(|d| (0..5).map(move |w| (d, w))).collect();
            assert_eq!(indices, expected, "{context}");
            assert_eq!(workers.iter().map(|w| w.committed).sum::<u64>(), 280, "{context}");
            for worker in workers {
                let whole = worker.inside_ns + worker.outside_ns;
                assert!(worker.inside_ns > 0 && whole <= outcome.result.elapsed_ns, "{context} {worker:?}");
            }
        }
    }
}

#[test]
fn one_connection_or_lock_serves_one_at_a_time() {
    let shared = [
        (Access::PerWorker, false, true),
        (Access::Shared, false, false),
        (Access::Pool { connections: 1 }, false, false),
        (Access::Pool { connections: 4 }, false, true),
        (Access::WriteLock, false, true),
        (Access::WriteLock, true, false),
        (Access::Split { readers: 4 }, false, true),
        (Access::Split { readers: 4 }, true, false),
    ];
    for (access, writes, together) in shared {
        let scratch = Scratch::new();
        // Said to write, so that the access goes by it, but no lock of SQLite's keeps them apart.
        let mut read = transaction("read", Begin::Deferred, vec![], vec![select("SELECT 1", &[], Fetch::First)]);
        (read.hold_us, read.writes) = (40_000, writes);
        let mut trial = trial(vec![scratch.database()], vec![read], vec![role("r", 4, &[0], count(4))]);
        trial.access = access;
        tries(|_| {
            let elapsed = run(&trial).result.elapsed_ns;
            // Four pauses of 40 ms, one after the other or at the same time.
            let short = elapsed < 155_000_000;
            assert!(together || !short, "{access} {writes} {elapsed}");
            timely(short == together, format_args!("{access} {writes} {elapsed}"))
        });
    }
}

#[test]
fn processes_share_the_rows_without_a_gap() {
    let scratch = Scratch::new();
    let params = vec![param("id", Source::Sequence { start: 1, step: 1 })];
    let insert = vec![statement("INSERT INTO t(id) VALUES (?1)", &[0])];
    let mut roles = vec![role("w", 2, &[0], count(101))];
    (roles[0].workers_in_role, roles[0].steps[0].stride) = (4, 4);
    let mut trial = trial(vec![scratch.database()], vec![transaction("insert", Begin::None, params, insert)], roles);
    trial.executor = Executor::Processes;
    let mut committed = 0;
    for first in [0, 2] {
        (trial.roles[0].first_in_role, trial.roles[0].first_worker) = (first, first);
        let outcome = run(&trial);
        committed += outcome.only().committed;
        assert_eq!(outcome.result.workers[0].worker, first);
    }
    assert_eq!(committed, 101);
    assert_eq!(scratch.number("SELECT count(*) * 1000000 + min(id) * 1000 + max(id) FROM t"), 101_001_101);
}

#[test]
fn a_database_in_memory_is_set_up_and_torn_down() {
    let scratch = Scratch::new();
    for (shared, access) in
        [(true, Access::PerWorker), (true, Access::Pool { connections: 2 }), (false, Access::Shared)]
    {
        let copy = scratch.path(&format!("{shared}-{access}.db"));
        let database = Database::Memory {
            shared,
            name: "m".into(),
            setup: vec!["CREATE TABLE t(id INTEGER PRIMARY KEY, a, b)".into(), "INSERT INTO t(a) VALUES (0)".into()],
            teardown: vec![format!("VACUUM INTO '{}'", copy.display())],
        };
        let mut trial = trial(vec![database], vec![insert(Begin::Immediate)], vec![role("w", 2, &[0], count(50))]);
        trial.connection.pragmas = pragmas(&[("journal_mode", "off")]);
        trial.connection.read_back = vec!["journal_mode".into()];
        trial.access = access;
        // Shared cache knows no busy handler for its table locks.
        (trial.retry.attempts, trial.retry.on) = (100_000, vec!["SQLITE_LOCKED".into(), "SQLITE_BUSY".into()]);
        (trial.retry.backoff_us, trial.retry.max_backoff_us) = (100, 100);
        let outcome = run(&trial);
        assert_eq!(outcome.only().committed, 50);
        assert_eq!(outcome.ready.connections[0].settings["journal_mode"], "off");
        let rows =
            rusqlite::Connection::open(copy).and_then(|c| c.query_row("SELECT count(*) FROM t", [], |r| r.get(0)));
        assert_eq!(rows, Ok(51));
    }
    let database = Database::Memory { shared: false, name: "m".into(), setup: vec![], teardown: vec![] };
    let read = transaction("read", Begin::None, vec![], vec![select("SELECT 1", &[], Fetch::All)]);
    let failed = fail(&trial(vec![database], vec![read], vec![role("r", 2, &[0], count(2))]));
    assert!(failed.reason.contains("private"), "{failed:?}");
}
