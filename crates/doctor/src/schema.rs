//! Facts about the schema, from SQLite's own table-valued PRAGMA functions (<https://sqlite.org/pragma.html#pragfunc>).

use std::collections::BTreeMap;

use litelab_database::quoted;
use rusqlite::{Connection, OptionalExtension};

use crate::facts::{ForeignKey, Index, Schema, Table};
use crate::words::words;

/// Reads the schema through a connection.
///
/// # Errors
/// Those of SQLite, as for a damaged schema.
pub fn look(connection: &Connection) -> rusqlite::Result<Schema> {
    let analysis = analysis(connection);
    let mut schema = Schema { analyzed: !analysis.is_empty(), ..Schema::default() };
    for (name, kind, columns, without_rowid, strict, text) in listed(connection)? {
        match kind.as_str() {
            "view" => schema.views += 1,
            "table" => {
                let listed = Table { name, columns, without_rowid, strict, ..Table::default() };
                let mut table = table(connection, listed, &text)?;
                // Of a table with an index that is not partial, every line of sqlite_stat1 begins with the rows.
                table.analyzed_rows = analysis
                    .iter()
                    .filter(|((of, _), _)| *of == table.name)
                    .filter_map(|(_, stat)| number(stat, 0))
                    .max();
                table.rows = (!without_rowid).then(|| most_rows(connection, &table)).flatten();
                table.indexes = indexes(connection, &table, &analysis, &mut schema.indexes)?;
                foreign_keys(connection, &table, &mut schema.foreign_keys)?;
                schema.tables.push(table);
            }
            _ => {}
        }
    }
    schema.triggers =
        connection.query_row("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'", [], |row| row.get(0))?;
    relate(&mut schema.indexes);
    for key in &mut schema.foreign_keys {
        judge_parent(connection, &schema.tables, &schema.indexes, key)?;
    }
    Ok(schema)
}

type Listed = (String, String, u32, bool, bool, String);

/// Name, kind, number of columns, WITHOUT ROWID, STRICT and text of the tables and views.
fn listed(connection: &Connection) -> rusqlite::Result<Vec<Listed>> {
    let sql = "SELECT l.name, l.type, l.ncol, l.wr, l.strict, coalesce(s.sql, '') FROM pragma_table_list AS l \
               LEFT JOIN sqlite_schema AS s ON s.name = l.name AND s.type = l.type \
               WHERE l.schema = 'main' AND l.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY l.name";
    connection
        .prepare(sql)?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?)))?
        .collect()
}

/// `sqlite_stat1` by table and index.
fn analysis(connection: &Connection) -> BTreeMap<(String, String), String> {
    let read = || -> rusqlite::Result<BTreeMap<_, _>> {
        connection
            .prepare("SELECT tbl, coalesce(idx, ''), coalesce(stat, '') FROM sqlite_stat1")?
            .query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))?
            .collect()
    };
    // Without ANALYZE there is no such table.
    read().unwrap_or_default()
}

/// The number at a position of a line of `sqlite_stat1`.
fn number(stat: &str, position: usize) -> Option<u64> {
    stat.split_whitespace().nth(position)?.parse().ok()
}

/// The greatest rowid. A rowid may be any number: where the file has no room for that many rows, those that ANALYZE has
/// counted, or else those that it has room for.
fn most_rows(connection: &Connection, table: &Table) -> Option<u64> {
    // No row takes less than six bytes of its page: a pointer of two, a cell of four.
    let room = "(SELECT page_count * page_size / 6 FROM pragma_page_count, pragma_page_size)";
    let sql = format!("SELECT (SELECT max(rowid) FROM {}), {room}", quoted(&table.name));
    let (greatest, room): (Option<i64>, i64) =
        connection.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?))).ok()?;
    let [greatest, room] = [greatest.unwrap_or_default(), room].map(|n| u64::try_from(n).unwrap_or_default());
    Some(if greatest > room { table.analyzed_rows.unwrap_or(room) } else { greatest })
}

