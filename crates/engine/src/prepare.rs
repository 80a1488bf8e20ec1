//! Databases as they are before a trial: made once per run for each distinct schema, data and page layout, and copied
//! for every trial.

use std::path::{Path, PathBuf};
use std::time::Duration;

use litelab_database::{Guard, Script, describe, quoted};
use litelab_model::Arm;
use litelab_model::text::capped;
use litelab_protocol::draw::{Drawer, Value};
use litelab_protocol::{Param, Setting, Statement};
use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, ToSql};
use sha2::{Digest, Sha256};

use crate::error::EngineError;

/// Rows inserted in one transaction while preparing.
const BATCH: u64 = 10_000;

/// For `schema`, for each batch of rows and for `data.then`: far above what a database that fits on a disk takes, so that SQL
/// without an end has one.
const LIMIT: Duration = Duration::from_secs(3600);

/// PRAGMAs that shape the file itself and so must be set before its first page is written.
const LAYOUT: [&str; 3] = ["page_size", "auto_vacuum", "encoding"];

/// The settings of an arm that shape the file.
fn layout(arm: &Arm) -> impl Iterator<Item = &Setting> {
    arm.trial.connection.settings.iter().filter(|setting| LAYOUT.contains(&setting.name.as_str()))
}

/// What makes two arms start from the same file.
fn key(arm: &Arm) -> String {
    let layout: Vec<_> = layout(arm).collect();
    let text = serde_json::to_string(&(&arm.schema, &arm.data, &layout, arm.trial.seed)).unwrap_or_default();
    litelab_protocol::draw::hex(&Sha256::digest(text))[..16].to_owned()
}

/// The prepared databases of a run, in one directory.
#[derive(Debug)]
pub struct Prepared {
    directory: PathBuf,
    /// See [`LIMIT`].
    limit: Duration,
}

impl Prepared {
    /// Files are made in `directory`, which exists.
    #[must_use]
    pub fn new(directory: &Path) -> Self {
        Self { directory: directory.to_path_buf(), limit: LIMIT }
    }

    /// The prepared file of an arm, made now if it is the first to need it. `progress` gets rows done and in all.
    ///
    /// # Errors
    /// When the schema, the data or the disk refuse.
    pub fn file(&self, arm: &Arm, progress: &mut dyn FnMut(u64, u64)) -> Result<PathBuf, EngineError> {
        let path = self.directory.join(format!("prepared-{}.db", key(arm)));
        if path.exists() {
            return Ok(path);
        }
        let unfinished = self.directory.join(format!("unfinished-{}.db", key(arm)));
        let _stale = std::fs::remove_file(&unfinished);
        make(arm, &unfinished, self.limit, progress)?;
        std::fs::rename(&unfinished, &path).map_err(|e| EngineError::io("rename", &path, &e))?;
        Ok(path)
    }
}

fn make(arm: &Arm, path: &Path, limit: Duration, progress: &mut dyn FnMut(u64, u64)) -> Result<(), EngineError> {
    let sqlite = |what: &'static str| move |e: rusqlite::Error| EngineError::sqlite(what, path, &e);
    if let Some(from) = arm.data.as_ref().and_then(|d| d.from.as_ref()) {
        litelab_database::copy(Path::new(from), path)?;
    }
    let connection = Connection::open(path).map_err(sqlite("create"))?;
    for setting in layout(arm) {
        connection.execute_batch(&setting.sql).map_err(sqlite("set its layout"))?;
    }
    // Nothing here must survive a crash; the finished file is synced as a whole when it is copied.
    connection.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF").map_err(sqlite("prepare"))?;
    let guard = Guard::new(connection).map_err(sqlite("prepare"))?;
    let script = |what: &str, sql: &str| {
        guard.within(limit);
        guard.script(sql, Script::Whole).map_err(|e| EngineError::sql(what, path, &e))
    };
    script("schema", &arm.schema)?;
    if let Some(data) = &arm.data {
        if let Some(transaction) = data.transaction.as_ref().filter(|_| data.rows > 0) {
            load(&guard, limit, arm, transaction, data.rows, progress).map_err(|refused| match refused.row {
                Some((row, values)) if is_of_the_data(&refused.error) => EngineError::BadInput(format!(
                    "data: transaction `{}` cannot insert row {row}: {}{values}",
                    transaction.name,
                    describe(&refused.error)
                )),
                _ => EngineError::sql(
                    &format!("data: transaction `{}`", transaction.name),
                    path,
                    &guard.explain(refused.sql, &refused.error),
                ),
            })?;
        }
        if let Some(then) = &data.then {
            script("data.then", then)?;
        }
    }
    let connection = guard.release().map_err(sqlite("finish"))?;
    // A database that is never written in WAL must not start in it: the mode is the profile's affair.
    connection.execute_batch("PRAGMA journal_mode = DELETE").map_err(sqlite("finish"))?;
    connection.close().map_err(|(_, e)| sqlite("close")(e))
}

