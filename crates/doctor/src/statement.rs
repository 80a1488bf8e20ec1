//! Facts about statements: SQLite compiles them and explains their plans, and executes none.

use litelab_model::pragma::{self, Kind};
use litelab_protocol::Dialect;
use litelab_protocol::sql;
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::facts::{Scan, Schema, Statement};
use crate::setting;
use crate::words::words;

/// Longest text of a statement that is kept, in characters.
const LONGEST: usize = 200;
/// Number of columns from which `SELECT *` is [`Statement::star`].
const MANY_COLUMNS: u32 = 10;

/// Examines the statements of an SQL file on a connection to the database.
///
/// # Errors
/// If SQLite refuses a setting of the connection.
pub fn look(connection: &Connection, schema: &Schema, file: &str) -> rusqlite::Result<Vec<Statement>> {
    texts(file).into_iter().map(|(line, text)| one(connection, schema, text, line)).collect()
}

/// Statements of a file with the numbers of their lines, without the comments before them. A trigger is one.
pub(crate) fn texts(file: &str) -> Vec<(usize, &str)> {
    let begin = |text: &str| text.as_ptr() as usize - file.as_ptr() as usize;
    let mut parts = sql::statements(file, Dialect::Sqlite).into_iter();
    let mut found = Vec::new();
    while let Some(part) = parts.next() {
        let mut last = part;
        // Its body has statements, which end in semicolons, up to an END of its own.
        if is_trigger(part)
            && let Some(at) =
                parts.clone().position(|part| matches!(words(part)[..], [end] if end.eq_ignore_ascii_case("END")))
        {
            last = parts.nth(at).unwrap_or(part);
        }
        // The first word is a part of `file`.
        let Some(first) = words(part).first().map(|word| begin(word)) else { continue };
        let end = begin(last) + last.len();
        found.push((file[..first].matches('\n').count() + 1, file[first..end].trim()));
    }
    found
}

fn is_trigger(statement: &str) -> bool {
    let first: Vec<String> = words(statement).iter().take(3).map(|word| word.to_uppercase()).collect();
    match first.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["CREATE", "TEMP" | "TEMPORARY", third] => third == "TRIGGER",
        ["CREATE", second, ..] => second == "TRIGGER",
        _ => false,
    }
}

fn one(connection: &Connection, schema: &Schema, text: &str, line: usize) -> rusqlite::Result<Statement> {
    let words = words(text);
    let upper: Vec<String> = words.iter().map(|word| word.to_uppercase()).collect();
    let mut statement = Statement {
        sql: text.chars().take(LONGEST).collect(),
        line,
        verb: verb(&upper),
        filtered: upper.iter().any(|word| word == "WHERE"),
        limited: upper.iter().any(|word| word == "LIMIT"),
        // Before LIMIT it is the name of a column.
        offset: upper.iter().skip_while(|word| *word != "LIMIT").any(|word| word == "OFFSET"),
        leading_wildcard: upper.windows(2).any(|pair| pair[0] == "LIKE" && pair[1].starts_with("'%")),
        star: upper.starts_with(&["SELECT".into(), "*".into()])
            && schema.tables.iter().any(|table| table.columns > MANY_COLUMNS && names(&words, &table.name)),
        ..Statement::default()
    };
    if let Some((name, value)) = assignment(&words) {
        statement.wrong = setting::parse(&name, &value).err();
        statement.pragma = Some([name, value]);
        return Ok(statement);
    }
    if statement.verb == "PRAGMA" {
        // `main.name`
        let at = if words.get(2) == Some(&".") { 3 } else { 1 };
        let name = words.get(at).map(|name| name.to_lowercase()).unwrap_or_default();
        if pragma::find(&name).is_none() {
            statement.wrong = setting::parse(&name, "1").err();
        }
        return Ok(statement);
    }
    // The connection may open no other file.
    if ["ATTACH", "DETACH"].contains(&statement.verb.as_str()) {
        return Ok(statement);
    }
    statement.replaced_children = replaced_children(schema, &words);
    match connection.prepare(text) {
        Ok(prepared) => statement.writes = !prepared.readonly(),
        Err(error) => {
            statement.error = Some(litelab_database::describe(&error));
            return Ok(statement);
        }
    }
    // A name in double quotes that is no column is text, unless this exception is switched off.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    statement.double_quoted_text = connection.prepare(text).is_err();
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, true)?;
    if ["SELECT", "WITH", "INSERT", "UPDATE", "DELETE", "REPLACE", "VALUES"].contains(&upper[0].as_str()) {
        statement.plan = plan(connection, text)?;
        explain(&mut statement, schema, &words);
    }
    Ok(statement)
}

