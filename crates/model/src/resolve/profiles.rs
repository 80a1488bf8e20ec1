//! Profiles: checked against SQLite's own vocabulary before anything runs.

use litelab_protocol::{Pragma, Retry};

use crate::error::ModelError;
use crate::library::Text;
use crate::pragma::{self, PragmaInput, Severity};
use crate::profile::{Profile, no_retry};
use crate::quantity::Scalar;

/// What is always read back, whatever the profile sets.
const ALWAYS: [&str; 10] = [
    "journal_mode",
    "synchronous",
    "busy_timeout",
    "cache_size",
    "page_size",
    "wal_autocheckpoint",
    "foreign_keys",
    "temp_store",
    "mmap_size",
    "locking_mode",
];

/// A TOML value as the PRAGMA vocabulary takes it.
#[must_use]
pub fn input(value: &Scalar) -> PragmaInput {
    match value {
        Scalar::Bool(b) => PragmaInput::Boolean(*b),
        Scalar::Integer(i) => PragmaInput::Integer(*i),
        Scalar::Real(r) => PragmaInput::Float(*r),
        Scalar::Text(t) => PragmaInput::Text(t.clone()),
    }
}

/// Checks every PRAGMA and their order; the retry policy.
///
/// # Errors
/// The first thing that SQLite would not understand as it was meant.
pub fn check(profile: &Profile, text: &Text) -> Result<Retry, ModelError> {
    for (name, value) in &profile.pragma {
        pragma::parse(name, &input(value)).map_err(|e| at_key(text, name, &e.to_string()))?;
    }
    order(profile).map_err(|fault| ModelError::new(&text.file, fault))?;
    match &profile.retry {
        None => Ok(no_retry()),
        Some(retry) => retry.resolve().map_err(|e| ModelError::new(&text.file, e)),
    }
}

/// Puts the values of an arm's dimensions `pragma.NAME` in the place of the profile's; new ones come last.
pub(super) fn change(profile: &mut Profile, pragmas: &indexmap::IndexMap<String, Scalar>) -> Result<(), String> {
    if pragmas.is_empty() {
        return Ok(());
    }
    for (name, value) in pragmas {
        let known = pragma::parse(name, &input(value)).map_err(|e| format!("dimension `pragma.{name}`: {e}"))?;
        let same = |key: &&String| pragma::find(key).is_some_and(|p| p.name == known.name());
        let key = profile.pragma.keys().find(same).unwrap_or(name).clone();
        profile.pragma.insert(key, value.clone());
    }
    // A fault of order is then the dimensions', not one of the profile's file.
    let names = || pragmas.keys().map(|name| format!("`pragma.{name}`")).collect::<Vec<_>>().join(", ");
    order(profile).map_err(|fault| format!("profile `{}` with {}: {fault}", profile.name, names()))
}

/// The first PRAGMA that has no effect where it stands.
fn order(profile: &Profile) -> Result<(), String> {
    let parsed = profile.pragma.iter().filter_map(|(name, value)| pragma::parse(name, &input(value)).ok());
    let faults = pragma::check_order(&parsed.collect::<Vec<_>>());
    let fault = faults.into_iter().find(|f| f.severity() == Severity::Error);
    fault.map_or(Ok(()), |fault| Err(fault.to_string()))
}

/// The line on which a key of `[pragma]` stands.
fn at_key(text: &Text, key: &str, message: &str) -> ModelError {
    let line = text
        .toml
        .lines()
        .position(|line| line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('=')));
    ModelError { file: text.file.clone(), at: line.map(|l| (l + 1, 1)), message: message.to_owned() }
}

/// The PRAGMAs as SQL, in order; those that [`check`] refuses are left out.
#[must_use]
pub fn rendered(profile: &Profile) -> Vec<Pragma> {
    profile
        .pragma
        .iter()
        .filter_map(|(name, value)| pragma::parse(name, &input(value)).ok())
        .map(|v| Pragma { name: v.name().to_owned(), value: v.render() })
        .collect()
}

/// Names to read back: what the profile sets, and what every result is read with.
pub(super) fn read_back(profile: &Profile) -> Vec<String> {
    let mut names: Vec<String> = profile
        .pragma
        .keys()
        .filter_map(|name| pragma::find(name))
        .filter(|p| p.is_setting())
        .map(|p| p.name.to_owned())
        .collect();
    for name in ALWAYS {
        if !names.iter().any(|n| n == name) {
            names.push(name.to_owned());
        }
    }
    names
}
