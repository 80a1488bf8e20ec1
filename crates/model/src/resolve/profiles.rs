//! Profiles: checked against the database's own vocabulary before anything runs, and parsed once.

use indexmap::IndexMap;
use litelab_protocol::{Dialect, Retry};

use super::arms::Choice;
use crate::error::ModelError;
use crate::library::Text;
use crate::pragma::{self, PragmaValue, Try};
use crate::profile::{Profile, no_retry};
use crate::quantity::Scalar;
use crate::setting::{self, Setting};

/// Read back whatever the profile sets.
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

/// What a profile comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// In the order in which they are set.
    pub settings: Vec<Setting>,
    /// What a worker does after an error that another try may cure.
    pub retry: Retry,
}

/// Checks every PRAGMA and their order, or every setting; the retry policy. `tried` asks a SQLite what it would have made of a
/// value that is refused.
///
/// # Errors
/// The first thing that the database would not understand as it was meant.
pub fn check(profile: &Profile, text: &Text, tried: Option<Try>) -> Result<Checked, ModelError> {
    Ok(Checked { settings: settings(profile, text, tried)?.finish(), retry: retry(profile, text, profile.dialect)? })
}

/// The same for an arm: its profile with its dimensions `pragma.NAME` and `setting.NAME` in the place of the profile's values;
/// new ones come last. A profile that sets nothing goes with every database.
///
/// # Errors
/// As [`check`], and where profile, dimensions and database do not go together.
pub(super) fn of_arm(
    profile: &Profile,
    text: &Text,
    choice: &Choice,
    dialect: Dialect,
    tried: Option<Try>,
) -> Result<Checked, super::arm::ArmError> {
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
    let mut parsed = settings(&profile, text, tried)?;
    parsed.change(&choice.pragmas, &choice.settings, dialect, tried)?;
    // A fault of order is then the dimensions', not one of the profile's file.
    parsed.order().map_err(|fault| {
        let names: Vec<String> = choice.pragmas.keys().map(|name| format!("`pragma.{name}`")).collect();
        format!("profile `{}` with {}: {fault}", profile.name, names.join(", "))
    })?;
    Ok(Checked { settings: parsed.finish(), retry: retry(&profile, text, dialect)? })
}

/// The values of a profile, parsed, before they are in their final form: the order of PRAGMAs is checked on these.
enum Parsed {
    Sqlite(Vec<PragmaValue>),
    Server(Vec<Setting>),
}

fn settings(profile: &Profile, text: &Text, tried: Option<Try>) -> Result<Parsed, ModelError> {
    let table = match profile.dialect {
        Dialect::Sqlite if !profile.setting.is_empty() => {
            Err("[setting] is for servers: add `dialect = \"postgres\"` or \"mysql\", or use [pragma]".into())
        }
        Dialect::Postgres | Dialect::Mysql if !profile.pragma.is_empty() => {
            Err(format!("[pragma] is SQLite's: a profile of {} has [setting] in its place", profile.dialect))
        }
        _ => Ok(()),
    };
    table.map_err(|e| ModelError::new(&text.file, e))?;
    if !profile.dialect.is_sqlite() {
        let parse = |(name, value): (&String, &Scalar)| {
            setting::parse(profile.dialect, name, value).map_err(|e| at_key(text, name, &e))
        };
        return Ok(Parsed::Server(profile.setting.iter().map(parse).collect::<Result<_, _>>()?));
    }
    let parse = |(name, value): (&String, &Scalar)| {
        pragma::parse(name, value).map_err(|e| at_key(text, name, &e.explained(tried).to_string()))
    };
    let parsed = Parsed::Sqlite(profile.pragma.iter().map(parse).collect::<Result<_, _>>()?);
    parsed.order().map_err(|fault| ModelError::new(&text.file, fault))?;
    Ok(parsed)
}

impl Parsed {
    fn change(
        &mut self,
        pragmas: &IndexMap<String, Scalar>,
        settings: &IndexMap<String, Scalar>,
        dialect: Dialect,
        tried: Option<Try>,
    ) -> Result<(), String> {
        match self {
            Self::Sqlite(values) => {
                if let Some(name) = settings.keys().next() {
                    return Err(format!("dimension `setting.{name}`: SQLite has PRAGMAs: write `pragma.NAME`"));
                }
                for (name, value) in pragmas {
                    let new = pragma::parse(name, value)
                        .map_err(|e| format!("dimension `pragma.{name}`: {}", e.explained(tried)))?;
                    put(values, new, |old| old.name() == new.name());
                }
            }
            Self::Server(values) => {
                if let Some(name) = pragmas.keys().next() {
                    return Err(format!("dimension `pragma.{name}`: {dialect} has settings: write `setting.NAME`"));
                }
                for (name, value) in settings {
                    let new = setting::parse(dialect, name, value)
                        .map_err(|e| format!("dimension `setting.{name}`: {e}"))?;
                    let known = new.name.clone();
                    put(values, new, |old| old.name == known);
                }
            }
        }
        Ok(())
    }

    /// The first PRAGMA that has no effect where it stands.
    fn order(&self) -> Result<(), String> {
        match self {
            Self::Sqlite(values) => {
                pragma::check_order(values).first().map_or(Ok(()), |fault| Err(fault.to_string()))
            }
            Self::Server(_) => Ok(()),
        }
    }

    fn finish(self) -> Vec<Setting> {
        match self {
            Self::Sqlite(values) => values.into_iter().map(Setting::from).collect(),
            Self::Server(settings) => settings,
        }
    }
}

/// In the place of what is the same setting, else last.
fn put<T>(values: &mut Vec<T>, new: T, same: impl Fn(&T) -> bool) {
    match values.iter().position(same) {
        Some(at) => values[at] = new,
        None => values.push(new),
    }
}

fn retry(profile: &Profile, text: &Text, dialect: Dialect) -> Result<Retry, ModelError> {
    match &profile.retry {
        None => Ok(no_retry()),
        Some(retry) => retry.resolve(dialect).map_err(|e| ModelError::new(&text.file, e)),
    }
}

/// The line on which a key of `[pragma]` or `[setting]` stands.
fn at_key(text: &Text, key: &str, message: &str) -> ModelError {
    let line = text
        .toml
        .lines()
        .position(|line| line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('=')));
    ModelError { file: text.file.clone(), at: line.map(|l| (l + 1, 1)), message: message.to_owned() }
}

/// Names to read back: what is set, and what every result is read with.
pub(super) fn read_back(settings: &[Setting], dialect: Dialect) -> Vec<String> {
    let set = settings.iter().filter(|setting| setting.expected.is_some()).map(|setting| setting.name.clone());
    let mut names: Vec<String> = set.collect();
    let always: Vec<&str> = match dialect {
        Dialect::Sqlite => ALWAYS.to_vec(),
        server => setting::all(server).iter().filter(|known| known.always).map(|known| known.name.as_str()).collect(),
    };
    for name in always {
        if !names.iter().any(|n| n == name) {
            names.push(name.to_owned());
        }
    }
    names
}
