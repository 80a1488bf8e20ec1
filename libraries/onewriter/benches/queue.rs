//! A task queue (enqueue, claim and complete, one transaction each) through onewriter and through other ways to share a
//! database, in rounds: `cargo bench -p onewriter --bench queue -- OPTION…`.
//!
//! Each trial is a process of its own with a database of its own. The variants of a round run in random order, and
//! ratios are medians of those of the rounds, so that other load on the machine meets all of them.
//!
//! | option | default |
//! |---|---|
//! | `--clients N,…` | `1,8,64` |
//! | `--profile full,normal` | both |
//! | `--variants NAME,…` | `by-hand,threads,tasks`; also `plain`, `mutex`, `guarded`, `guarded-tasks`, `bound` |
//! | `--claim returning,select` | `returning`: one statement; `select`: `SELECT` and `UPDATE`, without a temporary table |
//! | `--pages` | off: SQLite allocates pages as it does by default |
//! | `--spin MICROSECONDS` | 0 |
//! | `--sync MICROSECONDS` | off; else each sync takes this time longer: with a folder in memory, a disk of one speed |
//! | `--rounds N`, `--millis N` | 5 rounds of 1,000 ms |
//! | `--other PROGRAM` | another build of this bench, whose variants are measured beside these as `NAME@other` |

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use onewriter::{Database, Durability, Error, Options};
use rusqlite::{Connection, OptionalExtension, Result};

#[path = "../tests/vfs/mod.rs"]
mod vfs;

const SCHEMA: &str = "
    CREATE TABLE task(
        id INTEGER PRIMARY KEY, kind TEXT NOT NULL, payload TEXT NOT NULL, priority INTEGER NOT NULL,
        state TEXT NOT NULL DEFAULT 'ready', attempts INTEGER NOT NULL DEFAULT 0, worker INTEGER);
    CREATE INDEX task_ready ON task(priority DESC, id) WHERE state = 'ready';";
const ENQUEUE: &str = "INSERT INTO task(kind, payload, priority) VALUES ('fetch', ?1, ?2)";
const CLAIM: &str = "UPDATE task SET state = 'running', attempts = attempts + 1, worker = ?1
    WHERE id = (SELECT id FROM task WHERE state = 'ready' ORDER BY priority DESC, id LIMIT 1) RETURNING id";
const NEXT: &str = "SELECT id FROM task WHERE state = 'ready' ORDER BY priority DESC, id LIMIT 1";
const TAKE: &str = "UPDATE task SET state = 'running', attempts = attempts + 1, worker = ?1 WHERE id = ?2";
const COMPLETE: &str = "UPDATE task SET state = 'done' WHERE id = ?1 AND state = 'running'";

/// One transaction of a client, which may run more than once.
#[derive(Clone, Copy)]
enum Step {
    Enqueue(i64),
    Claim { worker: i64, by_select: bool },
    Complete(i64),
}

impl Step {
    fn run(self, c: &Connection) -> Result<i64> {
        match self {
            Self::Enqueue(n) => {
                let payload = format!("{n:048x}");
                c.prepare_cached(ENQUEUE)?.execute((payload, n % 10)).map(|_| 0)
            }
            Self::Claim { worker, by_select: false } => c.prepare_cached(CLAIM)?.query_row([worker], |row| row.get(0)),
            Self::Claim { worker, by_select: true } => {
                let id: Option<i64> = c.prepare_cached(NEXT)?.query_row([], |row| row.get(0)).optional()?;
                let id = id.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
                c.prepare_cached(TAKE)?.execute((worker, id))?;
                Ok(id)
            }
            Self::Complete(id) => match c.prepare_cached(COMPLETE)?.execute([id])? {
                1 => Ok(0),
                _ => Err(rusqlite::Error::QueryReturnedNoRows),
            },
        }
    }
}

/// The steps of a client until it stops. `call` runs a transaction.
fn client(number: i64, by_select: bool, stop: &AtomicBool, done: &AtomicU64, mut call: impl FnMut(Step) -> i64) {
    for n in 0.. {
        call(Step::Enqueue(n * 1_000 + number));
        let id = call(Step::Claim { worker: number, by_select });
        call(Step::Complete(id));
        done.fetch_add(1, Relaxed);
        if stop.load(Relaxed) {
            return;
        }
    }
}

