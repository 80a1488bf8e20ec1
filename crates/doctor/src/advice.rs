//! Indexes tried on a copy of the database: what one saves a statement, and what it costs.
//!
//! Work is counted in steps of SQLite's virtual machine (<https://sqlite.org/c3ref/c_stmtstatus_counter.html>), which
//! are the same each time. Columns are added to an index one at a time, each time the one that saves most.

use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use litelab_database::{describe, plain, quoted};
use rusqlite::types::Value;
use rusqlite::{Connection, ErrorCode, StatementStatus};

use crate::facts::{Advice, Schema, Statement, Work};
use crate::statement::texts;
use crate::words::words;

/// Tables with fewer rows are read in less time than an index saves.
const FEWEST_ROWS: u64 = 1000;
/// Most columns of an index.
const MOST_COLUMNS: usize = 3;
/// Most columns of a table that are tried.
const MOST_TRIED: usize = 12;
/// A first column must leave at most this share of the steps, and each further one this share of those.
const SHARES: [f64; 2] = [0.5, 0.8];
/// Longest execution of a statement. A statement that takes longer is interrupted, and its work is at least that.
const LONGEST: Duration = Duration::from_secs(5);
/// Time from which a statement is executed once and not three times.
const LONG: Duration = Duration::from_millis(300);
/// Longest work on all statements.
const IN_ALL: Duration = Duration::from_secs(120);
/// Steps between two looks at the clock.
const STEPS_BETWEEN: i32 = 10_000;

/// Tries indexes for those of the statements that scan or sort many rows, and adds what it found to them. The
/// connection is to a copy of its own.
///
/// # Errors
/// If SQLite refuses a setting, or cannot write the copy.
pub fn advise(
    copy: &mut Connection,
    schema: &Schema,
    file: &str,
    statements: &mut [Statement],
) -> rusqlite::Result<()> {
    copy.execute_batch("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF")?;
    let deadline = Arc::new(Mutex::new(Instant::now() + LONGEST));
    let watched = Arc::clone(&deadline);
    let late = move || watched.lock().is_ok_and(|deadline| Instant::now() > *deadline);
    copy.progress_handler(STEPS_BETWEEN, Some(late))?;
    let end = Instant::now() + IN_ALL;
    for ((_, text), statement) in texts(file).into_iter().zip(statements) {
        let reads = ["SELECT", "WITH", "UPDATE", "DELETE"].contains(&statement.verb.as_str());
        let tried = Tried { copy, deadline: &deadline, end, text };
        let tables = tried.tables(schema, statement)?;
        if statement.error.is_some() || !reads || tables.is_empty() {
            continue;
        }
        match tried.best(&tables) {
            Ok(advice) => statement.advice = advice,
            Err(reason) => statement.untried = Some(reason),
        }
    }
    Ok(())
}

/// A table and those of its columns that a statement names.
type Table = (String, Vec<String>);

/// One statement, on the copy.
struct Tried<'a> {
    copy: &'a Connection,
    deadline: &'a Mutex<Instant>,
    end: Instant,
    text: &'a str,
}

