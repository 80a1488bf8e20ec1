//! Rules: predicates over facts, read from `rules/*.toml`.

use std::collections::BTreeMap;

use include_dir::{Dir, include_dir};
use serde::{Deserialize, Serialize};
use thiserror::Error;

static RULES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../rules");

/// What a rule looks at: its condition is evaluated once for each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// The database file, once.
    File,
    /// The host, once.
    Host,
    /// The schema, once.
    Schema,
    /// Each table, as `table`.
    Table,
    /// Each index, as `index`.
    Index,
    /// Each foreign key, as `foreign_key`.
    ForeignKey,
    /// Each process that has the database open, as `process`.
    Process,
    /// The application's connections, once.
    App,
    /// Each key of the DSN and each option, as `key`.
    Key,
    /// Each statement, as `statement`.
    Statement,
    /// An event of `litelab watch`, with `process` and `database`: rules of `watch.toml`.
    Event,
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Costs time, or fails under load.
    Warning,
    /// Loses data, fails, or is not what was asked for.
    Error,
}

impl Severity {
    /// All severities, the worst first.
    pub const ALL: [Self; 3] = [Self::Error, Self::Warning, Self::Note];

    /// The severity of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.name() == name)
    }

    /// The word in output and files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A rule.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Stable id: `LL` and three digits.
    pub id: String,
    /// What it looks at.
    pub about: Subject,
    /// How bad a finding is.
    pub severity: Severity,
    /// Title in a few words, for lists.
    pub title: String,
    /// Condition: a minijinja expression over `file`, `host`, `schema`, `app` (undefined without `--driver`), the list
    /// `processes`, and the item that `about` names.
    pub when: String,
    /// One line with the evidence: a minijinja template over the same names.
    pub message: String,
    /// Consequence in one sentence.
    pub because: String,
    /// Page that shows why.
    pub source: String,
    /// What to do, by driver (`go:modernc`), language (`go`) or `any`: the most specific applies. A template.
    pub fix: BTreeMap<String, String>,
    /// Facts, changed from those of `rules/healthy.toml`, under which the rule fires.
    pub fires: toml::Table,
    /// Facts, changed from those of `rules/healthy.toml`, under which the rule does not fire though they are near.
    pub silent: toml::Table,
}

/// Error of the built-in rules.
#[derive(Debug, Error)]
#[error("built-in rules/{file}: {what}")]
pub struct RuleError {
    /// File name.
    pub file: String,
    /// What is wrong.
    pub what: String,
}

/// Rules of events.
const EVENTS: &str = "watch.toml";

/// All rules about facts, sorted by id; without those of events.
///
/// # Errors
/// If a built-in file is invalid.
pub fn all() -> Result<Vec<Rule>, RuleError> {
    let mut rules = Vec::new();
    for file in RULES.files() {
        let name = file.path().display().to_string();
        if !["healthy.toml", "keys.toml", EVENTS].contains(&name.as_str()) {
            rules.extend(parse(name, file.contents_utf8().unwrap_or_default())?);
        }
    }
    rules.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(rules)
}

/// Rules of the events of `litelab watch`, in the order of their file: the first that applies explains an event.
///
/// # Errors
/// If the built-in file is invalid.
pub fn events() -> Result<Vec<Rule>, RuleError> {
    parse(EVENTS.to_owned(), file(EVENTS))
}

fn parse(file: String, text: &str) -> Result<Vec<Rule>, RuleError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Rules {
        rule: Vec<Rule>,
    }
    let parsed: Rules = toml::from_str(text).map_err(|error| RuleError { file, what: error.to_string() })?;
    Ok(parsed.rule)
}

/// Text of a built-in file beside the rules: `healthy.toml`, `keys.toml`.
#[must_use]
pub fn file(name: &str) -> &'static str {
    RULES.get_file(name).and_then(|file| file.contents_utf8()).unwrap_or_default()
}
