//! The orchestrations of the interface and their activities: those of the stress tests that duroxide publishes
//! (`provider_stress_test` in its source), step by step. Constants of the source are parts of the input here.

use std::time::Duration;

use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{ActivityContext, OrchestrationContext, OrchestrationRegistry};
use serde::{Deserialize, Serialize};

/// Name of the orchestration of `fan_out`.
pub const FAN_OUT: &str = "FanoutOrchestration";
/// Name of the orchestration of `large_payload`.
pub const LARGE_PAYLOAD: &str = "LargePayloadOrchestration";

/// Name of the sub-orchestration of [`LARGE_PAYLOAD`].
const SUB_ORCHESTRATION: &str = "LargePayloadSubOrchestration";
const PROCESS: &str = "ProcessTask";
const PRODUCE: &str = "PayloadTask";
/// Activities after the sub-orchestrations, each with a short input.
const LAST: u64 = 10;
/// Activities per sub-orchestration.
const WITHIN: u64 = 2;

/// Input of [`FAN_OUT`].
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct FanOut {
    pub task_count: u64,
    pub delay_ms: u64,
}

/// Input of [`LARGE_PAYLOAD`]; sizes in KiB.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct LargePayload {
    pub activities: u64,
    pub sub_orchestrations: u64,
    pub small: usize,
    pub medium: usize,
    pub large: usize,
    pub delay_ms: u64,
}

/// Output of both orchestrations.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Output {
    /// Activities that succeeded, including those of sub-orchestrations.
    pub succeeded: u64,
    /// Filler text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub payload: String,
}

/// Input of an activity of [`LARGE_PAYLOAD`]: the size of its result, and filler text.
#[derive(Serialize, Deserialize)]
struct Produce {
    size_kb: usize,
    delay_ms: u64,
    data: String,
}

impl LargePayload {
    /// Number of activities if all succeed.
    pub fn expected(&self) -> u64 {
        self.activities + LAST + WITHIN * self.sub_orchestrations
    }
}

/// Registers all activities.
pub fn activities() -> ActivityRegistry {
    ActivityRegistry::builder()
        .register(PROCESS, |_: ActivityContext, input: String| async move {
            let delay = input.rsplit(' ').next().and_then(|ms| ms.parse().ok()).unwrap_or_default();
            pause(delay).await;
            Ok(format!("processed: {input}"))
        })
        .register(PRODUCE, |_: ActivityContext, input: String| async move {
            let Produce { size_kb, delay_ms, data } = serde_json::from_str(&input).map_err(text)?;
            pause(delay_ms).await;
            // The result also contains the input text, as in the source.
            let answer = Produce { size_kb, delay_ms, data: data + &payload(size_kb) };
            serde_json::to_string(&answer).map_err(text)
        })
        .build()
}

/// Registers all orchestrations.
pub fn orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register(FAN_OUT, fan_out)
        .register(LARGE_PAYLOAD, large_payload)
        .register(SUB_ORCHESTRATION, sub_orchestration)
        .build()
}

/// Sleeps even for 0 ms, as in the source: the task then yields to tokio's timer once.
async fn pause(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

async fn fan_out(context: OrchestrationContext, input: String) -> Result<String, String> {
    let FanOut { task_count, delay_ms } = serde_json::from_str(&input).map_err(text)?;
    let calls = (0..task_count).map(|i| context.schedule_activity(PROCESS, format!("task-{i} {delay_ms}")));
    let results = context.join(calls.collect()).await;
    output(&results, 0, String::new())
}

/// A third of the activities have small payloads, a third medium ones, and the rest large ones, one after the other.
/// Then all sub-orchestrations run in parallel, followed by ten more activities.
async fn large_payload(context: OrchestrationContext, input: String) -> Result<String, String> {
    let load: LargePayload = serde_json::from_str(&input).map_err(text)?;
    let third = load.activities / 3;
    let phases = [
        (third, load.small, load.small),
        (third, load.medium, load.medium / 2),
        (load.activities - 2 * third, load.large, load.large / 4),
    ];
    let mut results = Vec::new();
    for (count, size_kb, given_kb) in phases {
        for _ in 0..count {
            results.push(context.schedule_activity(PRODUCE, produce(size_kb, load, payload(given_kb))?).await);
        }
    }
    let mut subs = Vec::new();
    for _ in 0..load.sub_orchestrations {
        let input = (load, payload(load.medium));
        subs.push(context.schedule_sub_orchestration(SUB_ORCHESTRATION, serde_json::to_string(&input).map_err(text)?));
    }
    let mut within = 0;
    for result in context.join(subs).await {
        let output: Output = serde_json::from_str(&result?).map_err(text)?;
        within += output.succeeded;
    }
    for i in 0..LAST {
        let input = produce(load.small, load, format!("final-task-{i}"))?;
        results.push(context.schedule_activity(PRODUCE, input).await);
    }
    output(&results, within, payload(load.large))
}

async fn sub_orchestration(context: OrchestrationContext, input: String) -> Result<String, String> {
    let (load, _): (LargePayload, String) = serde_json::from_str(&input).map_err(text)?;
    let first = context.schedule_activity(PRODUCE, produce(load.small, load, payload(load.small))?).await;
    let second = context.schedule_activity(PRODUCE, produce(load.medium, load, payload(load.medium / 2))?).await;
    output(&[first, second], 0, payload(load.medium))
}

fn produce(size_kb: usize, load: LargePayload, data: String) -> Result<String, String> {
    serde_json::to_string(&Produce { size_kb, delay_ms: load.delay_ms, data }).map_err(text)
}

fn output(results: &[Result<String, String>], within: u64, payload: String) -> Result<String, String> {
    let succeeded = within + results.iter().filter(|result| result.is_ok()).count() as u64;
    serde_json::to_string(&Output { succeeded, payload }).map_err(text)
}

/// A text of `kb` KiB without characters that JSON escapes.
fn payload(kb: usize) -> String {
    "0123456789abcdef".repeat(kb * 64)
}

fn text(error: serde_json::Error) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_as_long_as_said() {
        assert_eq!([0, 1, 50].map(|kb| payload(kb).len()), [0, 1_024, 51_200]);
    }

    #[test]
    fn every_activity_is_expected() {
        let load =
            LargePayload { activities: 20, sub_orchestrations: 5, small: 10, medium: 50, large: 100, delay_ms: 5 };
        assert_eq!(load.expected(), 40);
    }
}