/// Why a row of the data was not inserted.
struct Refused<'a> {
    sql: &'a str,
    /// Its number, and what its parameters were; none where it was not a row that was refused.
    row: Option<(u64, String)>,
    error: rusqlite::Error,
}

/// Whether the values are to blame, and not the disk or the machine.
fn is_of_the_data(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{ConstraintViolation, TooBig, TypeMismatch, Unknown};
    matches!(error.sqlite_error_code(), Some(ConstraintViolation | TooBig | TypeMismatch | Unknown))
}

/// ` (:id = 7, :name = user7)`: what a statement's first execution of an operation binds.
fn bound_to(params: &[Param], spec: &Statement, drawer: &Drawer, operation: u64) -> String {
    let first = operation * u64::from(spec.repeat) * u64::from(spec.tuples);
    let one = |param: &u32| {
        let value = match drawer.draw(*param as usize, first) {
            Value::Null => "NULL".to_owned(),
            Value::Integer(i) => i.to_string(),
            Value::Real(r) => r.to_string(),
            Value::Text(t) => capped(&t).into_owned(),
        };
        format!(":{} = {value}", params.get(*param as usize).map_or("?", |p| &p.name))
    };
    match spec.bind.as_slice() {
        [] => String::new(),
        bind => format!(" ({})", bind.iter().map(one).collect::<Vec<_>>().join(", ")),
    }
}

/// Inserts the rows.
fn load<'a>(
    guard: &Guard,
    limit: Duration,
    arm: &Arm,
    transaction: &'a litelab_protocol::Transaction,
    rows: u64,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), Refused<'a>> {
    let drawer = Drawer::new(arm.trial.seed, &transaction.name, &transaction.params, 0);
    let of = |sql: &'a str| move |error| Refused { sql, row: None, error };
    let prepare = |s: &'a Statement| (**guard).prepare(&s.sql).map_err(of(&s.sql));
    let mut statements = transaction.statements.iter().map(prepare).collect::<Result<Vec<_>, _>>()?;
    let mut row = 0;
    while row < rows {
        guard.within(limit);
        guard.execute_batch("BEGIN").map_err(of("BEGIN"))?;
        let end = (row + BATCH).min(rows);
        for operation in row..end {
            for (statement, spec) in statements.iter_mut().zip(&transaction.statements) {
                execute(statement, spec, &drawer, operation).map_err(|error| Refused {
                    sql: &spec.sql,
                    row: Some((operation, bound_to(&transaction.params, spec, &drawer, operation))),
                    error,
                })?;
            }
        }
        guard.execute_batch("COMMIT").map_err(of("COMMIT"))?;
        row = end;
        progress(row, rows);
    }
    Ok(())
}

