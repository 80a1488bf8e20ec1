//! The durability that an arm's settings buy, from what was read back and never from what was asked for.

use std::fmt;

use litelab_model::Arm;
use litelab_model::pragma::{self, Durability, JournalMode, Reported, Storage, Synchronous};
use litelab_model::study::Location;
use litelab_protocol::ConnectionSettings;

use super::arm::ArmAnalysis;

/// The worst over an arm's connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rung {
    /// The rung; none where a connection did not say enough.
    pub worst: Option<Durability>,
    /// What the rung does not say.
    pub caveat: Option<&'static str>,
}

impl Rung {
    /// Of one trial.
    #[must_use]
    pub fn of(arm: &Arm, settings: &[ConnectionSettings]) -> Self {
        if arm.location != Location::File {
            return Self { worst: Some(Durability::Volatile), caveat: None };
        }
        let mut rungs = settings.iter().map(|settings| match arm.server {
            None => connection(settings),
            Some(_) => on_server(arm, settings),
        });
        let first = rungs.next().unwrap_or_default();
        rungs.fold(first, Self::and)
    }

    /// The worse of two; nothing is known where one is not.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let worst = self.worst.zip(other.worst).map(|(a, b)| a.min(b));
        Self { worst, caveat: self.caveat.or(other.caveat) }
    }
}

fn connection(connection: &ConnectionSettings) -> Rung {
    let reported = |name: &str| {
        let value = connection.settings.get(name)?;
        serde_json::from_value::<Reported>(value.clone()).ok()
    };
    let Some((journal, synchronous)) = reported("journal_mode").zip(reported("synchronous")) else {
        return Rung::default();
    };
    let caveat = JournalMode::reported(&journal)
        .zip(Synchronous::reported(&synchronous))
        .and_then(|(journal, synchronous)| Durability::caveat(journal, synchronous));
    Rung { worst: Durability::reported(Storage::File, &journal, &synchronous), caveat }
}

fn on_server(arm: &Arm, connection: &ConnectionSettings) -> Rung {
    let read = |name: &str| serde_json::from_value::<Reported>(connection.settings.get(name)?.clone()).ok();
    let rung = litelab_model::setting::Rung::reported(arm.dialect, &read);
    rung.map_or_else(Rung::default, |rung| Rung { worst: Some(rung.durability), caveat: rung.caveat })
}

/// The durability of an arm beside that of the arm it is compared with; a rung is none where it is not known.
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
        let rung = |rung: Option<Durability>| rung.map_or_else(|| "?".to_owned(), |rung| rung.to_string());
        if self.against == self.arm {
            f.write_str(&rung(self.arm))
        } else {
            write!(f, "{} → {}", rung(self.against), rung(self.arm))
        }
    }
}

/// A setting as it is shown: in words where SQLite has some.
#[must_use]
pub fn shown(name: &str, value: &serde_json::Value) -> String {
    match serde_json::from_value::<Reported>(value.clone()) {
        Ok(reported) => pragma::find(name).map_or_else(|| reported.to_string(), |known| known.in_words(&reported)),
        Err(_) => value.to_string(),
    }
}