/// First words that tell the kind of a statement.
fn verb(upper: &[String]) -> String {
    let Some(first) = upper.first() else { return String::new() };
    let second = upper.get(1).map(String::as_str).unwrap_or_default();
    match (first.as_str(), second) {
        ("BEGIN", "IMMEDIATE" | "EXCLUSIVE" | "DEFERRED" | "CONCURRENT") | ("CREATE" | "DROP" | "ALTER", _) => {
            format!("{first} {second}")
        }
        _ => first.clone(),
    }
}

/// Children that change when `REPLACE INTO` or `INSERT OR REPLACE INTO` deletes a row of its table. The actions of foreign
/// keys follow as they do for `DELETE` (<https://sqlite.org/lang_conflict.html>).
fn replaced_children(schema: &Schema, words: &[&str]) -> Vec<String> {
    let is = |word: &str, name: &str| word.eq_ignore_ascii_case(name);
    let into = words.windows(2).position(|pair| is(pair[0], "REPLACE") && is(pair[1], "INTO"));
    let Some([table, rest @ ..]) = into.map(|at| &words[at + 2..]) else { return Vec::new() };
    // `main.name`
    let table = if let [".", name, ..] = rest { *name } else { *table };
    let table = table.trim_matches(['"', '`', '[', ']']);
    let keys = schema.foreign_keys.iter().filter(|key| is(&key.parent, table));
    let acts = keys.filter(|key| ["CASCADE", "SET NULL", "SET DEFAULT"].contains(&key.on_delete.as_str()));
    let mut children: Vec<String> = acts.map(|key| key.table.clone()).collect();
    children.dedup();
    children
}

/// Whether a statement names a table.
fn names(words: &[&str], table: &str) -> bool {
    words.iter().any(|word| word.trim_matches(['"', '`', '[', ']']).eq_ignore_ascii_case(table))
}

/// Name and value of a PRAGMA that sets something: `PRAGMA name = value` or `PRAGMA name(value)`.
fn assignment(words: &[&str]) -> Option<(String, String)> {
    let [first, rest @ ..] = words else { return None };
    if !first.eq_ignore_ascii_case("PRAGMA") {
        return None;
    }
    // `main.name`
    let rest = if rest.get(1) == Some(&".") { &rest[2..] } else { rest };
    let name = rest.first()?.to_lowercase();
    let value = match rest.get(1..)? {
        ["=", value @ ..] => value.concat(),
        ["(", value @ .., ")"] => value.concat(),
        _ => return None,
    };
    let settable = pragma::find(&name).is_none_or(|known| matches!(known.kind, Kind::Setting { .. }));
    settable.then_some((name, value))
}

fn plan(connection: &Connection, text: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {text}"))?;
    let mut rows = statement.raw_query();
    let mut plan = Vec::new();
    while let Some(row) = rows.next()? {
        plan.push(row.get("detail")?);
    }
    Ok(plan)
}

/// What the plan costs (<https://sqlite.org/eqp.html>).
fn explain(statement: &mut Statement, schema: &Schema, words: &[&str]) {
    // A scan in the order of a LIMIT ends after as many rows.
    let sorted = statement.plan.iter().any(|line| line.contains("TEMP B-TREE"));
    let bounded = statement.limited && !statement.filtered && !sorted;
    for line in statement.plan.clone() {
        if let Some(purpose) = line.strip_prefix("USE TEMP B-TREE FOR ") {
            statement.temp_b_trees.push(purpose.to_owned());
        } else if let Some(rest) = line.strip_prefix("SEARCH ")
            && rest.contains(" USING AUTOMATIC ")
        {
            statement.automatic_indexes.push(table_of(rest, schema, words));
        } else if let Some(rest) = line.strip_prefix("SCAN ")
            && !bounded
            && !is_partial(rest, schema)
        {
            let name = table_of(rest, schema, words);
            let Some(table) = schema.tables.iter().find(|table| table.name.eq_ignore_ascii_case(&name)) else {
                continue;
            };
            let rows = table.rows.or(table.analyzed_rows);
            statement.scanned_rows = statement.scanned_rows.max(rows.unwrap_or_default());
            statement.scans.push(Scan { table: table.name.clone(), rows });
        }
    }
}

