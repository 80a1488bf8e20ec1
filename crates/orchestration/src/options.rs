//! Options of every driver of this interface, under duroxide's own names.

use std::time::Duration;

use duroxide::runtime::RuntimeOptions;
use litelab_harness::{Fault, refuse_options};
use litelab_protocol::Connection;
use serde_json::Value;

const ORCHESTRATION: &str = "orchestration_concurrency";
const WORKER: &str = "worker_concurrency";
const INTERVAL: &str = "dispatcher_min_poll_interval_ms";
const WAIT: &str = "wait";

/// How a client learns that an orchestration has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// By `Client::wait_for_orchestration`, which polls the provider, finally every 100 ms.
    Poll,
    /// By a message from the dispatcher in this process that committed the end, followed by one read of the status.
    Told,
}

/// Options that an application chooses when it starts duroxide's runtime.
pub struct Options {
    /// Those that are no options of the driver keep their defaults.
    pub runtime: RuntimeOptions,
    pub wait: Wait,
}

impl Options {
    /// Reads the options. Default: duroxide's own. `more` are the names of the driver's further options.
    ///
    /// # Errors
    /// An unknown option, or an invalid value.
    pub fn read(connection: &Connection, more: &[&str]) -> Result<Self, Fault> {
        refuse_options(connection, &[&[ORCHESTRATION, WORKER, INTERVAL, WAIT], more].concat())?;
        let own = RuntimeOptions::default();
        let number = |name: &str, range: std::ops::RangeInclusive<u64>, default: u64| {
            let Some(value) = connection.options.get(name) else { return Ok(default) };
            let (low, high) = (*range.start(), *range.end());
            let wrong = || Fault::Other(format!("option `{name}`: {value} is not a number from {low} to {high}"));
            value.as_u64().filter(|number| range.contains(number)).ok_or_else(wrong)
        };
        let interval = own.dispatcher_min_poll_interval.as_millis() as u64;
        let runtime = RuntimeOptions {
            orchestration_concurrency: number(ORCHESTRATION, 1..=256, own.orchestration_concurrency as u64)? as usize,
            worker_concurrency: number(WORKER, 1..=256, own.worker_concurrency as u64)? as usize,
            dispatcher_min_poll_interval: Duration::from_millis(number(INTERVAL, 1..=10_000, interval)?),
            ..own
        };
        let wait = match connection.options.get(WAIT).map(Value::as_str) {
            None | Some(Some("poll")) => Wait::Poll,
            Some(Some("told")) => Wait::Told,
            Some(_) => return Err(Fault::Other(format!("option `{WAIT}`: it is \"poll\" or \"told\""))),
        };
        Ok(Self { runtime, wait })
    }
}
