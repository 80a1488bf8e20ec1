//! Compares a saturated writer and eight readers with `litelab watch` beside them and without it.
//!
//! Both sides are slices of one run: watch is stopped and continued in turn (SIGSTOP, SIGCONT), and two adjacent slices
//! of time, in random order, are a pair. So they share their process, their file and the state of the machine, which
//! differ more from trial to trial than watch could change. Each slice begins with an empty log and has no checkpoint: with
//! checkpoints, which eight readers let through or not, the ratio of two slices varied by 36 %, without them by 22 %.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use litelab_protocol::histogram::Histogram;
use litelab_stats::{Better, Confidence, PairedRatio, Planner, Schedule, Tolerance, Verdict};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rusqlite::Connection;

use crate::SEED;
use crate::pairs::Scratch;

/// Difference that does not matter.
const TOLERANCE: f64 = 0.02;
const READERS: usize = 8;
/// Rows before the first slice.
const ROWS: i64 = 100_000;
/// Time after watch was stopped or continued in which the work goes on and nothing is measured. A look that fell due in a
/// pause is taken at once when it is over, and so within this time; the next ones follow their interval.
const SETTLE: Duration = Duration::from_millis(50);
/// Time within which all workers must have noticed a pause, or its end; a transaction takes less than a millisecond.
const PAUSED: Duration = Duration::from_secs(30);

/// Options of the comparison.
#[derive(Parser)]
pub struct Options {
    /// Pairs; an interval takes 2000 at most.
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u32).range(1..=2_000))]
    pairs: u32,
    /// Interval of the looks.
    #[arg(long, default_value = "100ms")]
    interval: String,
    /// Measured time of a slice, in milliseconds. The noise of seconds is greater than that of their parts.
    #[arg(long, default_value_t = 200)]
    slice: u64,
}

/// Value of the current slice while the workers pause.
const PAUSE: u32 = u32::MAX;
/// Value while they work and nothing is measured.
const UNMEASURED: u32 = u32::MAX - 1;
/// Value after the last slice.
const END: u32 = u32::MAX - 2;

/// What the workers share with the bench.
struct Shared {
    slice: AtomicU32,
    /// Number of workers that are in a pause.
    paused: AtomicUsize,
}