impl Tried<'_> {
    /// The large tables that the statement names, if it scans or sorts.
    fn tables(&self, schema: &Schema, statement: &Statement) -> rusqlite::Result<Vec<Table>> {
        let costly = !statement.scans.is_empty()
            || !statement.temp_b_trees.is_empty()
            || !statement.automatic_indexes.is_empty();
        if !costly {
            return Ok(Vec::new());
        }
        let named: Vec<String> = words(self.text).into_iter().map(bare).collect();
        let is_named = |name: &String| named.contains(&name.to_lowercase());
        let large = |rows: Option<u64>| rows.is_some_and(|rows| rows >= FEWEST_ROWS);
        let mut tables = Vec::new();
        for table in schema.tables.iter().filter(|t| large(t.rows.or(t.analyzed_rows)) && is_named(&t.name)) {
            let mut columns = self.copy.prepare_cached("SELECT name FROM pragma_table_info(?)")?;
            let columns = columns.query_map([&table.name], |row| row.get(0))?;
            let columns: Vec<String> = columns.collect::<rusqlite::Result<_>>()?;
            tables.push((table.name.clone(), columns.into_iter().filter(is_named).take(MOST_TRIED).collect()));
        }
        Ok(tables)
    }

    /// The best index, if one saves half of the work; otherwise the reason why none could be tried.
    fn best(&self, tables: &[Table]) -> Result<Option<Advice>, String> {
        self.in_time()?;
        let values = self.values(tables)?;
        let sqlite = |error: rusqlite::Error| describe(&error);
        let before = self.work(&values).map_err(sqlite)?;
        let mut best: Option<Advice> = None;
        for at in 0..MOST_COLUMNS {
            let candidates =
                tables.iter().flat_map(|(table, columns)| columns.iter().map(move |column| (table, column)));
            let mut found: Option<Advice> = None;
            for (table, column) in candidates {
                let mut columns = match &best {
                    Some(best) if best.table != *table || best.columns.contains(column) => continue,
                    Some(best) => best.columns.clone(),
                    None => Vec::new(),
                };
                columns.push(column.clone());
                self.in_time()?;
                let advice = self.with(table, columns, &before, &values).map_err(sqlite)?;
                if found.as_ref().is_none_or(|found| advice.after.steps < found.after.steps) {
                    found = Some(advice);
                }
            }
            let share = SHARES[usize::from(at > 0)];
            let bar = best.as_ref().map_or(before.steps, |best| best.after.steps) as f64 * share;
            match found {
                Some(found) if found.after.complete && (found.after.steps as f64) <= bar => best = Some(found),
                _ => break,
            }
        }
        Ok(best)
    }

    /// The work with an index, which is dropped again.
    fn with(&self, table: &str, columns: Vec<String>, before: &Work, values: &[Value]) -> rusqlite::Result<Advice> {
        let list: Vec<String> = columns.iter().map(|column| plain(column)).collect();
        let name = plain(&format!("{table}_by_{}", columns.join("_")));
        let target = format!("{}({})", plain(table), list.join(", "));
        let sql = format!("CREATE INDEX {name} ON {target}");
        let used = self.bytes()?;
        self.limit(IN_ALL);
        self.copy.execute_batch(&format!("CREATE INDEX temporary_of_litelab ON {target}"))?;
        let bytes = self.bytes()? - used;
        let after = self.work(values);
        self.copy.execute_batch("DROP INDEX temporary_of_litelab")?;
        Ok(Advice { sql, table: table.to_owned(), columns, before: before.clone(), after: after?, bytes })
    }

    /// Bytes in use.
    fn bytes(&self) -> rusqlite::Result<u64> {
        let pragma = |name| self.copy.pragma_query_value(None, name, |row| row.get::<_, u32>(0).map(u64::from));
        Ok((pragma("page_count")? - pragma("freelist_count")?) * pragma("page_size")?)
    }

    fn in_time(&self) -> Result<(), String> {
        if Instant::now() > self.end {
            return Err(format!("the {} seconds for all statements are over", IN_ALL.as_secs()));
        }
        Ok(())
    }

    fn limit(&self, time: Duration) {
        if let Ok(mut deadline) = self.deadline.lock() {
            *deadline = Instant::now() + time;
        }
    }

    /// The work of the statement: the median time of three executions, or of one that is long.
    fn work(&self, values: &[Value]) -> rusqlite::Result<Work> {
        let first = self.once(values)?;
        if !first.complete || first.seconds > LONG.as_secs_f64() {
            return Ok(first);
        }
        let mut all = [first, self.once(values)?, self.once(values)?];
        all.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let [_, median, _] = all;
        Ok(median)
    }

    /// Executes the statement to its end and takes back what it wrote.
    fn once(&self, values: &[Value]) -> rusqlite::Result<Work> {
        self.copy.execute_batch("BEGIN")?;
        let work = self.execute(values);
        // An interrupted write has ended the transaction already.
        if !self.copy.is_autocommit() {
            self.copy.execute_batch("ROLLBACK")?;
        }
        work
    }

    fn execute(&self, values: &[Value]) -> rusqlite::Result<Work> {
        self.limit(LONGEST);
        let mut prepared = self.copy.prepare(self.text)?;
        for (at, value) in values.iter().enumerate() {
            prepared.raw_bind_parameter(at + 1, value)?;
        }
        let began = Instant::now();
        let mut rows = prepared.raw_query();
        let complete = loop {
            match rows.next() {
                Ok(Some(_)) => {}
                Ok(None) => break true,
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => break false,
                Err(error) => return Err(error),
            }
        };
        drop(rows);
        let seconds = began.elapsed().as_secs_f64();
        let steps = u64::from(prepared.get_status(StatementStatus::VmStep).cast_unsigned());
        Ok(Work { steps, seconds, complete })
    }

    /// Values for the parameters: for each the value in the middle row of the column that it is compared with.
    fn values(&self, tables: &[Table]) -> Result<Vec<Value>, String> {
        let sqlite = |error: rusqlite::Error| describe(&error);
        let prepared = self.copy.prepare(self.text).map_err(sqlite)?;
        let mut words = words(self.text);
        let parameters = parameters(self.text, &words);
        parameters.iter().flat_map(|(at, _)| at.clone()).for_each(|at| words[at] = "?");
        let mut values: Vec<Option<Value>> = vec![None; prepared.parameter_count()];
        let mut anonymous = 0;
        for (at, name) in parameters {
            let index = match name {
                "?" => anonymous + 1,
                _ => prepared.parameter_index(name).map_err(sqlite)?.unwrap_or_default(),
            };
            anonymous = anonymous.max(index);
            let Some(slot) = values.get_mut(index.wrapping_sub(1)).filter(|slot| slot.is_none()) else { continue };
            *slot = self.value(&words, at, tables).map_err(sqlite)?;
        }
        let missing = values.iter().position(Option::is_none);
        if let Some(at) = missing {
            return Err(format!("parameter {} is compared with no column; write a value in its place", at + 1));
        }
        Ok(values.into_iter().flatten().collect())
    }

    /// Value for the parameter that is these words; all words of parameters are `?`.
    fn value(&self, words: &[&str], at: Range<usize>, tables: &[Table]) -> rusqlite::Result<Option<Value>> {
        let before = words[..at.start].iter().rev().map(|word| bare(word)).find(|word| !is_between(word));
        let after = words[at.end..].iter().map(|word| bare(word)).find(|word| !is_operator(word));
        let of_column = |name: &str| {
            let all = tables.iter().flat_map(|(table, columns)| columns.iter().map(move |column| (table, column)));
            all.into_iter().find(|(_, column)| column.eq_ignore_ascii_case(name))
        };
        match before.as_deref() {
            Some("limit") => return Ok(Some(Value::Integer(10))),
            Some("offset") => return Ok(Some(Value::Integer(0))),
            _ => {}
        }
        let Some((table, column)) = [before, after].into_iter().flatten().find_map(|name| of_column(&name)) else {
            return Ok(None);
        };
        let (table, column) = (quoted(table), quoted(column));
        self.limit(LONGEST);
        let middle = format!(
            "SELECT {column} FROM {table} WHERE {column} IS NOT NULL LIMIT 1 \
             OFFSET (SELECT count({column}) / 2 FROM {table})"
        );
        self.copy.query_row(&middle, [], |row| row.get(0)).map(Some).or_else(|error| match error {
            rusqlite::Error::QueryReturnedNoRows => Ok(Some(Value::Null)),
            other => Err(other),
        })
    }
}

