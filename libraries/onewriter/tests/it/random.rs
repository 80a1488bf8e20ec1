//! Random load: blocking and asynchronous callers, closures that fail and panic, dropped futures, and a close during
//! all of it. `ONEWRITER_ROUNDS` sets the number of rounds (default: 20).

use std::collections::BTreeSet;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crate::common::{Scratch, add, notes};
use onewriter::{Database, Error};
use tokio::time::timeout;

/// State of a write from the caller's view.
#[derive(Debug)]
enum Answer {
    Written(String),
    /// The closure failed, or the database was closed.
    NotWritten(String),
    /// The caller dropped the future.
    Dropped,
}

fn answer(text: String, result: Result<i64, Error>) -> Answer {
    match result {
        Ok(_) => Answer::Written(text),
        Err(_) => Answer::NotWritten(text),
    }
}

/// A closure that writes the text, and then may fail or panic.
fn closure(
    text: &str,
    rng: &mut fastrand::Rng,
) -> impl FnMut(&mut onewriter::Tx<'_>) -> Result<i64, Error> + Send + use<> {
    let (mut write, fate) = (add(text), rng.u8(0..8));
    let sleep = Duration::from_micros(rng.u64(0..200));
    move |c| {
        let id = write(c)?;
        match fate {
            0 => panic!("on purpose"),
            1 => Err(rusqlite::Error::QueryReturnedNoRows.into()),
            2 => {
                thread::sleep(sleep);
                Ok(id)
            }
            _ => Ok(id),
        }
    }
}

/// A closure of one statement that may fail by violating the unique constraint.
fn statement(
    text: &str,
    rng: &mut fastrand::Rng,
) -> impl FnMut(&mut onewriter::Tx<'_>) -> Result<i64, Error> + Send + use<> {
    let (text, fails) = (text.to_owned(), rng.u8(0..4) == 0);
    move |c| {
        let sql = "INSERT INTO note(text) SELECT ?1 UNION ALL SELECT ?1 WHERE ?2";
        c.prepare_cached(sql)?.execute((&text, fails))?;
        Ok(c.last_insert_rowid())
    }
}

fn blocks(db: &Database, name: usize, mut rng: fastrand::Rng, writes: usize) -> Vec<Answer> {
    let one = |at| {
        let text = format!("b{name}.{at}");
        if rng.bool() {
            let statement = statement(&text, &mut rng);
            return answer(text, db.write_repeatable(statement));
        }
        let closure = closure(&text, &mut rng);
        answer(text, db.write_with(closure))
    };
    (0..writes).map(one).collect()
}

async fn awaits(db: Database, name: usize, mut rng: fastrand::Rng, writes: usize) -> Vec<Answer> {
    let mut answers = Vec::new();
    for at in 0..writes {
        let text = format!("a{name}.{at}");
        let (is_statement, statement, closure) = (rng.bool(), statement(&text, &mut rng), closure(&text, &mut rng));
        let write = async {
            if is_statement { db.write_repeatable_async(statement).await } else { db.write_with_async(closure).await }
        };
        let patience =
            if rng.u8(0..4) == 0 { Duration::from_micros(rng.u64(0..2_000)) } else { Duration::from_secs(60) };
        answers.push(match timeout(patience, write).await {
            Ok(result) => answer(text, result),
            Err(_) => Answer::Dropped,
        });
    }
    answers
}

fn round(seed: u64) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let scratch = Scratch::new();
    let queue = [1, 3, usize::MAX][rng.usize(0..3)];
    let db =
        scratch.open_with(scratch.options().max_queue(queue).max_batch(rng.usize(1..20), Duration::from_millis(1)));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let (threads, tasks, writes) = (rng.usize(1..5), rng.usize(0..9), rng.usize(5..60));
    let threads: Vec<_> = (0..threads)
        .map(|name| {
            let (db, rng) = (db.clone(), rng.fork());
            thread::spawn(move || blocks(&db, name, rng, writes))
        })
        .collect();
    let tasks: Vec<_> = (0..tasks).map(|name| runtime.spawn(awaits(db.clone(), name, rng.fork(), writes))).collect();
    if rng.bool() {
        thread::sleep(Duration::from_micros(rng.u64(0..30_000)));
        db.clone().close().expect("closed");
    }
    let mut answers: Vec<Answer> = threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect();
    answers.extend(tasks.into_iter().flat_map(|task| runtime.block_on(task).expect("no panic")));
    db.close().expect("closed");

    let rows = notes(&scratch.path());
    let there: BTreeSet<&str> = rows.iter().map(String::as_str).collect();
    assert_eq!(there.len(), rows.len(), "seed {seed}: nothing is written twice");
    for answer in answers {
        match answer {
            Answer::Written(text) => assert!(there.contains(&*text), "seed {seed}: {text} was answered, and is lost"),
            Answer::NotWritten(text) => assert!(!there.contains(&*text), "seed {seed}: {text} failed, and is there"),
            Answer::Dropped => {}
        }
    }
}

#[test]
fn no_answer_is_lost_and_nobody_waits_forever() {
    let rounds = std::env::var("ONEWRITER_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    std::panic::set_hook(Box::new(|info| {
        let text = info.to_string();
        if !text.contains("on purpose") {
            eprintln!("{text}");
        }
    }));
    for seed in 0..rounds {
        let (done, ended) = channel();
        let one = thread::spawn(move || {
            round(seed);
            done.send(()).expect("the test waits");
        });
        if ended.recv_timeout(Duration::from_secs(120)).is_err() {
            assert!(one.is_finished(), "seed {seed}: somebody waits forever");
            one.join().expect("the round failed");
        }
    }
}