impl Shared {
    /// Waits until this number of workers are in a pause.
    fn wait(&self, paused: usize) -> Result<()> {
        let begun = Instant::now();
        while self.paused.load(Ordering::Relaxed) != paused {
            ensure!(begun.elapsed() < PAUSED, "a worker has ended, or hangs");
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Commit,
    Read,
}

/// What one worker measured in one slice.
struct Part {
    slice: u32,
    kind: Kind,
    times: Histogram,
}

/// Runs all pairs and prints the ratio of each number, with watch to without. Returns `false` if a difference is shown.
pub fn run(options: &Options) -> Result<bool> {
    let scratch = Scratch::new("watch-")?;
    let folder = std::path::absolute(scratch.fresh("busy")?)?;
    std::fs::create_dir_all(&folder)?;
    let database = folder.join("busy.db");
    fill(&database)?;
    let shared = Shared { slice: AtomicU32::new(UNMEASURED), paused: AtomicUsize::new(0) };
    let (sender, receiver) = mpsc::channel();
    let slices = std::thread::scope(|scope| -> Result<_> {
        let workers: Vec<_> = (0..=READERS)
            .map(|at| {
                let (sender, shared, database) = (sender.clone(), &shared, &database);
                let kind = if at == 0 { Kind::Commit } else { Kind::Read };
                scope.spawn(move || work(database, kind, shared, &sender))
            })
            .collect();
        drop(sender);
        let slices = alternate(options, &database, &shared);
        shared.slice.store(END, Ordering::Relaxed);
        for worker in workers {
            worker.join().ok().context("a worker panicked")??;
        }
        slices
    })?;
    let mut times = vec![[Histogram::new(), Histogram::new()]; slices.len()];
    for part in receiver {
        times[part.slice as usize][usize::from(part.kind == Kind::Read)].merge(&part.times);
    }
    let mut pairs = vec![[[0.0; 4]; 2]; slices.len() / 2];
    for (at, (&(side, seconds), [commits, reads])) in slices.iter().zip(&times).enumerate() {
        let p99 =
            |times: &Histogram| times.quantile(0.99).context("a slice measured nothing").map(|nanos| nanos as f64);
        let rate = |times: &Histogram| times.count() as f64 / seconds;
        pairs[at / 2][side] = [rate(commits), rate(reads), p99(commits)?, p99(reads)?];
    }
    print(options, &pairs)
}

/// The ratio of each number, with its interval.
fn print(options: &Options, pairs: &[[[f64; 4]; 2]]) -> Result<bool> {
    println!(
        "a writer and {READERS} readers, with `litelab watch --interval {}` / without, {} pairs of {} ms",
        options.interval,
        pairs.len(),
        options.slice
    );
    let numbers = [
        ("commits/s", Better::Higher),
        ("reads/s", Better::Higher),
        ("P99 of a commit", Better::Lower),
        ("P99 of a read", Better::Lower),
    ];
    let tolerance = Tolerance::new(TOLERANCE)?;
    let planner = Planner::new(Confidence::P95, 0.8)?;
    let mut shown = true;
    for (at, (name, better)) in numbers.into_iter().enumerate() {
        let rounds: Vec<(f64, f64)> = pairs.iter().map(|[without, with]| (without[at], with[at])).collect();
        let ratio = PairedRatio::from_rounds(&rounds, Confidence::P95)?;
        let verdict = ratio.verdict(tolerance, better, &planner);
        let interval = ratio
            .ratio
            .interval()
            .map_or("no interval".to_owned(), |interval| format!("[{:.4}, {:.4}]", interval.low(), interval.high()));
        println!("  {name:<16} {:.4} {interval} {verdict:?}", ratio.ratio.value);
        shown &= !matches!(verdict, Verdict::Slower);
    }
    Ok(shown)
}

fn open(database: &Path) -> Result<Connection> {
    let conn = Connection::open(database)?;
    conn.busy_timeout(Duration::from_secs(5))?;
    conn.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0")?;
    Ok(conn)
}

fn fill(database: &Path) -> Result<()> {
    open(database)?.execute_batch(&format!(
        "CREATE TABLE kv(id INTEGER PRIMARY KEY, k INTEGER NOT NULL, v TEXT NOT NULL);
         WITH RECURSIVE ids(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM ids WHERE id < {ROWS})
         INSERT INTO kv(k, v) SELECT id * 7919 % 1000003, 'value of this row, of some length' FROM ids"
    ))?;
    Ok(())
}

/// Repeats one transaction until the end, and sends the times of each slice when it is over.
fn work(database: &Path, kind: Kind, shared: &Shared, sender: &mpsc::Sender<Part>) -> Result<()> {
    let conn = open(database)?;
    let mut statement = conn.prepare(match kind {
        Kind::Commit => "INSERT INTO kv(k, v) VALUES (?1, 'value of this row, of some length')",
        Kind::Read => "SELECT k FROM kv WHERE id = ?1",
    })?;
    let (mut current, mut times, mut value) = (UNMEASURED, Histogram::new(), 0_i64);
    loop {
        let now = shared.slice.load(Ordering::Relaxed);
        if now != current {
            if current < END {
                sender.send(Part { slice: current, kind, times: std::mem::take(&mut times) })?;
            }
            current = now;
        }
        if current == END {
            return Ok(());
        }
        if current == PAUSE {
            shared.paused.fetch_add(1, Ordering::Relaxed);
            while shared.slice.load(Ordering::Relaxed) == PAUSE {
                std::thread::sleep(Duration::from_micros(100));
            }
            shared.paused.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        value = (value + 7919) % ROWS;
        let begun = Instant::now();
        match kind {
            Kind::Commit => _ = statement.execute([value])?,
            Kind::Read => _ = statement.query_row([value + 1], |row| row.get::<_, i64>(0))?,
        }
        if current < END {
            times.record(begun.elapsed().as_nanos() as u64);
        }
    }
}

/// Stops and continues watch; returns the side (0 without, 1 with) and the seconds of each slice.
fn alternate(options: &Options, database: &Path, shared: &Shared) -> Result<Vec<(usize, f64)>> {
    let conn = open(database)?;
    let mut watch = Watch::start(options, database)?;
    // Its first look, at which it examines the processes.
    std::thread::sleep(Duration::from_secs(2));
    let order = Schedule::new(SEED, 2);
    let mut slices = Vec::new();
    for pair in 0..options.pairs {
        for side in order.order(pair) {
            empty(&conn, shared)?;
            watch.run(side == 1)?;
            shared.slice.store(UNMEASURED, Ordering::Relaxed);
            std::thread::sleep(SETTLE);
            let begun = Instant::now();
            shared.slice.store(slices.len() as u32, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(options.slice));
            shared.slice.store(UNMEASURED, Ordering::Relaxed);
            slices.push((side, begun.elapsed().as_secs_f64()));
        }
    }
    Ok(slices)
}

/// Empties the log while all workers pause, and leaves them in the pause.
fn empty(conn: &Connection, shared: &Shared) -> Result<()> {
    // One that left the last pause late would miss the next.
    shared.wait(0)?;
    shared.slice.store(PAUSE, Ordering::Relaxed);
    shared.wait(READERS + 1)?;
    let busy: i64 = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    ensure!(busy == 0, "the log could not be emptied");
    Ok(())
}

/// `litelab watch` beside the work.
struct Watch(Child);

impl Watch {
    fn start(options: &Options, database: &Path) -> Result<Self> {
        let mut command = Command::new(crate::home().join("target/release/litelab"));
        command.arg("watch").arg(database).args(["--interval", &options.interval, "--listen", "127.0.0.1:0"]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Ok(Self(child.with_context(|| format!("start {command:?}"))?))
    }

    /// Continues or stops the program.
    fn run(&mut self, run: bool) -> Result<()> {
        ensure!(self.0.try_wait()?.is_none(), "watch ended before the bench");
        let signal = if run { Signal::SIGCONT } else { Signal::SIGSTOP };
        Ok(kill(Pid::from_raw(i32::try_from(self.0.id())?), signal)?)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Fails if it has ended already, which `run` has then reported.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
