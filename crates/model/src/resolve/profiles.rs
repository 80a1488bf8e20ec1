//! Profiles: checked against the database's own vocabulary before anything runs.

use litelab_protocol::{Dialect, Pragma, Retry};

use crate::error::ModelError;
use crate::library::Text;
use crate::pragma::{self, PragmaInput, Severity};
use crate::profile::{Profile, no_retry};
use crate::quantity::Scalar;
use crate::setting::{self, Scope, SettingValue};

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

/// Checks every PRAGMA and their order, or every setting; the retry policy.
///
/// # Errors
/// The first thing that the database would not understand as it was meant.
pub fn check(profile: &Profile, text: &Text) -> Result<Retry, ModelError> {
    check_for(profile, text, profile.dialect)
}

/// As [`check`], with a retry policy for a database of this dialect: a profile that sets nothing goes with all.
pub(super) fn check_for(profile: &Profile, text: &Text, dialect: Dialect) -> Result<Retry, ModelError> {
    check_tables(profile).map_err(|e| ModelError::new(&text.file, e))?;
    for (name, value) in &profile.setting {
        setting::parse(profile.dialect, name, value).map_err(|e| at_key(text, name, &e))?;
    }
    for (name, value) in &profile.pragma {
        pragma::parse(name, &input(value)).map_err(|e| at_key(text, name, &e.to_string()))?;
    }
    order(profile).map_err(|fault| ModelError::new(&text.file, fault))?;
    match &profile.retry {
        None => Ok(no_retry()),
        Some(retry) => retry.resolve(dialect).map_err(|e| ModelError::new(&text.file, e)),
    }
}

/// PRAGMAs are SQLite's and settings a server's.
fn check_tables(profile: &Profile) -> Result<(), String> {
    match profile.dialect {
        Dialect::Sqlite if !profile.setting.is_empty() => {
            Err("[setting] is for servers: add `dialect = \"postgres\"` or \"mysql\", or use [pragma]".into())
        }
        Dialect::Postgres | Dialect::Mysql if !profile.pragma.is_empty() => {
            Err(format!("[pragma] is SQLite's: a profile of {} has [setting] in its place", profile.dialect))
        }
        _ => Ok(()),
    }
}

/// Checks that a profile is one of the arm's database, and makes it one if it sets nothing.
pub(super) fn suit(profile: &mut Profile, driver: &str, dialect: Dialect) -> Result<(), String> {
    if profile.is_free() {
        profile.dialect = dialect;
    }
    if profile.dialect == dialect {
        return Ok(());
    }
    Err(format!(
        "profile `{}` is one of {}, and driver `{driver}` is one of {dialect}: choose a profile with `dialect = \"{dialect}\"`, or `as-it-comes`",
        profile.name, profile.dialect
    ))
}

/// Puts the values of an arm's dimensions `setting.NAME` in the place of the profile's; new ones come last.
pub(super) fn change_settings(
    profile: &mut Profile,
    settings: &indexmap::IndexMap<String, Scalar>,
) -> Result<(), String> {
    for (name, value) in settings {
        let here = |e: String| format!("dimension `setting.{name}`: {e}");
        if profile.dialect == Dialect::Sqlite {
            return Err(here("SQLite has PRAGMAs: write `pragma.NAME`".into()));
        }
        let known = setting::parse(profile.dialect, name, value).map_err(here)?;
        let key = profile.setting.keys().find(|key| key.eq_ignore_ascii_case(known.name())).unwrap_or(name).clone();
        profile.setting.insert(key, value.clone());
    }
    Ok(())
}

/// Puts the values of an arm's dimensions `pragma.NAME` in the place of the profile's; new ones come last.
pub(super) fn change(profile: &mut Profile, pragmas: &indexmap::IndexMap<String, Scalar>) -> Result<(), String> {
    if let (Some(name), false) = (pragmas.keys().next(), profile.dialect.is_sqlite()) {
        return Err(format!("dimension `pragma.{name}`: {} has settings: write `setting.NAME`", profile.dialect));
    }
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

/// The line on which a key of `[pragma]` or `[setting]` stands.
fn at_key(text: &Text, key: &str, message: &str) -> ModelError {
    let line = text
        .toml
        .lines()
        .position(|line| line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('=')));
    ModelError { file: text.file.clone(), at: line.map(|l| (l + 1, 1)), message: message.to_owned() }
}

/// The PRAGMAs or the settings of a session as SQL, in order; those that [`check`] refuses are left out.
#[must_use]
pub fn rendered(profile: &Profile) -> Vec<Pragma> {
    let settings = settings(profile).filter(|setting| setting.scope() == Scope::Session);
    let settings = settings.map(|s| Pragma { name: s.name().to_owned(), value: s.render() });
    let pragmas = profile
        .pragma
        .iter()
        .filter_map(|(name, value)| pragma::parse(name, &input(value)).ok())
        .map(|v| Pragma { name: v.name().to_owned(), value: v.render() });
    pragmas.chain(settings).collect()
}

/// The settings that hold for a whole server, in order, as the server prints them.
pub(super) fn for_server(profile: &Profile) -> Vec<Pragma> {
    let of = settings(profile).filter(|setting| setting.scope() == Scope::Server);
    of.map(|setting| Pragma { name: setting.name().to_owned(), value: setting.to_string() }).collect()
}

fn settings(profile: &Profile) -> impl Iterator<Item = SettingValue> {
    profile.setting.iter().filter_map(|(name, value)| setting::parse(profile.dialect, name, value).ok())
}

/// Names to read back: what the profile sets, and what every result is read with.
pub(super) fn read_back(profile: &Profile) -> Vec<String> {
    if !profile.dialect.is_sqlite() {
        let mut names: Vec<String> = settings(profile).map(|setting| setting.name().to_owned()).collect();
        let always = setting::all(profile.dialect).iter().filter(|known| known.always).map(|known| &known.name);
        for name in always {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        return names;
    }
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