/// A statement of one operation, as often and with the rows that a runner would take.
fn execute(
    statement: &mut rusqlite::Statement<'_>,
    spec: &Statement,
    drawer: &Drawer,
    operation: u64,
) -> rusqlite::Result<()> {
    let (repeat, tuples) = (u64::from(spec.repeat), u64::from(spec.tuples));
    for first in (0..repeat).map(|k| (operation * repeat + k) * tuples) {
        let values = (first..first + tuples).flat_map(|row| spec.bind.iter().map(move |param| (row, *param as usize)));
        for (position, (row, param)) in values.enumerate() {
            statement.raw_bind_parameter(position + 1, Bound(drawer.draw(param, row)))?;
        }
        // What it returns is nobody's.
        let mut rows = statement.raw_query();
        while rows.next()?.is_some() {}
    }
    Ok(())
}

/// A drawn value on its way into SQLite.
struct Bound(Value);

impl ToSql for Bound {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match &self.0 {
            Value::Null => ToSqlOutput::Owned(rusqlite::types::Value::Null),
            Value::Integer(i) => ToSqlOutput::Owned((*i).into()),
            Value::Real(r) => ToSqlOutput::Owned((*r).into()),
            Value::Text(t) => ToSqlOutput::Borrowed(rusqlite::types::ValueRef::Text(t.as_bytes())),
        })
    }
}

/// Statements that make the same database in memory, from the prepared file: the schema, then a copy of each table.
///
/// # Errors
/// When the prepared file cannot be read.
pub fn setup_statements(prepared: &Path) -> Result<Vec<String>, EngineError> {
    let sql = "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
               ORDER BY type <> 'table', rowid";
    let objects = litelab_database::read(prepared, |connection| {
        let read = || -> rusqlite::Result<Vec<(String, String, String)>> {
            let mut statement = connection.prepare(sql)?;
            statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect()
        };
        read().map_err(|e| EngineError::sqlite("read the schema of", prepared, &e))
    })?;
    let mut out: Vec<String> =
        objects.iter().filter(|(kind, ..)| kind == "table").map(|(.., sql)| sql.clone()).collect();
    let file = prepared.display().to_string().replace('\'', "''");
    out.push(format!("ATTACH '{file}' AS prepared"));
    for (_, name, _) in objects.iter().filter(|(kind, ..)| kind == "table") {
        let name = quoted(name);
        out.push(format!("INSERT INTO main.{name} SELECT * FROM prepared.{name}"));
    }
    out.push("DETACH prepared".to_owned());
    out.extend(objects.into_iter().filter(|(kind, ..)| kind != "table").map(|(.., sql)| sql));
    Ok(out)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]
mod tests {
    use litelab_model::{Options, library, resolve};

    use super::*;

    /// The only arm of a study on a workload in `folder`.
    fn arm(folder: &Path, workload: &str) -> Arm {
        let workload = format!(
            "name = \"w\"\n{workload}\n[transaction.t]\nsql = \"INSERT INTO t VALUES (:a)\"\nparam.a = {{ sequence = {{ start = 0 }} }}"
        );
        std::fs::write(folder.join("w.toml"), workload).unwrap();
        let toml = "name = 's'\ntitle = '?'\n[[scenario]]\nname = 'one'\nworkload = 'w.toml'\nrole.r = { run = 't', count = 1 }";
        let text = library::Text { file: "s.toml".into(), directory: Some(folder.to_path_buf()), toml: toml.into() };
        let study = library::parse(&text).unwrap_or_else(|e| panic!("{e}"));
        resolve::resolve(&study, &text, &Options::default()).unwrap_or_else(|e| panic!("{e}")).arms.remove(0)
    }

    fn prepared(workload: &str, limit: Duration) -> Result<i64, EngineError> {
        let folder = tempfile::tempdir().unwrap();
        let arm = arm(folder.path(), workload);
        let file = Prepared { directory: folder.path().into(), limit }.file(&arm, &mut |_, _| {})?;
        let connection = Connection::open(file).unwrap();
        Ok(connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap())
    }

    #[test]
    fn rows_and_then_are_in_the_prepared_database() {
        let workload = "schema.sql = \"CREATE TABLE t(a)\"\n\
            data = { transaction = \"t\", rows = 7, then = \"DELETE FROM t WHERE a = 3; VACUUM; PRAGMA optimize\" }";
        assert_eq!(prepared(workload, LIMIT).unwrap(), 6);
    }

