//! Random closures of many callers against a model: every caller is answered, and every answer is true in the file.
//!
//! Threads and tasks share two databases. Their closures change rows and tables, fail, panic, roll back the whole
//! transaction, leave savepoints open and statements running, and call databases. After each round the checker compares
//! the answers with the files. Layers that are broken on purpose must be found by the same checker.
//!
//! `ONEWRITER_FUZZ_SEED` sets the first seed (default: 1), `ONEWRITER_FUZZ_SECONDS` the duration (default: 3). A seed
//! determines the closures of a round, but not the order in which the threads run.

mod call;
mod check;
mod layer;
mod plan;

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use onewriter::{Database, Error, Options};

use call::{World, awaits, blocks, gives_up};
use check::check;
use layer::{FAULTS, Fault, Layer, release};
use plan::{Allowed, Plan, SCHEMA};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

fn open(path: &std::path::Path, rng: &mut fastrand::Rng) -> Database {
    let queue = [2, usize::MAX, usize::MAX][rng.usize(0..3)];
    let most = [1, 5, 256][rng.usize(0..3)];
    let options = Options::new(path).max_queue(queue).max_batch(most, Duration::from_millis(rng.u64(1..20)));
    let db = options.readers(rng.usize(1..4)).open().expect("it opens");
    db.write(|tx| tx.execute_batch(SCHEMA)).expect("the schema");
    db
}

/// What is wrong if a caller waits for ever.
const ENDLESS: &str = "a call has no answer";

/// Runs the callers of one round. Returns the number of calls, and what is wrong.
fn round(seed: u64, fault: Option<Fault>, runtime: &tokio::runtime::Handle) -> (usize, Vec<String>) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let folder = tempfile::tempdir().expect("a folder");
    let paths = ["one.db", "two.db"].map(|name| folder.path().join(name));
    let layers = paths.each_ref().map(|path| Layer { db: open(path, &mut rng), fault });
    let world = Arc::new(World { layers, calls: Default::default(), wrong: Mutex::default() });
    let allowed = Allowed { rollbacks: rng.u8(0..3) == 0 };
    let closed = if fault.is_none() && rng.u8(0..4) == 0 { Some(rng.usize(0..2)) } else { None };
    let (threads, tasks, writes) = (rng.usize(1..6), rng.usize(1..12), rng.usize(3..30));

    let mut plans = |caller: usize| -> (Vec<Arc<Plan>>, fastrand::Rng) {
        let mut rng = rng.fork();
        let id = |write: usize| (caller * 1_000_000 + write + 1) as i64;
        let plans = (0..writes).map(|write| {
            let database = rng.usize(0..2);
            Arc::new(Plan::random(&mut rng, id(write), database, allowed))
        });
        (plans.collect(), rng)
    };
    let tasks: Vec<_> = (0..tasks)
        .map(|task| {
            let (world, (plans, mut rng)) = (world.clone(), plans(threads + task));
            runtime.spawn(async move {
                for plan in plans {
                    match rng.u8(0..8) {
                        0 => gives_up(&world, plan, None).await,
                        1 => gives_up(&world, plan, Some(Duration::from_micros(rng.u64(0..3_000)))).await,
                        _ => awaits(&world, plan).await,
                    }
                }
            })
        })
        .collect();
    let threads: Vec<_> = (0..threads)
        .map(|thread| {
            let (world, (plans, _)) = (world.clone(), plans(thread));
            thread::spawn(move || plans.into_iter().for_each(|plan| blocks(&world, plan)))
        })
        .collect();
    let maintained = rng.u8(0..3) == 0;
    let maintenance = maintained.then(|| {
        let (world, mut rng, folder) = (world.clone(), rng.fork(), folder.path().to_owned());
        thread::spawn(move || {
            for at in 0..rng.usize(1..6) {
                thread::sleep(Duration::from_micros(rng.u64(0..5_000)));
                maintain(&world, rng.usize(0..2), rng.u8(0..4), &folder.join(format!("copy{at}.db")));
            }
        })
    });
    if let Some(database) = closed {
        thread::sleep(Duration::from_micros(rng.u64(0..30_000)));
        world.layers[database].db.clone().close().expect("closed");
    }
    let mut wrong = Vec::new();
    let threads = threads.into_iter().chain(maintenance);
    wrong.extend(threads.filter_map(|thread| thread.join().err()).map(|_| "a thread panicked".into()));
    let tasks = tasks.into_iter().filter_map(|task| runtime.block_on(task).err());
    wrong.extend(tasks.map(|error| format!("a task failed: {error}")));
    for layer in &world.layers {
        if let Err(error) = layer.db.clone().close() {
            wrong.push(format!("the close failed: {error}"));
        }
    }
    wrong.append(&mut world.wrong.lock().expect("no panic under it"));
    let mut calls = 0;
    for (database, path) in paths.iter().enumerate() {
        let entered = world.calls[database].lock().expect("no panic under it");
        calls += entered.len();
        wrong.extend(check(path, &entered, closed == Some(database)));
    }
    (calls, wrong)
}