/// Types that give the affinity NUMERIC although their names suggest text or a time
/// (<https://sqlite.org/datatype3.html#determination_of_column_affinity>). A date in text form is stored as text all the
/// same; `STRING` makes a number of `'007'`.
const MISLEADING: [&str; 2] = ["STRING", "STR"];
/// Words in the name of a column that holds an amount of money.
const MONEY: [&str; 8] = ["price", "amount", "balance", "cost", "total", "salary", "fee", "payment"];

/// Adds what the columns and the text of a table tell.
fn table(connection: &Connection, mut table: Table, text: &str) -> rusqlite::Result<Table> {
    let mut key = Vec::new();
    let sql = "SELECT name, type, \"notnull\", dflt_value, pk, hidden FROM pragma_table_xinfo(?1)";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([&table.name])?;
    while let Some(row) = rows.next()? {
        let (column, kind): (String, String) = (row.get(0)?, row.get::<_, Option<String>>(1)?.unwrap_or_default());
        let (not_null, default): (bool, Option<String>) = (row.get(2)?, row.get(3)?);
        let (position, hidden): (i64, i64) = (row.get(4)?, row.get(5)?);
        let upper = kind.to_uppercase();
        if position > 0 {
            key.push((position, column.clone(), upper.clone(), not_null));
        }
        // Generated columns have no need of a type.
        if kind.is_empty() && hidden == 0 {
            table.untyped.push(column.clone());
        }
        if MISLEADING.contains(&upper.as_str()) {
            table.misleading_types.push(column.clone());
        }
        if default.is_some_and(|default| default.starts_with('"')) {
            table.quoted_defaults.push(column.clone());
        }
        let float = ["FLOAT", "REAL", "DOUBLE"].iter().any(|word| upper.contains(word));
        let lower = column.to_lowercase();
        if float && lower.split('_').any(|word| MONEY.contains(&word)) {
            table.money_floats.push(column);
        }
    }
    key.sort();
    let tokens = words(text);
    table.autoincrement = tokens.iter().any(|token| token.eq_ignore_ascii_case("AUTOINCREMENT"));
    table.check_in = greatest_check(&tokens);
    if let [(_, _, kind, _)] = &key[..] {
        table.key_type = Some(kind.clone());
        // INTEGER PRIMARY KEY DESC is, by an old exception, no alias of the rowid: it alone has an index of its own.
        let own_index: bool = connection.query_row(
            "SELECT count(*) FROM pragma_index_list(?1) WHERE origin = 'pk'",
            [&table.name],
            |row| row.get(0),
        )?;
        table.rowid_key = kind == "INTEGER" && !table.without_rowid && !own_index;
    }
    table.nullable_key = key
        .iter()
        .filter(|(_, _, _, not_null)| !not_null && !table.rowid_key && !table.without_rowid)
        .map(|(_, column, _, _)| column.clone())
        .collect();
    table.key = key.into_iter().map(|(_, column, _, _)| column).collect();
    Ok(table)
}

/// Greatest number of constants in `IN (…)` within CHECK constraints.
fn greatest_check(tokens: &[&str]) -> usize {
    let (mut greatest, mut depth, mut check) = (0, 0_usize, None);
    let mut list: Option<(usize, usize)> = None;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "(" => {
                depth += 1;
                if check.is_some() && at > 0 && tokens[at - 1].eq_ignore_ascii_case("IN") {
                    list = Some((depth, 1));
                }
            }
            ")" => {
                if let Some((_, items)) = list.filter(|(opened, _)| *opened == depth) {
                    greatest = greatest.max(items);
                    list = None;
                }
                depth = depth.saturating_sub(1);
                check = check.filter(|opened| depth > *opened);
            }
            "," => {
                if let Some((opened, items)) = &mut list
                    && *opened == depth
                {
                    *items += 1;
                }
            }
            word if word.eq_ignore_ascii_case("CHECK") => check = Some(depth),
            _ => {}
        }
    }
    greatest
}

