//! The durability that an arm's settings buy, from what was read back and never from what was asked for.

use litelab_model::Arm;
use litelab_model::pragma::{Durability, JournalMode, Reported, Storage, Synchronous};
use litelab_model::study::Location;
use litelab_protocol::ConnectionSettings;

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

/// A setting as it is shown: `synchronous` by its word, everything else as SQLite reports it.
#[must_use]
pub fn shown(name: &str, value: &serde_json::Value) -> String {
    if name == "synchronous"
        && let Ok(reported) = serde_json::from_value::<Reported>(value.clone())
        && let Some(level) = Synchronous::reported(&reported)
    {
        return match level {
            Synchronous::Off => "off",
            Synchronous::Normal => "normal",
            Synchronous::Full => "full",
            Synchronous::Extra => "extra",
        }
        .into();
    }
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Null => "nothing".into(),
        other => other.to_string(),
    }
}
