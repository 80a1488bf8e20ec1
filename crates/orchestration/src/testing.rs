//! Orchestrations that leave something of every kind in a provider's file, for tests that move the file from one
//! provider to another.
//!
//! They run in three stages, each in its own process, which ends like a killed one: nothing is shut down, and an activity
//! is being executed at the end of the first stage. Every step waits for the one before, so that histories are the same
//! in every run, up to times.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::{Provider, TagFilter};
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{OrchestrationStatus, Runtime, RuntimeOptions, UnregisteredBackoffConfig};
use duroxide::{ActivityContext, Client, Either2, OrchestrationContext, OrchestrationRegistry};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// Limit of each wait, for a test that would hang.
const PATIENCE: Duration = Duration::from_secs(300);

/// An hour, for timers that never fire.
const LONG: Duration = Duration::from_secs(3_600);

/// Instances and their outputs after the last stage. The orchestration has the name of its instance.
const OUTPUTS: [(&str, &str); 8] = [
    ("counter", "3 c"),
    ("parent", "child x, end"),
    ("child", "child x"),
    ("timer", "event, fired, end"),
    ("held", "held in a session, end"),
    ("tagged", "tagged"),
    ("queued", "1 2 3, end"),
    ("later", "registered"),
];

/// Runs the verb of a command line: `1`, `2` or `3` runs a stage and ends the process, `dump` prints the state as one line of JSON.
///
/// # Panics
/// If a step does not happen, or an output is wrong.
pub async fn run(provider: Arc<dyn Provider>, verb: &str) {
    match verb {
        // On a line of its own, although a test harness may have begun one.
        "dump" => println!("\n{}", dump(&*provider).await),
        stage => {
            Story::begin(provider, stage.parse().expect("a stage or `dump`")).await.run().await;
            // Without destructors, so that leases stay.
            std::process::exit(0);
        }
    }
}

/// The state of a provider, read through its interface: instances, executions with histories, statuses and values.
async fn dump(provider: &dyn Provider) -> Value {
    let admin = provider.as_management_capability().expect("it has one");
    // The built-in provider returns an empty output where there is none.
    let output = |output: Option<String>| output.filter(|output| !output.is_empty());
    let mut names = admin.list_instances().await.expect("instances");
    names.sort();
    let mut instances = BTreeMap::new();
    for name in names {
        let info = admin.get_instance_info(&name).await.expect("instance");
        let mut executions = BTreeMap::new();
        for number in admin.list_executions(&name).await.expect("executions") {
            let execution = admin.get_execution_info(&name, number).await.expect("execution");
            let history = admin.read_history_with_execution_id(&name, number).await.expect("history");
            assert_eq!(execution.event_count, history.len());
            let state = json!({ "status": execution.status, "output": output(execution.output), "history": history });
            executions.insert(number, state);
        }
        let values: BTreeMap<_, _> = provider.get_kv_all_values(&name).await.expect("values").into_iter().collect();
        let custom = provider.get_custom_status(&name, 0).await.expect("custom status");
        let children = admin.list_children(&name).await.expect("children");
        let state = json!({
            "orchestration": info.orchestration_name,
            "version": info.orchestration_version,
            "current": info.current_execution_id,
            "parent": info.parent_instance_id,
            "children": children,
            "status": info.status,
            "output": output(info.output),
            "custom": custom,
            "values": values,
            "executions": executions,
        });
        instances.insert(name, state);
    }
    json!(instances)
}

/// A stage: a runtime on the provider, and a client.
struct Story {
    provider: Arc<dyn Provider>,
    client: Client,
    stage: u32,
    /// Notified when the activity begins that the first stage does not end.
    begun: Arc<Notify>,
    _runtime: Arc<Runtime>,
}