/// What a database is for besides its writes.
fn maintain(world: &World, database: usize, kind: u8, copy: &std::path::Path) {
    let db = &world.layers[database].db;
    let done = match kind {
        0 => db.exclusive(|c| Ok(c.execute_batch("PRAGMA foreign_keys = OFF; VACUUM")?)),
        1 => db.exclusive(|c| {
            // Rolled back when the connection is closed.
            c.execute_batch("BEGIN; INSERT INTO mark VALUES (-1, 0)")?;
            Ok(())
        }),
        2 => db.checkpoint().map(drop),
        _ => db.backup_to(copy),
    };
    let wrong = match done {
        Ok(()) if kind == 3 => match rusqlite::Connection::open(copy)
            .and_then(|c| c.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)))
        {
            Ok(ok) if ok == "ok" => return,
            found => format!("the copy is not whole: {found:?}"),
        },
        Ok(()) | Err(Error::Closed | Error::QueueFull) => return,
        Err(error) => format!("maintenance {kind} failed: {error}"),
    };
    world.wrong.lock().expect("no panic under it").push(wrong);
}

/// Runs a round in a thread of its own, so that a call without an answer is found.
fn answered(
    seed: u64,
    fault: Option<Fault>,
    patience: Duration,
    runtime: &tokio::runtime::Runtime,
) -> (usize, Vec<String>) {
    let (done, ended) = channel();
    let handle = runtime.handle().clone();
    thread::spawn(move || done.send(round(seed, fault, &handle)));
    ended.recv_timeout(patience).unwrap_or_else(|_| {
        release();
        let _late = ended.recv_timeout(patience);
        (0, vec![ENDLESS.into()])
    })
}

fn runtime() -> tokio::runtime::Runtime {
    std::panic::set_hook(Box::new(|info| {
        let text = info.to_string();
        if !text.ends_with("on purpose") {
            eprintln!("{text}");
        }
    }));
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(3).enable_time().build().expect("a runtime")
}

#[test]
fn answers_are_true_in_the_file() {
    let (first, runtime) = (number("ONEWRITER_FUZZ_SEED", 1), runtime());
    let (started, limit) = (Instant::now(), Duration::from_secs(number("ONEWRITER_FUZZ_SECONDS", 3)));
    let (mut seed, mut calls) = (first, 0);
    while seed == first || started.elapsed() < limit {
        let (entered, wrong) = answered(seed, None, Duration::from_secs(120), &runtime);
        assert!(wrong.is_empty(), "ONEWRITER_FUZZ_SEED={seed}: {} wrong\n{}", wrong.len(), wrong.join("\n"));
        calls += entered;
        seed += 1;
    }
    println!("{} rounds, {calls} calls", seed - first);
}

#[test]
fn a_broken_layer_is_found() {
    let runtime = runtime();
    for fault in FAULTS {
        let patience = Duration::from_secs(if fault == Fault::NoAnswer { 5 } else { 120 });
        let is_found = |seed: &u64| {
            let (_, wrong) = answered(*seed, Some(fault), patience, &runtime);
            wrong.iter().any(|what| (what == ENDLESS) == (fault == Fault::NoAnswer))
        };
        let found = (1..=30).find(is_found);
        println!("{fault:?}: found by seed {found:?}");
        assert!(found.is_some(), "{fault:?} is not found");
    }
}
