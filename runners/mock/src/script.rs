//! What the drivers `scripted` and `noop` play.
//!
//! A script is the value of the connection option `script`, or the JSON file that the environment variable
//! `LITELAB_MOCK_SCRIPT` names; the option comes first. The option travels in the trial, so a plan that carries one
//! needs nothing else.
//!
//! ```json
//! { "service_ns": { "insert": [[100000, 4999], 1000000000, { "ns": 2000, "empty": true }], "*": [1000] },
//!   "lateness_ns": [0, 500], "rows": 1, "pause_ms": 0 }
//! ```

use std::collections::BTreeMap;

use litelab_protocol::Trial;
use serde::Deserialize;

/// Service time of a transaction that no script mentions: 1 ms.
const UNSCRIPTED_NS: u64 = 1_000_000;

/// A script.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    /// By transaction, `*` for every other one: what its executions take, played in the order in which they start and
    /// from the front again when the list is at its end. Each role and database plays a list of its own.
    pub service_ns: BTreeMap<String, Vec<Entry>>,
    /// Lateness of the host probe's timers, played likewise.
    pub lateness_ns: Vec<u64>,
    /// Whether all workers wait for one server, which takes them in the order of their starts: a service time is then that and
    /// the wait for it.
    pub one_at_a_time: bool,
    /// Workers whose every transaction takes a time of its own, without the server.
    pub starved: Vec<Starved>,
    /// Rows of each committed transaction.
    pub rows: u64,
    /// Real milliseconds that pass between `go` and the first tick; all else takes no time at all.
    pub pause_ms: u64,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            service_ns: BTreeMap::new(),
            lateness_ns: vec![0],
            one_at_a_time: false,
            starved: Vec::new(),
            rows: 1,
            pause_ms: 0,
        }
    }
}

/// A worker by its index among all of its database.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Starved {
    /// Which.
    pub worker: u32,
    /// Nanoseconds.
    pub ns: u64,
}

/// One entry of a list.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Entry {
    /// Nanoseconds, once.
    Once(u64),
    /// Nanoseconds, and how often.
    Times(u64, u64),
    /// With an ending that is not a plain commit.
    Ending(Ending),
}

/// An entry in full.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ending {
    /// Nanoseconds.
    pub ns: u64,
    /// How often.
    #[serde(default = "once")]
    pub times: u64,
    /// Whether it ends without the row it needed.
    #[serde(default)]
    pub empty: bool,
    /// The error it fails with for good.
    pub failed: Option<String>,
    /// The error that a retry cures.
    pub cured: Option<String>,
}

fn once() -> u64 {
    1
}

impl Script {
    /// The script of a trial; without one every transaction takes 1 ms.
    pub fn of(trial: &Trial) -> Result<Self, String> {
        if let Some(name) = trial.connection.options.keys().find(|name| *name != "script") {
            return Err(format!("option `{name}`: the mock runner has only `script`"));
        }
        if let Some(option) = trial.connection.options.get("script") {
            return serde_json::from_value(option.clone()).map_err(|e| format!("script: {e}"));
        }
        let Some(path) = std::env::var_os("LITELAB_MOCK_SCRIPT") else { return Ok(Self::default()) };
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
    }

    /// The list of a transaction, every entry written out.
    pub fn list(&self, transaction: &str) -> Vec<Ending> {
        let entries = self.service_ns.get(transaction).or_else(|| self.service_ns.get("*"));
        let mut list = Vec::new();
        for entry in entries.into_iter().flatten() {
            let plain = |ns, times| Ending { ns, times, empty: false, failed: None, cured: None };
            let ending = match entry {
                Entry::Once(ns) => plain(*ns, 1),
                Entry::Times(ns, times) => plain(*ns, *times),
                Entry::Ending(ending) => ending.clone(),
            };
            list.extend((0..ending.times).map(|_| ending.clone()));
        }
        if list.is_empty() {
            list.push(Ending { ns: UNSCRIPTED_NS, times: 1, empty: false, failed: None, cured: None });
        }
        list
    }
}
