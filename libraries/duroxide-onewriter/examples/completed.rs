//! Cost of completed instances: time to open a file of them, and memory for each one completed by this process.
//!
//! `cargo run --release -p duroxide-onewriter --example completed -- [INSTANCES] [EVENTS]`; default: 100,000 instances
//! of 12 events. Linux only: memory is `VmRSS` of `/proc/self/status`.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use duroxide::providers::{ExecutionMetadata, Provider, WorkItem};
use duroxide::{Event, EventKind};
use duroxide_onewriter::{Change, Durable, Options, Row, Store};

/// Instances per commit of the preparation.
const TOGETHER: usize = 1_000;
/// Instances that this process completes, and tasks that do it.
const MORE: usize = 40_000;
const TASKS: usize = 64;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<usize>());
    let instances = arguments.next().transpose()?.unwrap_or(100_000);
    let events = arguments.next().transpose()?.unwrap_or(12);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("orchestrations.db");
    let store = Durable::open(&path, &Options::default())?;
    for first in (0..instances).step_by(TOGETHER) {
        let mut change = Change::new(true);
        for number in first..instances.min(first + TOGETHER) {
            write(&mut change, number, events)?;
        }
        store.commit(change).await?;
    }
    store.close()?;
    drop(store);
    println!("{instances} completed instances of {events} events: {} MB", std::fs::metadata(&path)?.len() >> 20);

    let before = memory()?;
    let begun = Instant::now();
    let provider = Arc::new(Options::default().open(&path)?);
    println!("open: {:?}, {} KB of memory", begun.elapsed(), memory()?.saturating_sub(before));

    let before = memory()?;
    let begun = Instant::now();
    let tasks = (0..TASKS).map(|task| {
        let provider = Arc::clone(&provider);
        tokio::spawn(async move { complete(&*provider, task).await })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await??;
    }
    provider.drop_cache();
    let rate = MORE as f64 / begun.elapsed().as_secs_f64();
    println!("{MORE} more completed: {rate:.0}/s, {} KB of memory", memory()?.saturating_sub(before));
    Ok(())
}

/// Writes the rows of a completed instance.
fn write(change: &mut Change, number: usize, events: usize) -> Outcome<()> {
    let instance = i64::try_from(number)? + 1;
    let name: Arc<str> = Arc::from(format!("stored-{number}"));
    change.row(|| Row::Instance {
        id: instance,
        name: Arc::clone(&name),
        orchestration: Some("Orchestration".into()),
        version: Some("1.0.0".into()),
        parent: None,
        current: 1,
        created: 1,
    });
    let (status, output) = ("Completed".to_owned(), Some("result".to_owned()));
    let pinned = Some("0.1.32".to_owned());
    change.row(|| Row::Execution { instance, execution: 1, status, output, pinned, started: 1, completed: Some(2) });
    for event in 1..=events as u64 {
        let kind = EventKind::ExternalEvent { name: "event".into(), data: "data".into() };
        let data = serde_json::to_string(&Event::with_event_id(event, &*name, 1, None, kind))?;
        change.row(|| Row::Event { instance, execution: 1, event, data });
    }
    Ok(())
}

/// Starts instances and completes each turn that it fetches.
async fn complete(provider: &dyn Provider, task: usize) -> Outcome<()> {
    for number in 0..MORE / TASKS {
        let start = WorkItem::StartOrchestration {
            instance: format!("more-{task}-{number}"),
            orchestration: "Orchestration".into(),
            input: "input".into(),
            version: Some("1.0.0".into()),
            parent_instance: None,
            parent_id: None,
            parent_execution_id: None,
            execution_id: 1,
        };
        provider.enqueue_for_orchestrator(start, None).await?;
        let long = Duration::from_secs(600);
        let (item, token, _) = provider.fetch_orchestration_item(long, long, None).await?.ok_or("no turn")?;
        let kind = EventKind::OrchestrationCompleted { output: "result".into() };
        let event = Event::with_event_id(1, item.instance, 1, None, kind);
        let metadata = ExecutionMetadata {
            status: Some("Completed".into()),
            output: Some("result".into()),
            orchestration_name: Some("Orchestration".into()),
            orchestration_version: Some("1.0.0".into()),
            ..ExecutionMetadata::default()
        };
        provider.ack_orchestration_item(&token, 1, vec![event], vec![], vec![], metadata, vec![]).await?;
    }
    Ok(())
}

/// Resident memory of this process in KB.
fn memory() -> Outcome<usize> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim_end_matches("kB").trim().parse()?)
}
