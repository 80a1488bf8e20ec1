//! What a PRAGMA is: its kind, its values, how long a setting lasts.

use super::table::TABLE;
use litelab_protocol::Value;

/// One PRAGMA of SQLite 3.54.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pragma {
    /// The name, in lower case. SQLite ignores case in names.
    pub name: &'static str,
    /// Setting, action or query.
    pub kind: Kind,
    /// Whether a profile may use it.
    pub standing: Standing,
    /// The compile-time condition without which a build lacks it; `None` for those of an ordinary build.
    pub only_in: Option<&'static str>,
    /// What it does, in one line without a full stop.
    pub summary: &'static str,
}

/// What a PRAGMA with a value does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Holds a value that can be set and, `case_sensitive_like` apart, read back.
    Setting {
        /// Where the value lives.
        scope: Scope,
        /// The values litelab accepts.
        values: Values,
    },
    /// Does something once. The argument may be left out.
    Action {
        /// The accepted arguments; `None` if there is no argument.
        argument: Option<Values>,
    },
    /// Reports something; a value is either ignored or names what to report on.
    Query,
}

/// Where a setting lives, and so how long it lasts and whom it touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The connection that set it. Every connection of a profile has to set it.
    Connection,
    /// The database file: it outlives the connection. Of the journal modes only WAL does.
    File,
    /// Every connection of the process.
    Process,
    /// The current transaction: gone at its end.
    Transaction,
}

/// Whether a PRAGMA belongs in a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Supported.
    Current,
    /// Deprecated by SQLite; builds may omit it.
    Deprecated {
        /// What to use instead, as the end of "use …".
        instead: &'static str,
    },
    /// Exists in debug or other special builds of SQLite only; elsewhere it is an unknown name.
    SpecialBuild,
}

/// The values that litelab accepts. Narrower than what SQLite swallows, on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// on/off, true/false, yes/no, 1/0. Reads back as 1 or 0.
    Boolean,
    /// One of a few words.
    Words {
        /// The words, in the order in which to list them.
        words: &'static [Word],
        /// What SQLite reports.
        reports: Reports,
        /// The codes that SQLite also takes as input. Not always all: `secure_delete = 2` is ON, not FAST.
        numbers: &'static [i64],
    },
    /// A whole number.
    Integer {
        /// Smallest accepted.
        min: i64,
        /// Largest accepted.
        max: i64,
        /// What it counts.
        unit: Unit,
    },
    /// A power of two.
    PowerOfTwo {
        /// Smallest accepted.
        min: i64,
        /// Largest accepted.
        max: i64,
        /// What it counts.
        unit: Unit,
    },
    /// A boolean, or a number that also turns it on (0 turns it off). Reported as a number of pages that depends
    /// on `cache_size` too, so only a lower bound is known.
    BooleanOrPages,
}

/// A word that a PRAGMA takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// The canonical spelling, which is also SQLite's own where it reports the word.
    pub text: &'static str,
    /// Other spellings with the same meaning.
    pub aliases: &'static [&'static str],
    /// The number SQLite reports for it, where it reports numbers.
    pub code: i64,
}

/// Whether SQLite reports a word as its code or as itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reports {
    /// The number.
    Code,
    /// The word.
    Word,
}

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Database pages.
    Pages,
    /// Database pages; KiB if negative.
    PagesOrKib,
    /// Bytes.
    Bytes,
    /// Milliseconds.
    Milliseconds,
    /// WAL frames, one per page.
    Frames,
    /// Rows, or other things that are just counted.
    Count,
    /// A bit mask of which bit 0x02 has to be set to do anything (`optimize`).
    Mask,
    /// A number that SQLite stores without a meaning.
    Plain,
}

impl Pragma {
    /// The accepted values, of settings and of actions with an argument.
    pub fn values(&self) -> Option<Values> {
        match self.kind {
            Kind::Setting { values, .. } => Some(values),
            Kind::Action { argument } => argument,
            Kind::Query => None,
        }
    }

    /// What SQLite reports, in words where it has some: `full` for 2 of `synchronous`, `on` for 1 of a switch.
    pub fn in_words(&self, reported: &Value) -> String {
        let word = match (self.values(), reported.integer()) {
            (Some(Values::Words { words, reports: Reports::Code, .. }), Some(code)) => {
                words.iter().find(|word| word.code == code).map(|word| word.text)
            }
            (Some(Values::Boolean), Some(0)) => Some("off"),
            (Some(Values::Boolean), Some(1)) => Some("on"),
            _ => None,
        };
        word.map_or_else(|| reported.to_string(), str::to_owned)
    }

    /// Whether it holds a value.
    pub fn is_setting(&self) -> bool {
        matches!(self.kind, Kind::Setting { .. })
    }

    /// Whether the value is fixed when the database file is first written, so that setting it on an existing
    /// database does nothing. A later VACUUM applies `auto_vacuum`, and `page_size` outside WAL mode; nothing
    /// changes `encoding`.
    pub fn fixed_once_created(&self) -> bool {
        matches!(self.name, "page_size" | "auto_vacuum" | "encoding")
    }
}

/// Every PRAGMA, sorted by name.
pub fn all() -> &'static [Pragma] {
    TABLE
}

/// Looks a name up, in any case.
pub fn find(name: &str) -> Option<&'static Pragma> {
    TABLE.iter().find(|pragma| pragma.name.eq_ignore_ascii_case(name))
}

/// The known name most like an unknown one, if any is like it at all.
///
/// Jaro-Winkler, because misspelt PRAGMAs are mostly right at the front; 0.85 keeps unrelated words out.
pub fn nearest(name: &str) -> Option<&'static str> {
    const ALIKE: f64 = 0.85;
    if name.chars().nth(crate::text::QUOTED).is_some() {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    TABLE
        .iter()
        .filter(|pragma| pragma.standing == Standing::Current)
        .map(|pragma| (strsim::jaro_winkler(&lower, pragma.name), pragma.name))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}