/// Parameters of a statement: their words, and the name as SQLite knows it, `?` for one without.
fn parameters<'a>(text: &'a str, words: &[&'a str]) -> Vec<(Range<usize>, &'a str)> {
    let start = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).filter(|next| start(next) == start(word) + word.len());
        match (*word, next) {
            ("?", Some(next)) if next.bytes().all(|byte| byte.is_ascii_digit()) => {
                found.push((at..at + 2, &text[start(word)..start(next) + next.len()]));
            }
            ("?", _) => found.push((at..at + 1, "?")),
            ("@", Some(next)) => found.push((at..at + 2, &text[start(word)..start(next) + next.len()])),
            _ if word.len() > 1 && word.starts_with([':', '$']) && !word.starts_with("::") => {
                found.push((at..at + 1, *word));
            }
            _ => {}
        }
    }
    found
}

/// A name without quotes, in lower case.
fn bare(word: &str) -> String {
    word.trim_matches(['"', '`', '[', ']']).to_lowercase()
}

fn is_operator(word: &str) -> bool {
    ["=", "<", ">", "!"].contains(&word)
}

/// Whether a word may stand between a column and a parameter that it is compared with.
fn is_between(word: &str) -> bool {
    is_operator(word) || ["?", "(", ",", "in", "between", "and", "like", "glob", "is", "not"].contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{schema, statement};

    fn advised(sql: &str) -> Vec<Statement> {
        let mut copy = Connection::open_in_memory().unwrap();
        copy.execute_batch(
            "CREATE TABLE note(id INTEGER PRIMARY KEY, user_id INT, \"group\" TEXT, created INT, text TEXT);
             INSERT INTO note(user_id, \"group\", created, text)
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
             SELECT i % 100, 'g' || (i % 7), i * 7919 % 20000, hex(i) FROM n;
             CREATE TABLE small(a)",
        )
        .unwrap();
        let schema = schema::look(&copy).unwrap();
        let mut statements = statement::look(&copy, &schema, sql).unwrap();
        advise(&mut copy, &schema, sql, &mut statements).unwrap();
        let left: i64 = copy.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
        let rows: i64 = copy.query_row("SELECT count(*) FROM note", [], |row| row.get(0)).unwrap();
        assert_eq!((left, rows), (2, 20_000), "no index is left and no row changed");
        statements
    }

    #[test]
    fn the_index_that_saves_most_is_found() {
        let found = advised(
            "SELECT text FROM note WHERE user_id = ? AND created > 19000;
             SELECT id FROM note WHERE text IS NOT NULL ORDER BY created DESC LIMIT :most;
             DELETE FROM note WHERE created < 10;
             SELECT text FROM note WHERE \"group\" = 'g3' AND created = ?2 AND user_id = ?1",
        );
        let advice = |at: usize| found[at].advice.as_ref().unwrap_or_else(|| panic!("{:#?}", found[at]));
        assert_eq!(advice(0).columns, ["user_id", "created"], "{:#?}", advice(0));
        assert_eq!(advice(0).sql, "CREATE INDEX note_by_user_id_created ON note(user_id, created)");
        assert!(advice(0).before.steps > 20 * advice(0).after.steps && advice(0).bytes > 100_000, "{:?}", advice(0));
        assert_eq!(advice(1).columns, ["created"]);
        assert_eq!(advice(2).columns, ["created"]);
        assert!(advice(3).sql.ends_with("ON note(created)") || advice(3).columns[0] == "created", "{:?}", advice(3));
    }

    #[test]
    fn no_index_where_none_helps() {
        let found = advised(
            "SELECT sum(user_id) FROM note; SELECT * FROM note WHERE id = ?; SELECT a FROM small WHERE a = 1;
             SELECT text FROM note WHERE text LIKE '%7'; SELECT id FROM note WHERE created >= 0;
             SELECT count(*) FROM note WHERE length(text) + ? > 3",
        );
        assert!(found.iter().all(|statement| statement.advice.is_none()), "{found:#?}");
        assert_eq!(found[..5].iter().filter(|statement| statement.untried.is_some()).count(), 0, "{found:#?}");
        assert!(found[5].untried.as_ref().is_some_and(|reason| reason.contains("parameter 1")), "{:?}", found[5]);
    }

    #[test]
    fn values_of_parameters() {
        let copy = Connection::open_in_memory().unwrap();
        copy.execute_batch("CREATE TABLE t(a, b); INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z')").unwrap();
        let deadline = Mutex::new(Instant::now());
        let of = |text: &str| {
            let tried = Tried { copy: &copy, deadline: &deadline, end: Instant::now() + IN_ALL, text };
            tried.values(&[("t".into(), vec!["a".into(), "b".into()])])
        };
        let (two, y) = (Value::Integer(2), Value::Text("y".into()));
        for (text, values) in [
            ("SELECT 1 FROM t WHERE a = ? AND t.b >= ?", vec![two.clone(), y.clone()]),
            ("SELECT 1 FROM t WHERE b = ?2 AND a = ?1", vec![two.clone(), y.clone()]),
            ("SELECT 1 FROM t WHERE a BETWEEN @low AND @high", vec![two.clone(), two.clone()]),
            ("SELECT 1 FROM t WHERE \"b\" IN (?, ?) LIMIT $n", vec![y.clone(), y.clone(), Value::Integer(10)]),
            ("SELECT 1 FROM t WHERE ? < a", vec![two.clone()]),
            ("SELECT '?' FROM t -- ?", vec![]),
        ] {
            assert_eq!(of(text), Ok(values), "{text}");
        }
        assert!(of("SELECT ? FROM t").is_err());
    }
}
