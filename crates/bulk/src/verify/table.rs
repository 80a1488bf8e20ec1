//! The table to verify, and its division among threads.

use crate::BulkError;
use litelab_database::SourceError;
use rusqlite::{Connection, OptionalExtension, ffi};
use std::path::Path;

/// Smallest number of rows for which a part is worth a separate query.
pub(super) const SMALLEST_PART: u64 = 20_000;

/// Number of parts per thread, enough that the last ones end almost together.
const PARTS_PER_THREAD: u64 = 32;

/// Converts the error of a first read; opening alone reads nothing.
pub(super) fn unreadable(path: &Path, error: rusqlite::Error) -> BulkError {
    match error.sqlite_error() {
        Some(sqlite) if sqlite.extended_code == ffi::SQLITE_NOTADB => SourceError::NotADatabase(path.into()).into(),
        _ => BulkError::Sqlite { doing: "look at the table", error },
    }
}

/// The `bench` table.
#[derive(Debug)]
pub(super) struct Table {
    /// Column whose ranges form the parts: the rowid by a name that no column hides, or `ID`. `None` if the table is
    /// read as a whole.
    key: Option<&'static str>,
    /// Smallest and largest key; `None` without rows.
    range: Option<(i64, i64)>,
}

/// A part of the table: keys from `from` on and below `below`, unbounded if `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    from: Option<i64>,
    below: Option<i64>,
}

impl Part {
    /// Values to bind, in the order of [`Table::select`].
    pub(super) fn bounds(self) -> impl Iterator<Item = i64> {
        self.from.into_iter().chain(self.below)
    }
}

impl Table {
    /// Begins a read transaction and finds the table in it.
    pub(super) fn look(conn: &Connection, path: &Path) -> Result<Self, BulkError> {
        let failed = |error| unreadable(path, error);
        conn.execute_batch("BEGIN").map_err(failed)?;
        let without_rowid: Option<bool> = conn
            .query_row(
                "SELECT wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name = 'bench' COLLATE NOCASE",
                [],
                |row| row.get(0),
            )
            .optional()
            .map_err(failed)?;
        let missing = |what: &str| BulkError::NoTable { path: path.into(), what: what.into() };
        let without_rowid = without_rowid.ok_or_else(|| missing("table `bench`"))?;

        let mut columns = conn.prepare("SELECT lower(name), pk FROM pragma_table_xinfo('bench')").map_err(failed)?;
        let columns: Vec<(String, i64)> =
            columns.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).and_then(Iterator::collect).map_err(failed)?;
        let has = |name: &str| columns.iter().any(|(column, _)| column == name);
        for name in ["ID", "rand", "hash"] {
            if !has(&name.to_lowercase()) {
                return Err(missing(&format!("column `{name}` in its table `bench`")));
            }
        }
        let key = if without_rowid {
            // Ranges of ID are efficient only if the rows are stored in its order.
            columns.iter().any(|(column, pk)| column == "id" && *pk == 1).then_some("ID")
        } else {
            ["rowid", "_rowid_", "oid"].into_iter().find(|name| !has(name))
        };
        let mut table = Self { key, range: None };
        table.range = table.find_range(conn).map_err(failed)?;
        Ok(table)
    }

    fn find_range(&self, conn: &Connection) -> rusqlite::Result<Option<(i64, i64)>> {
        let Some(key) = self.key else { return Ok(None) };
        // Not min() and max(): an ID may be text or a real number, which belong to the unbounded ends.
        let end = |order: &str| {
            conn.query_row(
                &format!("SELECT {key} FROM bench WHERE {key} BETWEEN ?1 AND ?2 ORDER BY {key} {order} LIMIT 1"),
                [i64::MIN, i64::MAX],
                |row| Ok(row.get_ref(0)?.as_i64().ok()),
            )
            .optional()
        };
        Ok(end("ASC")?.flatten().zip(end("DESC")?.flatten()))
    }

    /// Begins a read transaction for a further connection of the same verification.
    pub(super) fn begin(&self, conn: &Connection) -> Result<(), BulkError> {
        // BEGIN alone takes no snapshot; the first read does.
        conn.execute_batch("BEGIN; SELECT 1 FROM bench LIMIT 1").map_err(BulkError::doing("begin to read"))
    }

    /// Number of rows that the range of keys has room for.
    pub(super) fn estimate(&self) -> u64 {
        self.range.map_or(0, |(low, high)| high.abs_diff(low).saturating_add(1))
    }

    /// Number of threads, at most the number of parts worth a query.
    pub(super) fn useful_threads(&self, wanted: usize) -> usize {
        let parts = usize::try_from(self.estimate() / SMALLEST_PART).unwrap_or(usize::MAX);
        wanted.min(parts.max(1))
    }

    /// Divides the range of keys evenly. The parts cover every possible key.
    pub(super) fn parts(&self, threads: usize) -> Vec<Part> {
        let count = (self.estimate() / SMALLEST_PART).clamp(1, PARTS_PER_THREAD * threads as u64);
        let Some((low, _)) = self.range else { return vec![Part { from: None, below: None }] };
        let step = self.estimate() / count;
        // The cut is below the largest key, so neither product nor sum overflows.
        let cut = |number: u64| low.wrapping_add_unsigned(number * step);
        (0..count)
            .map(|number| Part {
                from: (number > 0).then(|| cut(number)),
                below: (number + 1 < count).then(|| cut(number + 1)),
            })
            .collect()
    }

    /// Query of a part, in the order of the table.
    pub(super) fn select(&self, part: Part) -> String {
        let mut sql = String::from("SELECT ID, rand, hash FROM bench");
        if let Some(key) = self.key {
            match (part.from, part.below) {
                (None, None) => {}
                (Some(_), None) => sql.push_str(&format!(" WHERE {key} >= ?1")),
                (None, Some(_)) => sql.push_str(&format!(" WHERE {key} < ?1")),
                (Some(_), Some(_)) => sql.push_str(&format!(" WHERE {key} >= ?1 AND {key} < ?2")),
            }
            sql.push_str(&format!(" ORDER BY {key}"));
        }
        sql
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuts(low: i64, high: i64, threads: usize) -> Vec<Part> {
        Table { key: Some("rowid"), range: Some((low, high)) }.parts(threads)
    }

    #[test]
    fn parts_join_and_are_open_at_the_ends() {
        for (low, high) in [(0, 9_999_999), (-5, 700_000), (i64::MIN, i64::MAX), (i64::MAX - 90_000, i64::MAX), (3, 3)]
        {
            let parts = cuts(low, high, 2);
            assert_eq!(parts[0].from, None);
            assert_eq!(parts[parts.len() - 1].below, None);
            for pair in parts.windows(2) {
                assert_eq!(pair[0].below, pair[1].from);
                let cut = pair[1].from.expect("inner");
                assert!(low < cut && cut <= high, "{low} {cut} {high}");
            }
            let inner: Vec<_> = parts.iter().filter_map(|part| part.from).collect();
            assert!(inner.is_sorted_by(|a, b| a < b));
        }
        assert_eq!(cuts(0, 9_999_999, 2).len(), 64);
        assert_eq!(cuts(0, 19_999, 8).len(), 1);
    }

    #[test]
    fn a_small_table_needs_one_thread() {
        let table = |rows: i64| Table { key: Some("rowid"), range: Some((0, rows - 1)) };
        assert_eq!(table(100).useful_threads(8), 1);
        assert_eq!(table(100_000).useful_threads(8), 5);
        assert_eq!(table(10_000_000).useful_threads(8), 8);
        assert_eq!(Table { key: None, range: None }.useful_threads(8), 1);
    }
}
