//! Durability levels of servers by their settings, on the same scale as SQLite's.
//!
//! Sources: PostgreSQL's manual, 30.4 "Asynchronous Commit" and 20.5 "Write Ahead Log" (`fsync`, `full_page_writes`,
//! `synchronous_commit`, `wal_writer_delay`); MariaDB's "InnoDB System Variables" (`innodb_flush_log_at_trx_commit`,
//! `innodb_doublewrite`). They apply to disks that keep acknowledged writes, and in a cluster to each node by itself.

use litelab_protocol::Value;

use super::{Durability, Level};
use crate::setting::{same_word, switch};

pub(super) fn postgres(read: &dyn Fn(&str) -> Option<Value>) -> Option<Level> {
    let synced = switch(&read("fsync")?)? && switch(&read("full_page_writes")?)?;
    let waits = !same_word(&read("synchronous_commit")?.to_string(), "off");
    let durability = match (synced, waits) {
        (true, true) => Durability::D4,
        (true, false) => Durability::D2,
        // Without fsync, written data is still in the kernel if only the process dies. Power loss leaves the files in
        // any state, and so do pages torn in the middle of a write.
        (false, _) => Durability::D1,
    };
    let caveat =
        "a crash of the server may take the commits of the last three wal_writer_delay (200 ms unless set otherwise)";
    Some(Level { durability, caveat: (!waits).then_some(caveat) })
}

pub(super) fn innodb(read: &dyn Fn(&str) -> Option<Value>) -> Option<Level> {
    let flush = read("innodb_flush_log_at_trx_commit")?.integer()?;
    let whole = read("innodb_doublewrite").as_ref().and_then(switch)?;
    let durability = match flush {
        _ if !whole => Durability::D1,
        1 | 3 => Durability::D4,
        0 | 2 => Durability::D2,
        _ => return None,
    };
    let caveat = "a crash of the server may take the commits of the last second";
    Some(Level { durability, caveat: (flush == 0).then_some(caveat) })
}

#[cfg(test)]
mod tests {
    use litelab_protocol::Dialect;

    use super::*;

    fn level(dialect: Dialect, settings: &[(&str, &str)]) -> Option<(Durability, bool)> {
        let read = |name: &str| settings.iter().find(|(n, _)| *n == name).map(|(_, value)| Value::from(*value));
        Level::reported(dialect, &read).map(|level| (level.durability, level.caveat.is_some()))
    }

    #[test]
    fn each_setting_has_its_level() {
        let postgres = |commit, fsync, pages| {
            level(Dialect::Postgres, &[("synchronous_commit", commit), ("fsync", fsync), ("full_page_writes", pages)])
        };
        assert_eq!(postgres("on", "on", "on"), Some((Durability::D4, false)));
        assert_eq!(postgres("local", "on", "on"), Some((Durability::D4, false)));
        assert_eq!(postgres("off", "on", "on"), Some((Durability::D2, true)));
        assert_eq!(postgres("on", "off", "on"), Some((Durability::D1, false)));
        assert_eq!(postgres("on", "on", "off"), Some((Durability::D1, false)));
        assert_eq!(postgres("on", "perhaps", "on"), None);
        let innodb = |flush, twice| {
            level(Dialect::Mysql, &[("innodb_flush_log_at_trx_commit", flush), ("innodb_doublewrite", twice)])
        };
        assert_eq!(innodb("1", "1"), Some((Durability::D4, false)));
        assert_eq!(innodb("2", "ON"), Some((Durability::D2, false)));
        assert_eq!(innodb("0", "ON"), Some((Durability::D2, true)));
        assert_eq!(innodb("1", "0"), Some((Durability::D1, false)));
        assert_eq!(level(Dialect::Mysql, &[("innodb_flush_log_at_trx_commit", "1")]), None);
        assert_eq!(level(Dialect::Sqlite, &[]), None);
    }
}