/// Adds the indexes of a table; returns their number.
fn indexes(
    connection: &Connection,
    table: &Table,
    analysis: &BTreeMap<(String, String), String>,
    all: &mut Vec<Index>,
) -> rusqlite::Result<usize> {
    let sql = "SELECT name, \"unique\", origin, partial FROM pragma_index_list(?1) ORDER BY name";
    let listed: Vec<(String, bool, String, bool)> = connection
        .prepare(sql)?
        .query_map([&table.name], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let count = listed.len();
    for (name, unique, origin, partial) in listed {
        let stat = analysis.get(&(table.name.clone(), name.clone()));
        all.push(Index {
            columns: columns(connection, &name)?,
            table: table.name.clone(),
            unique,
            partial,
            automatic: origin != "c",
            rows_per_value: stat.and_then(|stat| number(stat, 1)),
            name,
            ..Index::default()
        });
    }
    Ok(count)
}

/// Columns of an index in order, each with what distinguishes it: descending order and a collation other than BINARY.
fn columns(connection: &Connection, index: &str) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT name, \"desc\", coll FROM pragma_index_xinfo(?1) WHERE key ORDER BY seqno";
    connection
        .prepare(sql)?
        .query_map([index], |row| {
            let mut column = row.get::<_, Option<String>>(0)?.unwrap_or_else(|| "<expression>".into());
            let collation: Option<String> = row.get(2)?;
            if let Some(collation) = collation.filter(|collation| !collation.eq_ignore_ascii_case("BINARY")) {
                column.push_str(&format!(" COLLATE {collation}"));
            }
            if row.get(1)? {
                column.push_str(" DESC");
            }
            Ok(column)
        })?
        .collect()
}

/// Marks indexes that another one of the same table makes superfluous. A constraint's index stays, and a unique or
/// partial one has a purpose of its own; expressions are not compared.
fn relate(indexes: &mut [Index]) {
    let known: Vec<Index> = indexes.to_vec();
    for index in indexes.iter_mut() {
        if index.partial || index.automatic || index.columns.iter().any(|column| column.starts_with("<expression>")) {
            continue;
        }
        let others =
            known.iter().filter(|other| other.table == index.table && other.name != index.name && !other.partial);
        for other in others {
            if other.columns == index.columns {
                // Of two equal indexes one is superfluous: the one that enforces less, else the later name.
                let superfluous = (other.unique, other.automatic) > (index.unique, index.automatic)
                    || ((other.unique, other.automatic) == (index.unique, index.automatic) && other.name < index.name);
                if superfluous {
                    index.duplicate_of = Some(other.name.clone());
                }
            } else if !index.unique && other.columns.starts_with(&index.columns) {
                index.prefix_of.get_or_insert_with(|| other.name.clone());
            }
        }
    }
}

fn foreign_keys(connection: &Connection, table: &Table, all: &mut Vec<ForeignKey>) -> rusqlite::Result<()> {
    let sql = "SELECT id, \"table\", \"from\", \"to\", on_delete FROM pragma_foreign_key_list(?1) ORDER BY id, seq";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([&table.name])?;
    let mut last = None;
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        if last != Some(id) {
            all.push(ForeignKey {
                table: table.name.clone(),
                parent: row.get(1)?,
                rows: table.rows,
                on_delete: row.get(4)?,
                ..ForeignKey::default()
            });
        }
        last = Some(id);
        if let Some(key) = all.last_mut() {
            key.columns.push(row.get(2)?);
            // Without columns the constraint means the primary key of the parent.
            key.parent_columns.extend(row.get::<_, Option<String>>(3)?);
        }
    }
    Ok(())
}

/// Name of a column of an index. For a key its order does not matter; SQLite requires the column's own collation, which
/// most indexes have.
fn bare(column: &str) -> &str {
    let column = column.strip_suffix(" DESC").unwrap_or(column);
    column.split_once(" COLLATE ").map_or(column, |(name, _)| name)
}

