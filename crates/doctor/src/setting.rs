//! A PRAGMA with its value as an application writes it, judged by litelab's check of settings.

use litelab_model::Scalar;
use litelab_model::setting::Setting;
use litelab_protocol::Dialect;

/// Parses a PRAGMA's value as written in SQL or in a DSN, quotes included.
///
/// # Errors
/// What is wrong with the name or the value, and what SQLite makes of it.
pub(crate) fn parse(name: &str, value: &str) -> Result<Setting, String> {
    let bare = value.trim();
    let quoted = |quote: char| bare.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    let bare = quoted('\'').or_else(|| quoted('"')).unwrap_or(bare).trim();
    let value = bare.parse().map_or_else(|_| Scalar::Text(bare.to_owned()), Scalar::Integer);
    Setting::parse(Dialect::Sqlite, name, &value, Some(litelab_database::pragma::tried))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_sqlite_reads_them() {
        for (name, value) in [
            ("busy_timeout", "5000"),
            ("journal_mode", "WAL"),
            ("journal_mode", "'wal'"),
            ("synchronous", "NORMAL"),
            ("synchronous", "1"),
            ("foreign_keys", "ON"),
            ("foreign_keys", "1"),
            ("foreign_keys", "true"),
            ("cache_size", "-64000"),
            ("cache_size", "2000"),
            ("mmap_size", "268435456"),
            ("temp_store", "MEMORY"),
            ("temp_store", "2"),
            ("wal_autocheckpoint", "1000"),
            ("journal_size_limit", "67108864"),
        ] {
            assert!(parse(name, value).is_ok(), "{name} = {value}: {:?}", parse(name, value));
        }
        for (name, value) in [
            ("synchronous", "WAL"),
            ("foreign_keys", "enabled"),
            ("busy_timeout", "'5 seconds'"),
            ("journal_mode", "wal2"),
            ("jurnal_mode", "wal"),
            ("temp_store", "ram"),
        ] {
            assert!(parse(name, value).is_err(), "{name} = {value}");
        }
    }
}