async fn client_async(trial: Trial, number: i64, db: Database, guarded: bool, done: Arc<AtomicU64>) {
    let call = async |step: Step| match guarded {
        true => db.write_async(move |tx| step.run(tx)).await.expect("written"),
        false => db.write_repeatable_async(move |tx| step.run(tx).map_err(Error::from)).await.expect("written"),
    };
    let ends = Instant::now() + trial.time;
    for n in 0.. {
        call(Step::Enqueue(n * 1_000 + number)).await;
        let id = call(Step::Claim { worker: number, by_select: trial.by_select }).await;
        call(Step::Complete(id)).await;
        done.fetch_add(1, Relaxed);
        if Instant::now() >= ends {
            return;
        }
    }
}

#[derive(Clone, Copy)]
struct Trial {
    clients: usize,
    full: bool,
    by_select: bool,
    pages: bool,
    spin: Duration,
    time: Duration,
}

fn connect(path: &Path, full: bool) -> Connection {
    let c = Connection::open(path).expect("opened");
    c.busy_timeout(Duration::from_secs(60)).expect("set");
    c.set_prepared_statement_cache_capacity(64);
    let synchronous = if full { "FULL" } else { "NORMAL" };
    c.execute_batch(&format!("PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous}")).expect("set");
    c
}

/// A group commit by hand: one thread, one transaction for all that wait, without savepoints.
fn by_hand(c: Connection, jobs: &Receiver<(Step, SyncSender<i64>)>) {
    let mut answers = Vec::new();
    while let Ok(first) = jobs.recv() {
        c.prepare_cached("BEGIN IMMEDIATE").expect("prepared").execute([]).expect("begun");
        let mut next = Some(first);
        while let Some((step, answer)) = next {
            answers.push((step.run(&c).expect("run"), answer));
            next = if answers.len() < 256 { jobs.try_recv().ok() } else { None };
        }
        c.prepare_cached("COMMIT").expect("prepared").execute([]).expect("committed");
        for (value, answer) in answers.drain(..) {
            answer.send(value).expect("the client waits");
        }
    }
}

/// Runs clients in threads for the time of the trial. `make` returns how a client calls.
fn threads<C: FnMut(Step) -> i64>(trial: Trial, make: impl Fn() -> C + Sync) -> u64 {
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for number in 0..trial.clients {
            let (stop, done, make) = (&stop, &done, &make);
            scope.spawn(move || client(number as i64, trial.by_select, stop, done, make()));
        }
        thread::sleep(trial.time);
        stop.store(true, Relaxed);
    });
    done.into_inner()
}