/// Whether a line of a plan scans an index with a WHERE clause, which has the rows that are looked for and no others.
fn is_partial(line: &str, schema: &Schema) -> bool {
    let index = line.split_once(" INDEX ").map(|(_, name)| name.trim_end_matches(" LEFT-JOIN"));
    index.is_some_and(|name| schema.indexes.iter().any(|index| index.partial && index.name == name))
}

/// Table of a line of a plan, which names an alias where there is one.
fn table_of(line: &str, schema: &Schema, words: &[&str]) -> String {
    let shown = line.split(" USING ").next().unwrap_or(line).split(" VIRTUAL TABLE").next().unwrap_or(line).trim();
    let shown = shown.split(" LEFT-JOIN").next().unwrap_or(shown);
    let is_table = |name: &str| schema.tables.iter().any(|table| table.name.eq_ignore_ascii_case(name));
    if is_table(shown) {
        return shown.to_owned();
    }
    let bare: Vec<&str> = words.iter().map(|word| word.trim_matches(['"', '`', '[', ']'])).collect();
    let aliased = bare.windows(3).find_map(|three| {
        let direct = three[1].eq_ignore_ascii_case(shown) && is_table(three[0]);
        let with_as = three[1].eq_ignore_ascii_case("AS") && three[2].eq_ignore_ascii_case(shown) && is_table(three[0]);
        (direct || with_as).then(|| three[0].to_owned())
    });
    aliased.unwrap_or_else(|| shown.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema;

    fn statements(sql: &str) -> Vec<Statement> {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch(
                "CREATE TABLE note(id INTEGER PRIMARY KEY, user_id INT, text TEXT, created TEXT);
                 CREATE TABLE user(id INTEGER PRIMARY KEY, name TEXT);
                 CREATE INDEX note_by_user ON note(user_id);
                 CREATE TABLE tag(note_id INT REFERENCES note(id) ON DELETE CASCADE);
                 CREATE TABLE log(note_id INT REFERENCES note(id));
                 INSERT INTO note(id) VALUES (1000); INSERT INTO user(id) VALUES (10)",
            )
            .unwrap();
        let schema = schema::look(&connection).unwrap();
        look(&connection, &schema, sql).unwrap()
    }

    #[test]
    fn an_offset_is_behind_a_limit() {
        let found = statements("SELECT id AS offset FROM note WHERE id = 1; SELECT id FROM note LIMIT 10 OFFSET 90");
        assert_eq!(found.iter().map(|statement| statement.offset).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn lines_and_plans() {
        let found = statements(
            "-- a comment\nSELECT text FROM note WHERE user_id = ?;\n\nSELECT * FROM note n WHERE n.text = :t\n  ORDER BY n.created;\n\
             SELECT id FROM note ORDER BY id LIMIT 10;\nUPDATE note SET text = '' WHERE created < ?;",
        );
        let lines: Vec<_> = found.iter().map(|statement| statement.line).collect();
        assert_eq!(lines, [2, 4, 6, 7], "{found:#?}");
        assert_eq!((found[0].scanned_rows, found[0].plan.len(), found[0].writes), (0, 1, false));
        assert_eq!((found[1].scans[0].table.as_str(), found[1].scanned_rows), ("note", 1000));
        assert_eq!(found[1].temp_b_trees, ["ORDER BY"]);
        assert_eq!(found[2].scans.len(), 0, "a LIMIT without a condition");
        assert!(found[3].writes && found[3].scanned_rows == 1000, "{:?}", found[3]);
    }

    #[test]
    fn an_automatic_index_is_found() {
        let found = statements("SELECT * FROM user u JOIN note AS b ON b.text = u.name");
        let tables =
            [found[0].automatic_indexes.clone(), found[0].scans.iter().map(|scan| scan.table.clone()).collect()]
                .concat();
        assert!(
            !found[0].automatic_indexes.is_empty() && tables.iter().all(|table| table == "note" || table == "user"),
            "{found:?}"
        );
    }

    #[test]
    fn a_replaced_row_takes_its_children_with_it() {
        let found = statements(
            "INSERT OR REPLACE INTO note(id) VALUES (1); replace into main.\"note\"(id) VALUES (1);
             REPLACE INTO user(id) VALUES (1); INSERT INTO note(id) VALUES (1) ON CONFLICT DO NOTHING",
        );
        let children: Vec<_> = found.iter().map(|statement| statement.replaced_children.join(" ")).collect();
        assert_eq!(children, ["tag", "tag", "", ""]);
    }

    #[test]
    fn a_trigger_is_one_statement() {
        let found = statements(
            "CREATE TRIGGER x AFTER INSERT ON note BEGIN INSERT INTO log VALUES (new.id);
             UPDATE user SET name = 'x' WHERE id = new.user_id; END;
             SELECT id FROM user; CREATE TEMP TRIGGER y AFTER DELETE ON note BEGIN SELECT RAISE(ABORT, 'no; never'); END",
        );
        let lines: Vec<_> = found.iter().map(|statement| (statement.line, statement.error.is_none())).collect();
        assert_eq!(lines, [(1, true), (3, true), (3, true)], "{found:#?}");
    }

    #[test]
    fn another_file_is_not_opened_and_no_error() {
        let found =
            statements("ATTACH 'log.db' AS log; DETACH log; PRAGMA main.journal_mode; PRAGMA main.table_info(note)");
        assert!(found.iter().all(|statement| statement.error.is_none() && statement.wrong.is_none()), "{found:#?}");
    }

    #[test]
    fn a_partial_index_has_the_rows_that_are_looked_for() {
        let connection = Connection::open_in_memory().unwrap();
        let sql =
            "CREATE TABLE job(id INTEGER PRIMARY KEY, created, done, padding); INSERT INTO job(id) VALUES (50000);
                   CREATE INDEX job_pending ON job(created) WHERE done = 0";
        connection.execute_batch(sql).unwrap();
        let schema = schema::look(&connection).unwrap();
        let scanned = |sql: &str| look(&connection, &schema, sql).unwrap()[0].scanned_rows;
        assert_eq!(scanned("SELECT id FROM job WHERE done = 0 ORDER BY created LIMIT 1"), 0);
        assert!(scanned("SELECT id FROM job WHERE done = 1 ORDER BY created LIMIT 1") > 1000);
    }

    #[test]
    fn a_condition_behind_a_long_list_of_columns_is_seen() {
        let columns = vec!["text"; 60].join(", ");
        let found =
            statements(&format!("SELECT {columns} FROM note WHERE created < ? LIMIT 5; SELECT {columns} FROM note"));
        let seen: Vec<_> = found.iter().map(|statement| (statement.filtered, statement.limited)).collect();
        assert_eq!(seen, [(true, true), (false, false)]);
    }

    #[test]
    fn errors_literals_and_pragmas() {
        let found = statements(
            "SELECT absent FROM note; SELECT id FROM note WHERE text = \"hello\"; SELECT id FROM note WHERE \"text\" LIKE '%x';
             PRAGMA synchronous = WAL; PRAGMA main.busy_timeout(5000); PRAGMA jurnal_mode; PRAGMA journal_mode; BEGIN IMMEDIATE; COMMIT",
        );
        assert!(found[0].error.as_deref().is_some_and(|error| error.contains("no such column")), "{:?}", found[0]);
        assert!(found[1].double_quoted_text && !found[2].double_quoted_text && found[2].leading_wildcard);
        assert_eq!(found[3].pragma, Some(["synchronous".into(), "WAL".into()]));
        assert!(
            found[3].wrong.is_some()
                && found[4].wrong.is_none()
                && found[5].wrong.is_some()
                && found[6].wrong.is_none()
        );
        assert_eq!((found[7].verb.as_str(), found[8].verb.as_str()), ("BEGIN IMMEDIATE", "COMMIT"));
    }
}