impl Story {
    async fn begin(provider: Arc<dyn Provider>, stage: u32) -> Self {
        let begun = Arc::new(Notify::new());
        let options = RuntimeOptions {
            dispatcher_min_poll_interval: Duration::from_millis(10),
            // Leases of the process before end while the next stage waits for them.
            orchestrator_lock_timeout: Duration::from_secs(2),
            worker_lock_timeout: Duration::from_secs(2),
            session_lock_timeout: Duration::from_secs(2),
            unregistered_backoff: UnregisteredBackoffConfig {
                base_delay: Duration::from_secs(1),
                max_delay: Duration::from_secs(1),
            },
            // The last stage must not give up on what the first one could not execute.
            max_attempts: 1_000,
            worker_tag_filter: if stage == 3 { TagFilter::Any } else { TagFilter::DefaultOnly },
            ..RuntimeOptions::default()
        };
        let (activities, orchestrations) = (activities(stage, Arc::clone(&begun)), orchestrations(stage));
        let runtime = Runtime::start_with_options(Arc::clone(&provider), activities, orchestrations, options).await;
        Self { client: Client::new(Arc::clone(&provider)), provider, stage, begun, _runtime: runtime }
    }

    async fn run(&self) {
        match self.stage {
            1 => self.first().await,
            2 => self.second().await,
            3 => self.third().await,
            other => panic!("no stage {other}"),
        }
    }

    /// Starts everything and stops in the middle of it.
    async fn first(&self) {
        for (name, _) in OUTPUTS.iter().filter(|(name, _)| *name != "child") {
            self.client.start_orchestration(*name, *name, "1").await.expect("start");
        }
        self.client.start_orchestration("failing", "failing", "").await.expect("start");
        self.reached("counter", "round 1").await;
        self.send("counter", "go", "a").await;
        self.reached("counter", "round 2").await;
        self.reached("child", "waiting").await;
        self.reached("timer", "armed").await;
        self.reached("tagged", "scheduled").await;
        self.reached("queued", "listening").await;
        for number in ["1", "2", "3"] {
            self.send("queued", "numbers", number).await;
        }
        let ended = self.client.wait_for_orchestration("failing", PATIENCE).await.expect("it ends");
        assert!(matches!(ended, OrchestrationStatus::Failed { .. }), "{ended:?}");
        tokio::time::timeout(PATIENCE, self.begun.notified()).await.expect("the activity begins");
    }

    /// Continues what the first stage has left, up to the last wait of each.
    async fn second(&self) {
        self.send("counter", "go", "b").await;
        self.send("child", "go", "x").await;
        self.send("timer", "go", "event").await;
        self.send("queued", "open", "").await;
        self.reached("counter", "round 3").await;
        self.reached("parent", "child x").await;
        self.reached("timer", "event, fired").await;
        self.reached("queued", "1 2 3").await;
        self.reached("held", "held in a session").await;
        self.ended("later").await;
    }

    /// Ends everything.
    async fn third(&self) {
        self.send("counter", "go", "c").await;
        for name in ["parent", "timer", "held", "queued"] {
            self.send(name, "finish", "end").await;
        }
        for (name, expected) in OUTPUTS {
            assert_eq!(self.ended(name).await, expected, "{name}");
        }
    }

    async fn send(&self, instance: &str, queue: &str, data: &str) {
        self.client.enqueue_event(instance, queue, data).await.expect("queued");
    }

