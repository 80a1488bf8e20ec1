//! Durability of a variant, from the settings that its connections reported, never from the requested ones.

use std::fmt;

use litelab_model::durability::{Durability, Level};
use litelab_model::study::Location;
use litelab_model::{Variant, pragma};
use litelab_protocol::{ConnectionSettings, Value};
use serde::{Serialize, Serializer};

use super::variant::VariantAnalysis;

/// The lowest durability level of a variant's connections; `None` without connections, or if one did not report enough
/// settings.
#[must_use]
pub fn lowest(variant: &Variant, connections: &[ConnectionSettings]) -> Option<Level> {
    if variant.location != Location::File {
        return Some(Level { durability: Durability::Volatile, caveat: None });
    }
    let levels = connections
        .iter()
        .map(|connection| Level::reported(variant.dialect, &|name| connection.settings.get(name).cloned()));
    levels.reduce(lower).flatten()
}

/// The lower of two durability levels; `None` if one of them is not known.
#[must_use]
pub fn lower(a: Option<Level>, b: Option<Level>) -> Option<Level> {
    let (a, b) = a.zip(b)?;
    Some(Level { durability: a.durability.min(b.durability), caveat: a.caveat.or(b.caveat) })
}

/// Durability levels of a variant and of the variant that it is compared with; `None` if not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DurabilityPair {
    /// Level of the variant that it is compared with.
    pub against: Option<Durability>,
    /// Level of the variant.
    pub variant: Option<Durability>,
}

impl DurabilityPair {
    /// Takes the durability levels of two variants.
    #[must_use]
    pub fn of(variant: &VariantAnalysis, against: &VariantAnalysis) -> Self {
        Self { against: against.durability, variant: variant.durability }
    }

    /// Whether the variant is known to have a lower durability level than the other.
    #[must_use]
    pub fn is_loss(self) -> bool {
        self.against.zip(self.variant).is_some_and(|(against, variant)| variant < against)
    }

    /// Whether the variant is known to have a higher durability level than the other.
    #[must_use]
    pub fn is_gain(self) -> bool {
        self.against.zip(self.variant).is_some_and(|(against, variant)| variant > against)
    }

    /// Difference in the form `gives up the last commits at a power loss`; `None` if the levels are equal.
    #[must_use]
    pub fn difference(self) -> Option<String> {
        match (self.against, self.variant) {
            (against, variant) if against == variant => None,
            (Some(_), Some(variant)) if self.is_loss() => Some(format!("gives up {}", variant.price())),
            (Some(against), Some(_)) => Some(format!("keeps {}", against.price())),
            _ => Some(format!("the durability of one of them is not known ({self})")),
        }
    }
}

/// Formats as `safe`, or as `safe → recent commits at risk` if the levels differ.
impl fmt::Display for DurabilityPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = |level: Option<Durability>| level.map_or("?", Durability::words);
        if self.against == self.variant {
            f.write_str(level(self.variant))
        } else {
            write!(f, "{} → {}", level(self.against), level(self.variant))
        }
    }
}

/// Formats the value of a setting, in words where SQLite defines them.
#[must_use]
pub fn shown(name: &str, value: &Value) -> String {
    pragma::find(name).map_or_else(|| value.to_string(), |known| known.in_words(value))
}

/// Serialises as `D4`, or `D4 → D2`.
impl Serialize for DurabilityPair {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let level = |level: Option<Durability>| level.map_or_else(|| "?".to_owned(), |level| level.to_string());
        let (against, variant) = (level(self.against), level(self.variant));
        serializer.collect_str(&if against == variant { variant } else { format!("{against} → {variant}") })
    }
}
