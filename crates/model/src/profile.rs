//! Profiles: PRAGMAs in order, or settings of a server, and a retry policy. Files in `profiles/`.

use indexmap::IndexMap;
use litelab_protocol::{Dialect, Retry};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::{Quantity, Scalar, Vars};

/// A profile file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Name, as in its file's name.
    pub name: String,
    /// One or two sentences.
    #[serde(default)]
    pub about: String,
    /// The databases it is for; default: SQLite. One that sets nothing is for all.
    #[serde(default)]
    pub dialect: Dialect,
    /// PRAGMAs, run on every connection in the order of the file.
    #[serde(default)]
    pub pragma: IndexMap<String, Scalar>,
    /// Settings of a server, in place of PRAGMAs: those of a session are set on every connection, in the order of the file.
    #[serde(default)]
    pub setting: IndexMap<String, Scalar>,
    /// What a worker does after an error that another try may cure.
    pub retry: Option<RetrySpec>,
}

/// What a worker does after an error that another try may cure: roll back, pause, begin again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RetrySpec {
    /// Tries in all.
    pub attempts: u32,
    /// Pause before the second try (`"100ms"`).
    pub backoff: Quantity,
    /// Factor from one pause to the next; default: 2.
    pub multiplier: Option<f64>,
    /// Longest pause; default: 1 minute.
    pub max: Option<Quantity>,
    /// SQLite result codes; a primary code includes its extended codes. Default: `SQLITE_BUSY` and
    /// `SQLITE_LOCKED`; of PostgreSQL `serialization_failure` and `deadlock_detected`, of MySQL `ER_LOCK_DEADLOCK` and
    /// `ER_LOCK_WAIT_TIMEOUT`.
    pub on: Option<Vec<String>>,
}

impl Profile {
    /// Whether it sets nothing, and so goes with every database.
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.pragma.is_empty() && self.setting.is_empty()
    }
}

impl RetrySpec {
    /// What a runner is told for a database of this dialect.
    ///
    /// # Errors
    /// A line that says which key is wrong.
    pub fn resolve(&self, dialect: Dialect) -> Result<Retry, String> {
        let none = Vars::new();
        if !(1..=1000).contains(&self.attempts) {
            return Err(format!("retry.attempts is {}: allowed is 1 to 1000", self.attempts));
        }
        let multiplier = self.multiplier.unwrap_or(2.0);
        if !(1.0..=100.0).contains(&multiplier) {
            return Err(format!("retry.multiplier is {multiplier}: allowed is 1 to 100"));
        }
        let on = self.on.clone().unwrap_or_else(|| {
            litelab_protocol::codes::contention(dialect).iter().map(|name| (*name).to_owned()).collect()
        });
        for name in &on {
            check_code(dialect, name).map_err(|e| format!("retry.on: {e}"))?;
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

fn check_code(dialect: Dialect, name: &str) -> Result<(), String> {
    use litelab_protocol::codes;
    if codes::is_known(dialect, name) && name != "SQLITE_UNKNOWN" {
        return Ok(());
    }
    Err(match dialect {
        Dialect::Sqlite => crate::error::unknown("result code", name, codes::names()),
        server => match crate::error::nearest(name, codes::server_names(server)) {
            Some(near) => format!("unknown error of {server} `{name}`: did you mean `{near}`?"),
            None => format!("unknown error of {server} `{name}`"),
        },
    })
}

/// No second try.
#[must_use]
pub fn no_retry() -> Retry {
    Retry { attempts: 1, backoff_us: 0, multiplier: 1.0, max_backoff_us: 0, on: Vec::new() }
}
