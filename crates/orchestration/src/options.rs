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
#[derive(Clone, Copy)]
pub struct Options {
    pub orchestration_concurrency: usize,
    pub worker_concurrency: usize,
    pub min_poll_interval: Duration,
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
        Ok(Self {
            orchestration_concurrency: number(ORCHESTRATION, 1..=256, own.orchestration_concurrency as u64)? as usize,
            worker_concurrency: number(WORKER, 1..=256, own.worker_concurrency as u64)? as usize,
            min_poll_interval: Duration::from_millis(number(INTERVAL, 1..=10_000, interval)?),
            wait: match connection.options.get(WAIT).map(Value::as_str) {
                None | Some(Some("poll")) => Wait::Poll,
                Some(Some("told")) => Wait::Told,
                Some(_) => return Err(Fault::Other(format!("option `{WAIT}`: it is \"poll\" or \"told\""))),
            },
        })
    }

    /// The options in duroxide's type. All others keep their defaults.
    pub fn of_runtime(self) -> RuntimeOptions {
        RuntimeOptions {
            orchestration_concurrency: self.orchestration_concurrency,
            worker_concurrency: self.worker_concurrency,
            dispatcher_min_poll_interval: self.min_poll_interval,
            ..RuntimeOptions::default()
        }
    }
}