fn judge_parent(
    connection: &Connection,
    tables: &[Table],
    indexes: &[Index],
    key: &mut ForeignKey,
) -> rusqlite::Result<()> {
    let same = |a: &str, b: &str| a.eq_ignore_ascii_case(b);
    let begins = |index: &&Index| {
        let first: Vec<&str> = index.columns.iter().take(key.columns.len()).map(|column| bare(column)).collect();
        first.len() == key.columns.len() && key.columns.iter().all(|column| first.iter().any(|one| same(one, column)))
    };
    let own = tables.iter().find(|table| same(&table.name, &key.table));
    let is_rowid =
        own.is_some_and(|table| table.rowid_key && key.columns.len() == 1 && same(&table.key[0], &key.columns[0]));
    let of_table = indexes.iter().filter(|index| same(&index.table, &key.table) && !index.partial);
    key.indexed = is_rowid || of_table.into_iter().any(|index| begins(&index));
    let parent = tables.iter().find(|table| same(&table.name, &key.parent));
    let Some(parent) = parent else {
        // A virtual table is not in the list, and is a parent that exists.
        let exists: Option<i64> = connection
            .query_row("SELECT 1 FROM sqlite_schema WHERE name = ?1 COLLATE NOCASE", [&key.parent], |row| row.get(0))
            .optional()?;
        (key.parent_exists, key.parent_unique) = (exists.is_some(), true);
        return Ok(());
    };
    key.parent_exists = true;
    if key.parent_columns.is_empty() {
        key.parent_columns.clone_from(&parent.key);
    }
    let equal = |columns: &[String]| {
        columns.len() == key.parent_columns.len()
            && key.parent_columns.iter().all(|column| columns.iter().any(|one| same(bare(one), column)))
    };
    let unique =
        |index: &Index| same(&index.table, &parent.name) && index.unique && !index.partial && equal(&index.columns);
    key.parent_unique = !key.parent_columns.is_empty() && (equal(&parent.key) || indexes.iter().any(unique));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(sql: &str) -> Schema {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
        connection.execute_batch(sql).unwrap();
        look(&connection).unwrap()
    }

    fn of<'a>(schema: &'a Schema, name: &str) -> &'a Table {
        schema.tables.iter().find(|table| table.name == name).unwrap()
    }

    #[test]
    fn keys_are_told_apart() {
        let schema = schema(
            "CREATE TABLE a(id INTEGER PRIMARY KEY); CREATE TABLE b(id INT PRIMARY KEY, x);
             CREATE TABLE c(id INTEGER PRIMARY KEY DESC); CREATE TABLE d(id INTEGER PRIMARY KEY AUTOINCREMENT);
             CREATE TABLE e(x TEXT, y TEXT NOT NULL, PRIMARY KEY (x, y)); CREATE TABLE f(x INT PRIMARY KEY) WITHOUT ROWID;
             CREATE TABLE g(\"a b\" TEXT, price REAL, s STRING, d TEXT DEFAULT \"none\", total_floors INT)",
        );
        let facts = |name| {
            let table = of(&schema, name);
            (table.rowid_key, table.key_type.as_deref(), table.nullable_key.len(), table.autoincrement)
        };
        assert_eq!(facts("a"), (true, Some("INTEGER"), 0, false));
        assert_eq!(facts("b"), (false, Some("INT"), 1, false));
        assert_eq!(facts("c"), (false, Some("INTEGER"), 1, false));
        assert_eq!(facts("d"), (true, Some("INTEGER"), 0, true));
        assert_eq!(facts("e"), (false, None, 1, false));
        assert_eq!(facts("f"), (false, Some("INT"), 0, false));
        assert!(of(&schema, "f").without_rowid && of(&schema, "b").untyped == ["x"]);
        let g = of(&schema, "g");
        assert_eq!(
            (g.money_floats.as_slice(), g.misleading_types.as_slice()),
            (&["price".to_owned()][..], &["s".to_owned()][..])
        );
        assert_eq!(g.quoted_defaults, ["d"]);
    }

    #[test]
    fn constants_of_a_check_are_counted() {
        let schema = schema(
            "CREATE TABLE a(s TEXT CHECK (s IN ('x', 'y', 'z', 'w')), n INT CHECK (n > 0));
             CREATE TABLE b(s TEXT, n INT CHECK (n IN (1, 2)), CHECK (length(s) IN (3, 4, 5)));
             CREATE TABLE c(s TEXT DEFAULT (1 IN (1,2,3)))",
        );
        assert_eq!(["a", "b", "c"].map(|name| of(&schema, name).check_in), [4, 3, 0]);
    }

    #[test]
    fn superfluous_indexes_are_found() {
        let schema = schema(
            "CREATE TABLE t(a INT, b INT, c TEXT UNIQUE);
             CREATE INDEX t_a ON t(a); CREATE INDEX t_ab ON t(a, b); CREATE INDEX t_ab2 ON t(a, b);
             CREATE INDEX t_a_desc ON t(a DESC); CREATE INDEX t_part ON t(a) WHERE b; CREATE INDEX t_c ON t(c);
             CREATE UNIQUE INDEX t_u ON t(b); CREATE INDEX t_e ON t(a + 1)",
        );
        let marks = |name: &str| {
            let index = schema.indexes.iter().find(|index| index.name == name).unwrap();
            (index.duplicate_of.as_deref(), index.prefix_of.is_some())
        };
        assert_eq!(marks("t_a"), (None, true));
        assert_eq!(marks("t_ab"), (None, false));
        assert_eq!(marks("t_ab2"), (Some("t_ab"), false));
        assert_eq!(marks("t_c"), (Some("sqlite_autoindex_t_1"), false));
        for other in ["t_a_desc", "t_part", "t_u", "t_e"] {
            assert_eq!(marks(other), (None, false), "{other}");
        }
    }

    #[test]
    fn foreign_keys_are_compared_with_both_tables() {
        let schema = schema(
            "CREATE TABLE p(id INTEGER PRIMARY KEY, code TEXT, n INT UNIQUE, mail TEXT COLLATE NOCASE UNIQUE);
             CREATE TABLE a(p INT REFERENCES p(id), q INT REFERENCES p, r TEXT REFERENCES p(code), s INT REFERENCES nowhere(x));
             CREATE TABLE b(id INTEGER PRIMARY KEY REFERENCES p(n)); CREATE INDEX a_q ON a(q, p);
             CREATE TABLE c(mail TEXT REFERENCES p(mail)); CREATE INDEX c_mail ON c(mail DESC)",
        );
        let facts: Vec<_> = schema
            .foreign_keys
            .iter()
            .map(|key| (key.columns.join(","), key.indexed, key.parent_exists, key.parent_unique))
            .collect();
        let expected =
            [("s", false, false, true), ("r", false, true, false), ("q", true, true, true), ("p", false, true, true)];
        let expected = expected.map(|(column, indexed, exists, unique)| (column.to_owned(), indexed, exists, unique));
        assert_eq!(facts[..4], expected);
        assert_eq!(facts[4], ("id".to_owned(), true, true, true));
        assert_eq!(
            facts[5],
            ("mail".to_owned(), true, true, true),
            "neither the order nor the collation of a column matters"
        );
    }

    #[test]
    fn rows_are_bounded_by_the_rowid_and_known_from_analyze() {
        let filled = "CREATE TABLE t(a); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
             INSERT INTO t SELECT i % 2 FROM n;";
        let schema_before = schema(filled);
        let before = of(&schema_before, "t");
        assert_eq!((before.rows, before.analyzed_rows, schema_before.analyzed), (Some(100), None, false));
        let schema = schema(&format!("{filled} CREATE INDEX t_a ON t(a); ANALYZE"));
        assert_eq!((of(&schema, "t").analyzed_rows, schema.indexes[0].rows_per_value), (Some(100), Some(50)));
        let far = self::schema("CREATE TABLE t(a); INSERT INTO t(rowid, a) VALUES (9000000000000000000, 1)");
        assert!(of(&far, "t").rows.is_some_and(|rows| (1..=4096).contains(&rows)), "no more than the file can hold");
    }
}
