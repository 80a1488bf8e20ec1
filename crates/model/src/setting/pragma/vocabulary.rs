//! Properties of a PRAGMA: its kind, its values, and the lifetime of a setting.

use litelab_protocol::Value;

/// One PRAGMA of SQLite 3.54.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pragma {
    /// Name in lower case. SQLite ignores case in names.
    pub name: &'static str,
    /// Kind of the PRAGMA: setting, action or query.
    pub kind: Kind,
    /// Whether a profile can use the PRAGMA.
    pub standing: Standing,
    /// Description of the PRAGMA in one line, without a full stop.
    pub summary: &'static str,
}

/// The effect of a PRAGMA with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The PRAGMA has a value that can be set and, except for `case_sensitive_like`, read back.
    Setting {
        /// Location of the value.
        scope: Scope,
        /// The values that litelab accepts.
        values: Values,
    },
    /// The PRAGMA performs an operation. Its argument is optional.
    Action {
        /// The accepted arguments; `None` if there is no argument.
        argument: Option<Values>,
    },
    /// The PRAGMA reports something. A value is ignored or selects the object to report on.
    Query,
}

/// Location of a setting's value, which determines its lifetime and the affected connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The connection that set it. A profile has to set it on every connection.
    Connection,
    /// The database file: the value outlives the connection. Of the journal modes only WAL does.
    File,
    /// The process, with all its connections.
    Process,
    /// The current transaction, with which the value ends.
    Transaction,
}

/// Whether a PRAGMA belongs in a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Supported in profiles.
    Current,
    /// Deprecated by SQLite; builds can omit it.
    Deprecated {
        /// The replacement, worded to follow "use".
        instead: &'static str,
    },
    /// Exists only in debug or other special builds of SQLite; in other builds the name is unknown.
    SpecialBuild {
        /// Compile-time option that the build needs.
        condition: &'static str,
    },
}

/// The values that litelab accepts: deliberately fewer than SQLite does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// on/off, true/false, yes/no, 1/0. The value reads back as 1 or 0.
    Boolean,
    /// One of a few words.
    Words {
        /// The words in display order: the canonical spelling, which is also SQLite's if it reports words, then others.
        words: &'static [&'static [&'static str]],
        /// The form in which SQLite reports the value.
        reports: Reports,
    },
    /// An integer.
    Integer {
        /// Smallest valid value.
        min: i64,
        /// Largest valid value.
        max: i64,
        /// Unit of the number.
        unit: Unit,
    },
    /// A power of two from 512 to 65536, in bytes.
    PageSize,
    /// A boolean, or a number, of which 0 means off and any other on. SQLite reports a number of pages that also
    /// depends on `cache_size`, so only a lower bound is known.
    BooleanOrPages,
}

/// The form in which SQLite reports a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reports {
    /// SQLite reports the code of the word: its position in the list, from 0.
    Code {
        /// Number of codes, from 0, that SQLite also accepts as input.
        input: i64,
    },
    /// SQLite reports the word itself.
    Word,
}

/// Unit of a number.
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
    /// A count of rows or other objects.
    Count,
    /// A bit mask that has an effect only with bit 0x02 set (`optimize`).
    Mask,
    /// A number without meaning to SQLite.
    Plain,
}

impl Pragma {
    /// The valid values of a setting, or of an action with an argument.
    pub fn values(&self) -> Option<Values> {
        match self.kind {
            Kind::Setting { values, .. } => Some(values),
            Kind::Action { argument } => argument,
            Kind::Query => None,
        }
    }

    /// The value that SQLite reports, as a word if there is one: `full` for 2 of `synchronous`, `on` for 1 of a switch.
    pub fn in_words(&self, reported: &Value) -> String {
        let word = match (self.values(), reported.integer()) {
            (Some(Values::Words { words, reports: Reports::Code { .. } }), Some(code)) => {
                usize::try_from(code).ok().and_then(|code| words.get(code)).map(|word| word[0])
            }
            (Some(Values::Boolean), Some(0)) => Some("off"),
            (Some(Values::Boolean), Some(1)) => Some("on"),
            _ => None,
        };
        word.map_or_else(|| reported.to_string(), str::to_owned)
    }
}
