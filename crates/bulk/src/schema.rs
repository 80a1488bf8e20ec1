//! The forms of the `bench` table.

use std::fmt;
use std::str::FromStr;

/// How the table keeps its `ID`. The content is the same in all three.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schema {
    /// As in sqlite3perf: `int` is not `INTEGER`, so `ID` is no alias of the rowid and costs an index of its own
    /// (<https://sqlite.org/lang_createtable.html#rowid>).
    #[default]
    Sqlite3perf,
    /// `ID` is the rowid: no second b-tree.
    IntegerPrimaryKey,
    /// Rows live in the b-tree of the primary key.
    WithoutRowid,
}

impl Schema {
    /// Every form, the default first.
    pub const ALL: [Self; 3] = [Self::Sqlite3perf, Self::IntegerPrimaryKey, Self::WithoutRowid];

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sqlite3perf => "sqlite3perf",
            Self::IntegerPrimaryKey => "integer-primary-key",
            Self::WithoutRowid => "without-rowid",
        }
    }

    /// The statement that creates the table.
    #[must_use]
    pub const fn sql(self) -> &'static str {
        match self {
            Self::Sqlite3perf => "CREATE TABLE bench(ID int PRIMARY KEY, rand TEXT, hash TEXT)",
            Self::IntegerPrimaryKey => "CREATE TABLE bench(ID INTEGER PRIMARY KEY, rand TEXT, hash TEXT)",
            Self::WithoutRowid => "CREATE TABLE bench(ID int PRIMARY KEY, rand TEXT, hash TEXT) WITHOUT ROWID",
        }
    }
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Schema {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|schema| schema.name() == text).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|schema| schema.name()).collect();
            format!("no schema is called `{text}`; there are {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for schema in Schema::ALL {
            assert_eq!(schema.name().parse(), Ok(schema));
        }
        let error = "rowid".parse::<Schema>().expect_err("no such schema");
        assert!(error.contains("without-rowid"), "{error}");
    }
}