    /// Waits for the custom status of an instance.
    async fn reached(&self, instance: &str, status: &str) {
        let reached = async {
            loop {
                let found = self.provider.get_custom_status(instance, 0).await.ok().flatten();
                if found.and_then(|(found, _)| found).as_deref() == Some(status) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(PATIENCE, reached).await.unwrap_or_else(|_| panic!("{instance} never reached `{status}`"));
    }

    /// Waits for the output of an instance.
    async fn ended(&self, instance: &str) -> String {
        match self.client.wait_for_orchestration(instance, PATIENCE).await {
            Ok(OrchestrationStatus::Completed { output, .. }) => output,
            other => panic!("{instance}: {other:?}"),
        }
    }
}

fn activities(stage: u32, begun: Arc<Notify>) -> ActivityRegistry {
    let hold = move |_: ActivityContext, input: String| {
        let begun = Arc::clone(&begun);
        async move {
            if stage == 1 {
                begun.notify_one();
                pending::<()>().await;
            }
            Ok(input)
        }
    };
    ActivityRegistry::builder()
        .register("hold", hold)
        .register("echo", |_: ActivityContext, input: String| async move { Ok(input) })
        .register("fail", |_: ActivityContext, _: String| async move { Err("refused".to_owned()) })
        .build()
}

/// All orchestrations except, in the first stage, `later`.
fn orchestrations(stage: u32) -> OrchestrationRegistry {
    let all = OrchestrationRegistry::builder()
        .register("counter", counter)
        .register("parent", parent)
        .register("child", child)
        .register("timer", timer)
        .register("held", held)
        .register("tagged", tagged)
        .register("failing", failing)
        .register("queued", queued);
    let later = |_: OrchestrationContext, _: String| async move { Ok("registered".to_owned()) };
    if stage == 1 { all.build() } else { all.register("later", later).build() }
}

/// Three executions, with values that the next one keeps, changes and clears.
async fn counter(context: OrchestrationContext, round: String) -> Result<String, String> {
    context.set_kv_value("round", &round);
    context.set_kv_value(format!("of round {round}"), "kept");
    if round == "2" {
        context.clear_kv_value("of round 1");
    }
    context.set_custom_status(format!("round {round}"));
    let go = context.dequeue_event("go").await;
    match round.as_str() {
        "1" => context.continue_as_new("2").await,
        "2" => context.continue_as_new("3").await,
        _ => Ok(format!("{round} {go}")),
    }
}

async fn parent(context: OrchestrationContext, input: String) -> Result<String, String> {
    let result = context.schedule_sub_orchestration_with_id("child", "child", input).await?;
    context.set_custom_status(&result);
    let end = context.dequeue_event("finish").await;
    Ok(format!("{result}, {end}"))
}

async fn child(context: OrchestrationContext, _: String) -> Result<String, String> {
    context.set_custom_status("waiting");
    let go = context.dequeue_event("go").await;
    Ok(format!("child {go}"))
}

/// A timer that never fires and one that does.
async fn timer(context: OrchestrationContext, _: String) -> Result<String, String> {
    context.set_custom_status("armed");
    let first = match context.select2(context.dequeue_event("go"), context.schedule_timer(LONG)).await {
        Either2::First(event) => event,
        Either2::Second(()) => "an hour".to_owned(),
    };
    context.schedule_timer(Duration::from_millis(50)).await;
    context.set_custom_status(format!("{first}, fired"));
    let end = context.dequeue_event("finish").await;
    Ok(format!("{first}, fired, {end}"))
}

/// An activity in a session, which the first stage does not end.
async fn held(context: OrchestrationContext, _: String) -> Result<String, String> {
    let result = context.schedule_activity_on_session("hold", "held in a session", "session").await?;
    context.set_custom_status(&result);
    let end = context.dequeue_event("finish").await;
    Ok(format!("{result}, {end}"))
}

/// An activity for workers that only the last stage has.
async fn tagged(context: OrchestrationContext, _: String) -> Result<String, String> {
    context.set_custom_status("scheduled");
    context.schedule_activity("echo", "tagged").with_tag("special").await
}

async fn failing(context: OrchestrationContext, input: String) -> Result<String, String> {
    context.set_kv_value("tried", "once");
    context.schedule_activity("fail", input).await
}

/// Messages that arrive before the orchestration asks for them.
async fn queued(context: OrchestrationContext, _: String) -> Result<String, String> {
    context.set_custom_status("listening");
    context.dequeue_event("open").await;
    let mut numbers = Vec::new();
    for _ in 0..3 {
        numbers.push(context.dequeue_event("numbers").await);
    }
    let numbers = numbers.join(" ");
    context.set_custom_status(&numbers);
    let end = context.dequeue_event("finish").await;
    Ok(format!("{numbers}, {end}"))
}
