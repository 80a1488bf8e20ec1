//! Profiles: PRAGMAs in order, and a retry policy. Files in `profiles/`.

use indexmap::IndexMap;
use litelab_protocol::Retry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::{Quantity, Scalar, Vars};

/// A profile file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Name, as in its file's name.
    pub name: String,
    /// One or two sentences.
    #[serde(default)]
    pub about: String,
    /// PRAGMAs, run on every connection in the order of the file.
    #[serde(default)]
    pub pragma: IndexMap<String, Scalar>,
    /// What a worker does after an error that another try may cure.
    pub retry: Option<RetrySpec>,
}

/// What a worker does after an error that another try may cure: roll back, pause, begin again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetrySpec {
    /// Tries in all.
    pub attempts: u32,
    /// Pause before the second try (`"100ms"`).
    pub backoff: Quantity,
    /// Factor from one pause to the next; 2 unless told otherwise.
    pub multiplier: Option<f64>,
    /// Longest pause; 1 minute unless told otherwise.
    pub max: Option<Quantity>,
    /// SQLite result codes; a primary code stands for its extended ones. `SQLITE_BUSY` and `SQLITE_LOCKED` unless told
    /// otherwise.
    pub on: Option<Vec<String>>,
}

impl RetrySpec {
    /// What a runner is told.
    ///
    /// # Errors
    /// A line that says which key is wrong.
    pub fn resolve(&self) -> Result<Retry, String> {
        let none = Vars::new();
        if !(1..=1000).contains(&self.attempts) {
            return Err(format!("retry.attempts is {}: allowed is 1 to 1000", self.attempts));
        }
        let multiplier = self.multiplier.unwrap_or(2.0);
        if !(1.0..=100.0).contains(&multiplier) {
            return Err(format!("retry.multiplier is {multiplier}: allowed is 1 to 100"));
        }
        let on = self.on.clone().unwrap_or_else(|| vec!["SQLITE_BUSY".into(), "SQLITE_LOCKED".into()]);
        for name in &on {
            if litelab_protocol::codes::code(name).is_none() {
                return Err(format!(
                    "retry.on: {}",
                    crate::error::unknown("result code", name, litelab_protocol::codes::names())
                ));
            }
        }
        Ok(Retry {
            attempts: self.attempts,
            backoff_us: self.backoff.micros(&none).map_err(|e| format!("retry.backoff: {e}"))?,
            multiplier,
            max_backoff_us: match &self.max {
                None => 60_000_000,
                Some(max) => max.micros(&none).map_err(|e| format!("retry.max: {e}"))?,
            },
            on,
        })
    }
}

/// No second try.
#[must_use]
pub fn no_retry() -> Retry {
    Retry { attempts: 1, backoff_us: 0, multiplier: 1.0, max_backoff_us: 0, on: Vec::new() }
}
