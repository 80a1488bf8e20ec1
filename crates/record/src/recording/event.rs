//! An event of a watched database.

use serde::{Deserialize, Serialize};

/// An event with its explanation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Number of the event since the start of the observation; the end of an event has the number of its beginning.
    pub number: u64,
    /// Seconds since 1970, UTC, of its beginning.
    pub at: f64,
    /// `once`, `begin` or `end`.
    pub phase: Phase,
    /// Name of the kind: `long-write`.
    pub kind: String,
    /// Path of the database.
    pub database: String,
    /// Process in question.
    pub pid: Option<u32>,
    /// Duration in seconds so far.
    pub seconds: f64,
    /// Id of the rule that explains it.
    pub rule: String,
    /// `note`, `warning` or `error`.
    pub severity: String,
    /// One line with the evidence.
    pub message: String,
    /// Consequence.
    pub because: String,
    /// What to do.
    pub fix: String,
    /// Page that shows why.
    pub source: String,
}

/// Phase of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// It has no duration.
    #[default]
    Once,
    /// It has begun.
    Begin,
    /// It has ended.
    End,
}
