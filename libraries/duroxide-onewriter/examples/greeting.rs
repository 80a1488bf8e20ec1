//! An orchestration of two activities: `cargo run --example greeting -- [FILE]`; default: a temporary file.
//!
//! Kill it while it waits and start it with the same file again: it continues where it was.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{OrchestrationStatus, Runtime};
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry};
use duroxide_onewriter::Options;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = std::env::args_os().nth(1).map_or_else(|| folder.path().join("orchestrations.db"), PathBuf::from);
    let provider = Arc::new(Options::default().open(path)?);

    let activities = ActivityRegistry::builder()
        .register("greet", |_: ActivityContext, name: String| async move { Ok(format!("Hello, {name}!")) })
        .build();
    let orchestrations = OrchestrationRegistry::builder().register("greeting", greeting).build();
    let runtime = Runtime::start_with_store(provider.clone(), activities, orchestrations).await;

    let client = Client::new(provider.clone());
    client.start_orchestration("greeting-1", "greeting", "world").await?;
    match client.wait_for_orchestration("greeting-1", Duration::from_secs(60)).await? {
        OrchestrationStatus::Completed { output, .. } => println!("{output}"),
        other => println!("{other:?}"),
    }
    runtime.shutdown(None).await;
    provider.close_async().await?;
    Ok(())
}

async fn greeting(context: OrchestrationContext, name: String) -> Result<String, String> {
    let first = context.schedule_activity("greet", name).await?;
    context.schedule_timer(Duration::from_secs(5)).await;
    let second = context.schedule_activity("greet", "again").await?;
    Ok(format!("{first} {second}"))
}
