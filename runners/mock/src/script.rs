//! Scripts of the drivers `scripted` and `noop`.
//!
//! A script is the value of the connection option `script`, or else the JSON file that the environment variable
//! `LITELAB_MOCK_SCRIPT` names. The option is part of the trial, so that a plan can contain its script.
//!
//! ```json
//! { "service_ns": { "insert": [[100000, 4999], 1000000000, { "ns": 2000, "failed": "SQLITE_BUSY" }], "*": [1000] },
//!   "pause_ms": 0 }
//! ```

use std::collections::BTreeMap;

use litelab_protocol::Trial;
use serde::Deserialize;

/// Service time in nanoseconds of a transaction without a script: 1 ms.
const UNSCRIPTED_NS: u64 = 1_000_000;

/// A script.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    /// Service times by transaction, `*` for all others, in the order of starts; the list repeats. Each role and
    /// database has its own position in the list.
    pub service_ns: BTreeMap<String, Vec<Entry>>,
    /// Whether all workers wait for one server, which serves them in the order of their starts. A service time then
    /// includes the wait.
    pub one_at_a_time: bool,
    /// Workers whose transactions bypass the server and take a fixed time.
    pub starved: Vec<Starved>,
    /// Real milliseconds between `go` and the first tick; the rest takes no real time.
    pub pause_ms: u64,
}

/// A worker and the duration of its transactions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Starved {
    /// Index among all workers of its database.
    pub worker: u32,
    /// Duration in nanoseconds.
    pub ns: u64,
}

/// One entry of a list.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Entry {
    /// A commit after this number of nanoseconds.
    Once(u64),
    /// Commits: nanoseconds, and the number of repetitions.
    Times(u64, u64),
    /// A failure.
    Ending(Ending),
}

/// The end of one transaction.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ending {
    /// Duration in nanoseconds.
    pub ns: u64,
    /// Error that no retry cures; `None` for a commit.
    pub failed: Option<String>,
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

    /// The list of a transaction with all repetitions expanded.
    pub fn list(&self, transaction: &str) -> Vec<Ending> {
        let entries = self.service_ns.get(transaction).or_else(|| self.service_ns.get("*"));
        let mut list = Vec::new();
        for entry in entries.into_iter().flatten() {
            let (times, ending) = match entry {
                Entry::Once(ns) => (1, Ending { ns: *ns, failed: None }),
                Entry::Times(ns, times) => (*times, Ending { ns: *ns, failed: None }),
                Entry::Ending(ending) => (1, ending.clone()),
            };
            list.extend((0..times).map(|_| ending.clone()));
        }
        if list.is_empty() {
            list.push(Ending { ns: UNSCRIPTED_NS, failed: None });
        }
        list
    }
}
