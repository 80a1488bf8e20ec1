//! Resolution of profiles: settings are checked against the vocabulary of the database before a run, and parsed once.

use litelab_protocol::{Dialect, Retry};

use super::ScenarioError;
use super::variants::Choice;
use crate::error::ModelError;
use crate::library::Text;
use crate::pragma::{self, Try};
use crate::profile::{Profile, no_retry};
use crate::quantity::Scalar;
use crate::setting::{self, Setting};

/// PRAGMAs to read back for every profile.
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

/// A profile after its check.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// Settings in the order in which they are applied.
    pub settings: Vec<Setting>,
    /// Retry policy after an error.
    pub retry: Retry,
}

/// Checks and parses a profile: every PRAGMA and their order, or every server setting, and the retry policy.
///
/// `tried` queries a SQLite for the effect of a refused value.
///
/// # Errors
/// The first value that the database would ignore or interpret differently.
pub fn check(profile: &Profile, text: &Text, tried: Option<Try>) -> Result<Checked, ModelError> {
    Ok(Checked { settings: settings(profile, text, tried)?, retry: retry(profile, text, profile.dialect)? })
}

/// Checks the profile of a variant, in which the dimensions `pragma.NAME` and `setting.NAME` replace the profile's
/// values.
///
/// New settings come last. A profile without settings applies to every database.
///
/// # Errors
/// The errors of [`check`], and those of profiles, dimensions and databases that do not match.
pub(super) fn of_variant(
    profile: &Profile,
    text: &Text,
    choice: &Choice,
    dialect: Dialect,
    tried: Option<Try>,
) -> Result<Checked, ScenarioError> {
    let mut profile = std::borrow::Cow::Borrowed(profile);
    if profile.is_free() {
        profile.to_mut().dialect = dialect;
    }
    if profile.dialect != dialect {
        return Err(format!(
            "profile `{}` is one of {}, and driver `{}` is one of {dialect}: choose a profile with `dialect = \"{dialect}\"`, or `as-it-comes`",
            profile.name, profile.dialect, choice.driver
        )
        .into());
    }
    let mut settings = settings(&profile, text, tried).map_err(ScenarioError::File)?;
    let (dimensions, kind, others) = match dialect {
        Dialect::Sqlite => (&choice.pragmas, "pragma", &choice.settings),
        _ => (&choice.settings, "setting", &choice.pragmas),
    };
    if let Some(name) = others.keys().next() {
        return Err(match dialect {
            Dialect::Sqlite => format!("dimension `setting.{name}`: SQLite has PRAGMAs: write `pragma.NAME`"),
            _ => format!("dimension `pragma.{name}`: {dialect} has settings: write `setting.NAME`"),
        }
        .into());
    }
    for (name, value) in dimensions {
        let new = Setting::parse(dialect, name, value, tried).map_err(|e| format!("dimension `{kind}.{name}`: {e}"))?;
        match settings.iter().position(|old| old.name == new.name) {
            Some(at) => settings[at] = new,
            None => settings.push(new),
        }
    }
    // An error of the order is now caused by the dimensions, not by the profile's file.
    check_order(dialect, &settings).map_err(|fault| {
        let names: Vec<String> = choice.pragmas.keys().map(|name| format!("`pragma.{name}`")).collect();
        format!("profile `{}` with {}: {fault}", profile.name, names.join(", "))
    })?;
    Ok(Checked { settings, retry: retry(&profile, text, dialect).map_err(ScenarioError::File)? })
}

/// The settings of a profile, in its order.
fn settings(profile: &Profile, text: &Text, tried: Option<Try>) -> Result<Vec<Setting>, ModelError> {
    let dialect = profile.dialect;
    let (table, other) = match dialect {
        Dialect::Sqlite => (&profile.pragma, &profile.setting),
        _ => (&profile.setting, &profile.pragma),
    };
    if !other.is_empty() {
        let message = match dialect {
            Dialect::Sqlite => {
                "[setting] is for servers: add `dialect = \"postgres\"` or \"mysql\", or use [pragma]".to_owned()
            }
            _ => format!("[pragma] is SQLite's: a profile of {dialect} has [setting] in its place"),
        };
        return Err(ModelError::new(&text.file, message));
    }
    let parse = |(name, value): (&String, &Scalar)| {
        Setting::parse(dialect, name, value, tried).map_err(|e| at_key(text, name, &e))
    };
    let settings = table.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    check_order(dialect, &settings).map_err(|fault| ModelError::new(&text.file, fault))?;
    Ok(settings)
}

/// Checks the order of PRAGMAs; the error is the first PRAGMA without effect at its position.
fn check_order(dialect: Dialect, settings: &[Setting]) -> Result<(), String> {
    let faults = if dialect.is_sqlite() { pragma::check_order(settings) } else { Vec::new() };
    faults.into_iter().next().map_or(Ok(()), Err)
}

fn retry(profile: &Profile, text: &Text, dialect: Dialect) -> Result<Retry, ModelError> {
    match &profile.retry {
        None => Ok(no_retry()),
        Some(retry) => retry.resolve(dialect).map_err(|e| ModelError::new(&text.file, e)),
    }
}

/// An error at the line of a key of `[pragma]` or `[setting]`.
fn at_key(text: &Text, key: &str, message: &str) -> ModelError {
    let line = text
        .toml
        .lines()
        .position(|line| line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('=')));
    ModelError { file: text.file.clone(), at: line.map(|l| (l + 1, 1)), message: message.to_owned() }
}

/// Names of the settings to read back: those of the profile, and those that every result reports.
pub(super) fn read_back(settings: &[Setting], dialect: Dialect) -> Vec<String> {
    let set = settings.iter().filter(|setting| setting.expected.is_some()).map(|setting| setting.name.clone());
    let mut names: Vec<String> = set.collect();
    let always: Vec<&str> = match dialect {
        Dialect::Sqlite => ALWAYS.to_vec(),
        server => {
            setting::all(server).iter().filter(|(_, known)| known.always).map(|(name, _)| name.as_str()).collect()
        }
    };
    for name in always {
        if !names.iter().any(|n| n == name) {
            names.push(name.to_owned());
        }
    }
    names
}
