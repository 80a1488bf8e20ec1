//! The durability that an arm's settings buy, from what was read back and never from what was asked for.

use std::fmt;

use litelab_model::durability::{Durability, Level};
use litelab_model::study::Location;
use litelab_model::{Arm, pragma};
use litelab_protocol::{ConnectionSettings, Value};

use super::arm::ArmAnalysis;

/// The lowest level of an arm's connections; none where a connection did not report enough, or is none.
#[must_use]
pub fn lowest(arm: &Arm, connections: &[ConnectionSettings]) -> Option<Level> {
    if arm.location != Location::File {
        return Some(Level { durability: Durability::Volatile, caveat: None });
    }
    let levels = connections
        .iter()
        .map(|connection| Level::reported(arm.dialect, &|name| connection.settings.get(name).cloned()));
    levels.reduce(lower).flatten()
}

/// The lower of two; none where one is not known.
#[must_use]
pub fn lower(a: Option<Level>, b: Option<Level>) -> Option<Level> {
    let (a, b) = a.zip(b)?;
    Some(Level { durability: a.durability.min(b.durability), caveat: a.caveat.or(b.caveat) })
}

/// The durability of an arm beside that of the arm it is compared with; none where it is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footing {
    /// Of the arm that it is compared with.
    pub against: Option<Durability>,
    /// Of the arm.
    pub arm: Option<Durability>,
}

impl Footing {
    /// Of two arms.
    #[must_use]
    pub fn of(arm: &ArmAnalysis, against: &ArmAnalysis) -> Self {
        Self { against: against.durability, arm: arm.durability }
    }

    /// Whether the arm is known to keep less than the other.
    #[must_use]
    pub fn is_loss(self) -> bool {
        self.against.zip(self.arm).is_some_and(|(against, arm)| arm < against)
    }

    /// Whether the arm is known to keep more than the other.
    #[must_use]
    pub fn is_gain(self) -> bool {
        self.against.zip(self.arm).is_some_and(|(against, arm)| arm > against)
    }

    /// `gives up the last commits at a power loss (D3 → D2)`; none where both have the same.
    #[must_use]
    pub fn difference(self) -> Option<String> {
        match (self.against, self.arm) {
            (against, arm) if against == arm => None,
            (Some(_), Some(arm)) if self.is_loss() => Some(format!("gives up {} ({self})", arm.price())),
            (Some(against), Some(_)) => Some(format!("keeps {} ({self})", against.price())),
            _ => Some(format!("the durability of one of them is not known ({self})")),
        }
    }
}

/// `D4`, or `D4 → D2` where they differ.
impl fmt::Display for Footing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = |level: Option<Durability>| level.map_or_else(|| "?".to_owned(), |level| level.to_string());
        if self.against == self.arm {
            f.write_str(&level(self.arm))
        } else {
            write!(f, "{} → {}", level(self.against), level(self.arm))
        }
    }
}

/// A setting as it is shown: in words where SQLite has some.
#[must_use]
pub fn shown(name: &str, value: &Value) -> String {
    pragma::find(name).map_or_else(|| value.to_string(), |known| known.in_words(value))
}