/// Runs one trial in this process. Returns the completed tasks.
fn run(variant: &str, trial: Trial, path: &Path) -> u64 {
    connect(path, trial.full).execute_batch(SCHEMA).expect("made");
    let durability = if trial.full { Durability::Full } else { Durability::Normal };
    let open = || Options::new(path).durability(durability).readers(1).spin(trial.spin).open().expect("opened");
    match variant {
        "plain" => threads(trial, || {
            let mut c = connect(path, trial.full);
            move |step| {
                let tx = c.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).expect("begun");
                let value = step.run(&tx).expect("run");
                tx.commit().expect("committed");
                value
            }
        }),
        "mutex" => {
            let shared = Mutex::new(connect(path, trial.full));
            threads(trial, || {
                |step| {
                    let mut c = shared.lock().expect("no panic");
                    let tx = c.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).expect("begun");
                    let value = step.run(&tx).expect("run");
                    tx.commit().expect("committed");
                    value
                }
            })
        }
        "by-hand" => {
            let (send, jobs) = channel();
            let c = connect(path, trial.full);
            let writer = thread::spawn(move || by_hand(c, &jobs));
            let done = threads(trial, || {
                let send = send.clone();
                let (answer, answered) = sync_channel(1);
                move |step| {
                    send.send((step, answer.clone())).expect("sent");
                    answered.recv().expect("answered")
                }
            });
            drop(send);
            writer.join().expect("no panic");
            done
        }
        "threads" => {
            let db = open();
            threads(trial, || {
                |step: Step| db.write_repeatable(|tx| step.run(tx).map_err(Error::from)).expect("written")
            })
        }
        "guarded" => {
            let db = open();
            threads(trial, || |step: Step| db.write(|tx| step.run(tx)).expect("written"))
        }
        "tasks" | "guarded-tasks" => {
            let (db, done) = (open(), Arc::new(AtomicU64::new(0)));
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build().expect("a runtime");
            let guarded = variant == "guarded-tasks";
            let start =
                |number: usize| runtime.spawn(client_async(trial, number as i64, db.clone(), guarded, done.clone()));
            let tasks: Vec<_> = (0..trial.clients).map(start).collect();
            tasks.into_iter().for_each(|task| runtime.block_on(task).expect("no panic"));
            done.load(Relaxed)
        }
        "bound" => {
            let c = connect(path, trial.full);
            let (ends, mut done) = (Instant::now() + trial.time, 0);
            let mut ids: Vec<i64> = vec![0; trial.clients];
            let call = |run: &mut dyn FnMut(usize)| {
                c.prepare_cached("BEGIN IMMEDIATE").expect("prepared").execute([]).expect("begun");
                (0..trial.clients).for_each(run);
                c.prepare_cached("COMMIT").expect("prepared").execute([]).expect("committed");
            };
            let run = |step: Step| step.run(&c).expect("run");
            while Instant::now() < ends {
                call(&mut |at| _ = run(Step::Enqueue(at as i64)));
                let by_select = trial.by_select;
                call(&mut |at| ids[at] = run(Step::Claim { worker: at as i64, by_select }));
                call(&mut |at| _ = run(Step::Complete(ids[at])));
                done += trial.clients as u64;
            }
            done
        }
        other => panic!("no variant is named {other}"),
    }
}

/// Processor time in microseconds and context switches of this process.
fn usage() -> (f64, f64) {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the call fills the structure, which is valid with zeros as well.
    #[expect(unsafe_code, reason = "the standard library has no function for it")]
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let micros = |time: libc::timeval| time.tv_sec as f64 * 1e6 + time.tv_usec as f64;
    (micros(usage.ru_utime) + micros(usage.ru_stime), (usage.ru_nvcsw + usage.ru_nivcsw) as f64)
}

/// Rate of tasks, processor time and context switches by the transaction.
type Figures = [f64; 3];

fn trial_in_this_process(options: &BTreeMap<String, String>) {
    let get = |name: &str| options.get(name).map(String::as_str).unwrap_or_default();
    let number = |name: &str| get(name).parse::<u64>().expect("a number");
    let trial = Trial {
        clients: number("clients") as usize,
        full: get("profile") == "full",
        by_select: get("claim") == "select",
        pages: options.contains_key("pages"),
        spin: Duration::from_micros(number("spin")),
        time: Duration::from_millis(number("millis")),
    };
    if trial.pages {
        onewriter::allocate_pages_singly().expect("no connection is open");
    }
    static SYNC: AtomicU64 = AtomicU64::new(0);
    if let Some(micros) = options.get("sync") {
        SYNC.store(micros.parse().expect("a number"), Relaxed);
        vfs::register(|| {
            thread::sleep(Duration::from_micros(SYNC.load(Relaxed)));
            Ok(())
        });
    }
    let folder = tempfile::tempdir_in(std::env::var("QUEUE_FOLDER").unwrap_or_else(|_| ".".into())).expect("a folder");
    let (before, started) = (usage(), Instant::now());
    let mut path = folder.path().join("queue.db");
    if options.contains_key("sync") {
        path = format!("file:{}?vfs={}", path.display(), vfs::NAME).into();
    }
    let done = run(get("trial"), trial, &path) as f64;
    let (after, took) = (usage(), started.elapsed().as_secs_f64());
    println!("{} {} {}", done / took, (after.0 - before.0) / done / 3.0, (after.1 - before.1) / done / 3.0);
}

