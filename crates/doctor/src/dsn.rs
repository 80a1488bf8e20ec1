//! Data source names, and the keys that drivers document.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use litelab_model::advisory::Version;
use percent_encoding::percent_decode_str;
use serde::Deserialize;

use crate::rule;

/// A data source name, split without knowledge of the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dsn {
    /// `file:`, `sqlite://`, `sqlite:` or empty.
    pub prefix: &'static str,
    /// Path, as written.
    pub path: String,
    /// Text after the question mark; `None` without one.
    pub query: Option<String>,
}

impl Dsn {
    /// Splits a DSN.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let prefix = ["file:", "sqlite://", "sqlite:"].into_iter().find(|prefix| text.starts_with(prefix));
        let prefix = prefix.unwrap_or_default();
        let rest = &text[prefix.len()..];
        match rest.split_once('?') {
            Some((path, query)) => Self { prefix, path: path.to_owned(), query: Some(query.to_owned()) },
            None => Self { prefix, path: rest.to_owned(), query: None },
        }
    }

    /// The DSN with another path.
    #[must_use]
    pub fn with_path(&self, path: &str) -> String {
        let query = self.query.as_ref().map(|query| format!("?{query}"));
        format!("{}{path}{}", self.prefix, query.unwrap_or_default())
    }

    /// Whether the path names a database in memory, or a temporary one.
    #[must_use]
    pub fn is_memory(&self) -> bool {
        self.path.is_empty() || self.path.contains(":memory:")
    }

    /// Keys and values of the query, percent-decoded.
    pub fn keys(&self) -> impl Iterator<Item = (String, String)> {
        let query = self.query.as_deref().unwrap_or_default();
        query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        })
    }
}

/// Text with `%XX` and `+` decoded, as in the query of a URL.
fn decoded(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

/// A key that drivers document, from `rules/keys.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownKey {
    /// Spellings.
    pub names: Vec<String>,
    /// `query` or `option`.
    pub place: String,
    /// PRAGMA that the key sets.
    pub setting: Option<String>,
    /// `s` for seconds where the PRAGMA has milliseconds.
    pub unit: Option<String>,
    /// Drivers that document the key.
    #[serde(default)]
    pub drivers: Vec<String>,
    /// Versions from which on a driver reads the key: the last one, and earlier ones for their own major version.
    #[serde(default)]
    pub since: BTreeMap<String, Vec<Version>>,
    /// Whether the key is a parameter of SQLite's own URI.
    #[serde(default)]
    pub uri: bool,
    /// Whether the value is a PRAGMA: `name(value)` or `name=value`.
    #[serde(default)]
    pub pragma: bool,
}

static KEYS: LazyLock<Vec<KnownKey>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        #[serde(default)]
        key: Vec<KnownKey>,
    }
    toml::from_str::<File>(rule::file("keys.toml")).map_or_else(|_| Vec::new(), |file| file.key)
});

/// Known keys of this name in this place: several drivers may give one name different meanings.
pub(crate) fn find(name: &str, place: &str) -> impl Iterator<Item = &'static KnownKey> {
    KEYS.iter().filter(move |key| key.place == place && key.names.iter().any(|known| known == name))
}

/// Name and value of a PRAGMA in the value of a key: `busy_timeout(5000)`, `busy_timeout=5000`.
pub(crate) fn pragma(value: &str) -> Option<(String, String)> {
    let value = value.trim();
    let (name, rest) = value.split_once(['(', '='])?;
    let rest = rest.strip_suffix(')').unwrap_or(rest);
    Some((name.trim().to_lowercase(), rest.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dsn_is_split_and_put_together_again() {
        for text in
            ["file:app.db?_txlock=immediate&x", "app.db", "sqlite://data/app.db?mode=rwc", ":memory:", "file:?a=b"]
        {
            let dsn = Dsn::parse(text);
            assert_eq!(dsn.with_path(&dsn.path), text);
        }
        let dsn = Dsn::parse("file:app.db?_pragma=busy_timeout(5000)&_pragma=journal_mode%28WAL%29&flag&a=b+c");
        let keys: Vec<_> = dsn.keys().collect();
        let expected =
            [("_pragma", "busy_timeout(5000)"), ("_pragma", "journal_mode(WAL)"), ("flag", ""), ("a", "b c")];
        assert_eq!(keys, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert!(Dsn::parse(":memory:").is_memory() && Dsn::parse("file::memory:?cache=shared").is_memory());
        assert_eq!(decoded("100%"), "100%");
        assert_eq!(decoded("%zz%41"), "%zzA");
        assert_eq!(decoded("%2B+%c3%bc%ff"), "+ ü\u{fffd}");
    }

    #[test]
    fn a_pragma_is_written_with_parentheses_or_equals() {
        let expected = Some(("busy_timeout".to_owned(), "5000".to_owned()));
        assert_eq!(pragma("busy_timeout(5000)"), expected);
        assert_eq!(pragma(" busy_timeout = 5000"), expected);
        assert_eq!(pragma("optimize"), None);
    }
}
