//! The process that is killed: runs orchestrations and prints each step that was acknowledged or observed as durable.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::Provider;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{Runtime, RuntimeOptions};
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry, OrchestrationStatus};
use duroxide_onewriter::{Acks, Options};

use crate::stores::{Fault, Faulty};
use crate::through::Through;
use reporting::{Counts, Reporting};

#[path = "reporting.rs"]
mod reporting;

/// Result of every orchestration.
pub const RESULT: &str = "a+b+c,d";

/// Three concurrent activities, a value, a timer, and a fourth activity.
async fn orchestration(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    let all = ["a", "b", "c"].map(|name| ctx.schedule_activity("Echo", name)).into();
    let all: Vec<String> = ctx.join(all).await.into_iter().collect::<Result<_, _>>()?;
    ctx.set_kv_value("all", all.join("+"));
    ctx.schedule_timer(Duration::from_millis(3)).await;
    let last = ctx.schedule_activity("Echo", "d").await?;
    Ok(format!("{},{last}", all.join("+")))
}

async fn runtime(provider: Arc<dyn Provider>) -> Arc<Runtime> {
    let activities = ActivityRegistry::builder()
        .register("Echo", |_: ActivityContext, input: String| async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            Ok(input)
        })
        .build();
    let orchestrations = OrchestrationRegistry::builder().register("Fan", orchestration).build();
    let options = RuntimeOptions { orchestration_concurrency: 3, worker_concurrency: 3, ..RuntimeOptions::default() };
    Runtime::start_with_options(provider, activities, orchestrations, options).await
}

fn executor() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Main function of the child: starts orchestrations until it is killed.
pub fn run() {
    let variable = |name: &str| std::env::var(name).expect("the parent sets it");
    let (path, round) = (variable("CHILD_DATABASE"), variable("CHILD_ROUND"));
    let faulty = |fault, options: Options| {
        let faulty = Faulty { fault, order: Arc::default() };
        options.open_on(Arc::new(Through::open(&path, &options, faulty))).unwrap()
    };
    let (awaited, ordered) = (Options::default(), Options::default().acks(Acks::Ordered));
    let (provider, counts) = match variable("CHILD_STORE").as_str() {
        "durable" => (awaited.open(&path).unwrap(), Counts::Acknowledged),
        "ordered" => (ordered.open(&path).unwrap(), Counts::Seen),
        "ordered-hasty" => (faulty(Fault::Hasty, ordered), Counts::Seen),
        "hasty" => (faulty(Fault::Hasty, awaited), Counts::Acknowledged),
        "halving" => (faulty(Fault::Halving, awaited), Counts::Acknowledged),
        other => panic!("no store is called {other}"),
    };
    executor().block_on(async {
        let provider: Arc<dyn Provider> = Arc::new(Reporting::new(provider, counts));
        let _runtime = runtime(Arc::clone(&provider)).await;
        let client = Arc::new(Client::new(provider));
        // Starts with a line break, because the test harness has begun a line.
        println!("\ntold ready");
        for number in 0.. {
            // With more than this, a run of many kills would mostly read what earlier ones left.
            if number < 60 {
                let instance = format!("{round}-{number}");
                client.start_orchestration(&instance, "Fan", "").await.unwrap();
                let client = Arc::clone(&client);
                tokio::spawn(async move {
                    client.wait_for_orchestration(&instance, Duration::from_secs(60)).await.unwrap();
                    println!("told completed {instance} .");
                });
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
}

/// Runs the remaining instances to their end, in this process.
pub fn complete(path: &Path, instances: &[String]) {
    let provider = Arc::new(Options::default().open(path).unwrap());
    executor().block_on(async {
        let runtime = runtime(provider.clone()).await;
        let client = Client::new(provider.clone());
        for instance in instances {
            let status = client.wait_for_orchestration(instance, Duration::from_secs(60)).await.unwrap();
            assert!(
                matches!(&status, OrchestrationStatus::Completed { output, .. } if output == RESULT),
                "{instance}: {status:?}"
            );
            assert_eq!(client.get_kv_value(instance, "all").await.unwrap().as_deref(), Some("a+b+c"), "{instance}");
        }
        runtime.shutdown(None).await;
    });
    provider.close().unwrap();
}