    #[test]
    fn a_wrong_row_names_its_transaction() {
        let workload = "schema.sql = \"CREATE TABLE t(a CHECK (a < 5))\"\ndata = { transaction = \"t\", rows = 7 }";
        let error = prepared(workload, LIMIT).unwrap_err();
        assert!(error.is_bad_input(), "{error}");
        let words = "data: transaction `t` cannot insert row 5: CHECK constraint failed: a < 5 \
            (SQLITE_CONSTRAINT_CHECK) (:a = 5)";
        assert_eq!(error.to_string(), words);
    }

    #[test]
    fn sql_that_would_write_another_file_is_refused_where_it_is_executed() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other.db");
        let sql = format!("VACUUM INTO '{}'", other.display());
        for (workload, place) in [
            (format!("schema.sql = \"CREATE TABLE t(a); {sql}\""), "schema: "),
            (format!("schema.sql = \"CREATE TABLE t(a)\"\ndata.then = \"{sql}\""), "data.then: "),
        ] {
            let error = prepared(&workload, LIMIT).unwrap_err();
            assert!(error.is_bad_input() && error.to_string().starts_with(place), "{error}");
            assert!(error.to_string().contains("write VACUUM"), "{error}");
        }
        assert!(!other.exists());
    }

    #[test]
    fn what_does_not_end_is_interrupted() {
        let endless =
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) INSERT INTO t SELECT i FROM n WHERE i < 0";
        for (workload, place) in [
            (format!("schema.sql = \"CREATE TABLE t(a); {endless}\""), "schema: "),
            (format!("schema.sql = \"CREATE TABLE t(a)\"\ndata.then = \"{endless}\""), "data.then: "),
            (
                "schema.sql = \"CREATE TABLE t(a); CREATE TABLE u(b); CREATE TRIGGER r AFTER INSERT ON t BEGIN INSERT INTO u \
                 WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0; END\"\n\
                 data = { transaction = \"t\", rows = 1 }"
                    .into(),
                "data: transaction `t`: ",
            ),
        ] {
            let error = prepared(&workload, Duration::from_millis(50)).unwrap_err();
            assert!(error.is_bad_input() && error.to_string().starts_with(place), "{error}");
            assert!(error.to_string().contains("it was not over after 50ms"), "{error}");
        }
    }

    /// SQLite says the same of a disk that is full.
    #[test]
    fn a_full_disk_is_no_bad_input_and_names_the_directory() {
        let rows = "schema.sql = \"PRAGMA max_page_count = 3; CREATE TABLE t(a)\"\ndata = { transaction = \"t\", rows = 5000 }";
        let then = "schema.sql = \"PRAGMA max_page_count = 3; CREATE TABLE t(a)\"\n\
            data.then = \"INSERT INTO t VALUES (zeroblob(50000))\"";
        for workload in [rows, then] {
            let error = prepared(workload, LIMIT).unwrap_err();
            assert!(!error.is_bad_input(), "{error}");
            assert!(
                error.to_string().ends_with("; free some space there, or choose another directory with --dir"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_database_of_the_user_is_copied_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let app = folder.path().join("app.db");
        let sql = "PRAGMA journal_mode = WAL; CREATE TABLE t(a); INSERT INTO t VALUES (1); CREATE VIRTUAL TABLE f USING fts5(a)";
        Connection::open(&app).unwrap().execute_batch(sql).unwrap();
        let before = std::fs::read(&app).unwrap();
        let workload = format!("[data]\nfrom = \"{}\"\nthen = \"INSERT INTO t VALUES (2)\"", app.display());
        assert_eq!(prepared(&workload, LIMIT).unwrap(), 2);
        assert_eq!((std::fs::read(&app).unwrap(), folder.path().read_dir().unwrap().count()), (before, 1));
    }
}