fn trial(program: &str, variant: &str, clients: &str, profile: &str, claim: &str, rest: &[String]) -> Figures {
    let arguments = ["--trial", variant, "--clients", clients, "--profile", profile, "--claim", claim];
    let out = Command::new(program).args(arguments).args(rest).output().expect("it starts");
    let text = String::from_utf8_lossy(&out.stdout);
    let figures: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    figures.try_into().unwrap_or_else(|_| panic!("{variant}: {}", String::from_utf8_lossy(&out.stderr)))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

fn main() {
    let mut options = BTreeMap::new();
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench").peekable();
    while let Some(name) = arguments.next() {
        let value = if name == "--pages" { String::new() } else { arguments.next().expect("a value") };
        options.insert(name.trim_start_matches('-').to_owned(), value);
    }
    if options.contains_key("trial") {
        return trial_in_this_process(&options);
    }
    let get = |name: &str, default: &str| options.get(name).cloned().unwrap_or_else(|| default.into());
    let list = |name: &str, default: &str| get(name, default).split(',').map(str::to_owned).collect::<Vec<_>>();
    let mut rest = vec!["--millis".into(), get("millis", "1000"), "--spin".into(), get("spin", "0")];
    if let Some(sync) = options.get("sync") {
        rest.extend(["--sync".into(), sync.clone()]);
    }
    let old = rest.clone();
    if options.contains_key("pages") {
        rest.push("--pages".into());
    }
    let own = std::env::current_exe().expect("this program").display().to_string();
    let names = list("variants", "by-hand,threads,tasks");
    let mut variants: Vec<_> =
        names.iter().map(|name| (name.clone(), name.clone(), own.clone(), rest.clone())).collect();
    if let Some(other) = options.get("other") {
        let both = names.iter().filter(|name| !matches!(name.as_str(), "plain" | "mutex" | "by-hand" | "bound"));
        variants.extend(both.map(|name| (format!("{name}@other"), name.clone(), other.clone(), old.clone())));
    }
    let rounds: usize = get("rounds", "5").parse().expect("a number");
    let mut random = fastrand::Rng::with_seed(1);
    for profile in list("profile", "full,normal") {
        for claim in list("claim", "returning") {
            for clients in list("clients", "1,8,64") {
                let mut figures: BTreeMap<String, Vec<Figures>> = BTreeMap::new();
                for _ in 0..rounds {
                    random.shuffle(&mut variants);
                    let mut round = BTreeMap::new();
                    for (shown, name, program, rest) in &variants {
                        round.insert(shown.clone(), trial(program, name, &clients, &profile, &claim, rest));
                    }
                    for (shown, ..) in &variants {
                        figures.entry(shown.clone()).or_default().push(round[shown]);
                    }
                }
                println!("\n{profile}, {clients} clients, claim by {claim}, {rounds} rounds");
                println!("{:16} {:>9} {:>9} {:>9} {:>8} {:>9}", "", "tasks/s", "min", "max", "CPU µs", "switches");
                let column = |of: &[Figures], at: usize| of.iter().map(|one| one[at]).collect::<Vec<_>>();
                for (name, of) in &figures {
                    let rates = column(of, 0);
                    let (min, max) = rates.iter().fold((f64::MAX, 0.0_f64), |(a, b), r| (a.min(*r), b.max(*r)));
                    let (cpu, switches) = (median(column(of, 1)), median(column(of, 2)));
                    println!("{name:16} {:>9.0} {min:>9.0} {max:>9.0} {cpu:>8.1} {switches:>9.2}", median(rates));
                }
                for (name, of) in &figures {
                    let ratio = |other: &[Figures], at: usize| {
                        median(of.iter().zip(other).map(|(a, b)| a[at] / b[at]).collect())
                    };
                    let others = figures.iter().filter(|(other, _)| *other != name);
                    let shown: Vec<String> = others
                        .map(|(other, figures)| {
                            format!("{:.2}× {other} (CPU {:.2}×)", ratio(figures, 0), ratio(figures, 1))
                        })
                        .collect();
                    println!("  {name}: {}", shown.join(", "));
                }
            }
        }
    }
}
