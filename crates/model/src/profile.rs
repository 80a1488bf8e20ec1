//! Profiles: ordered PRAGMAs or server settings, and a retry policy. Files in `profiles/`.

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
    /// Name of the profile, equal to the name of its file.
    pub name: String,
    /// Description of the profile in one or two sentences.
    #[serde(default)]
    pub about: String,
    /// Dialect of the databases that the profile applies to; default: SQLite. A profile without settings applies to
    /// all.
    #[serde(default)]
    pub dialect: Dialect,
    /// PRAGMAs, executed on every connection in the order of the file.
    #[serde(default)]
    pub pragma: IndexMap<String, Scalar>,
    /// Server settings, in place of PRAGMAs. Session settings are applied on every connection, in the order of the
    /// file.
    #[serde(default)]
    pub setting: IndexMap<String, Scalar>,
    /// Retry policy after an error; default: no retry.
    pub retry: Option<RetrySpec>,
}

/// Retry policy: after an error, a worker rolls the transaction back, pauses and begins again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RetrySpec {
    /// Number of tries including the first, 1 to 1000.
    pub attempts: u32,
    /// Pause before the second try, such as `"100ms"`.
    pub backoff: Quantity,
    /// Factor from one pause to the next, 1 to 100; default: 2.
    pub multiplier: Option<f64>,
    /// Longest pause; default: 1 minute.
    pub max: Option<Quantity>,
    /// Names of the errors to retry. A SQLite primary code includes its extended codes. Default: `SQLITE_BUSY` and
    /// `SQLITE_LOCKED`; on PostgreSQL `serialization_failure` and `deadlock_detected`; on MySQL `ER_LOCK_DEADLOCK` and
    /// `ER_LOCK_WAIT_TIMEOUT`.
    pub on: Option<Vec<String>>,
}

impl Profile {
    /// Whether the profile has no settings and therefore applies to every database.
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.pragma.is_empty() && self.setting.is_empty()
    }
}

impl RetrySpec {
    /// The retry policy of the protocol for a database of this dialect.
    ///
    /// # Errors
    /// One line with the invalid key.
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

/// A retry policy of a single try.
#[must_use]
pub fn no_retry() -> Retry {
    Retry { attempts: 1, backoff_us: 0, multiplier: 1.0, max_backoff_us: 0, on: Vec::new() }
}
