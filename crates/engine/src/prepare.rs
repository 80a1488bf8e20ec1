//! Databases as they are before a trial: made once per run for each distinct schema, data and page layout, and copied
//! for every trial.

use std::path::{Path, PathBuf};

use litelab_model::Arm;
use litelab_model::text::capped;
use litelab_protocol::draw::{Drawer, Value};
use litelab_protocol::{Param, Statement};
use litelab_record::{describe, open_read_only};
use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, ToSql};
use sha2::{Digest, Sha256};

use crate::error::EngineError;

/// Rows inserted in one transaction while preparing.
const BATCH: u64 = 10_000;

/// PRAGMAs that shape the file itself and so must be set before its first page is written.
const LAYOUT: [&str; 3] = ["page_size", "auto_vacuum", "encoding"];

/// What makes two arms start from the same file.
fn key(arm: &Arm) -> String {
    let layout: Vec<_> = arm.trial.connection.pragmas.iter().filter(|p| LAYOUT.contains(&p.name.as_str())).collect();
    let text = serde_json::to_string(&(&arm.schema, &arm.data, &layout, arm.trial.seed)).unwrap_or_default();
    litelab_protocol::draw::hex(&Sha256::digest(text))[..16].to_owned()
}

/// The prepared databases of a run, in one directory.
#[derive(Debug)]
pub struct Prepared {
    directory: PathBuf,
}

impl Prepared {
    /// Files are made in `directory`, which exists.
    #[must_use]
    pub fn new(directory: &Path) -> Self {
        Self { directory: directory.to_path_buf() }
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
        make(arm, &unfinished, progress)?;
        std::fs::rename(&unfinished, &path).map_err(|e| EngineError::io("rename", &path, &e))?;
        Ok(path)
    }
}

fn make(arm: &Arm, path: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<(), EngineError> {
    let sqlite = |what: &'static str| move |e: rusqlite::Error| EngineError::sqlite(what, path, &e);
    if let Some(from) = arm.data.as_ref().and_then(|d| d.from.as_ref()) {
        // The backup API takes a consistent picture of a database that others may be writing.
        let original = open_read_only(Path::new(from))?;
        let silent: Option<fn(rusqlite::backup::Progress)> = None;
        original.backup("main", path, silent).map_err(sqlite("copy the original to it"))?;
    }
    let connection = Connection::open(path).map_err(sqlite("create"))?;
    for pragma in arm.trial.connection.pragmas.iter().filter(|p| LAYOUT.contains(&p.name.as_str())) {
        connection
            .execute_batch(&format!("PRAGMA {} = {}", pragma.name, pragma.value))
            .map_err(sqlite("set its layout"))?;
    }
    // Nothing here must survive a crash; the finished file is synced as a whole when it is copied.
    connection.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF").map_err(sqlite("prepare"))?;
    connection.execute_batch(&arm.schema).map_err(|e| EngineError::BadInput(format!("schema: {}", describe(&e))))?;
    if let Some(data) = &arm.data {
        if let Some(transaction) = data.transaction.as_ref().filter(|_| data.rows > 0) {
            load(&connection, arm, transaction, data.rows, progress).map_err(|refused| match refused.row {
                Some((row, values)) if is_of_the_data(&refused.error) => EngineError::BadInput(format!(
                    "data: transaction `{}` cannot insert row {row}: {}{values}",
                    transaction.name,
                    describe(&refused.error)
                )),
                _ => sqlite("insert its rows")(refused.error),
            })?;
        }
        if let Some(then) = &data.then {
            connection
                .execute_batch(then)
                .map_err(|e| EngineError::BadInput(format!("data.then: {}", describe(&e))))?;
        }
    }
    // A database that is never written in WAL must not start in it: the mode is the profile's affair.
    connection.execute_batch("PRAGMA journal_mode = DELETE").map_err(sqlite("finish"))?;
    connection.close().map_err(|(_, e)| sqlite("close")(e))
}

/// Why a row of the data was not inserted.
struct Refused {
    /// Its number, and what its parameters were; none where it was not a row that was refused.
    row: Option<(u64, String)>,
    error: rusqlite::Error,
}

impl From<rusqlite::Error> for Refused {
    fn from(error: rusqlite::Error) -> Self {
        Self { row: None, error }
    }
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

fn load(
    connection: &Connection,
    arm: &Arm,
    transaction: &litelab_protocol::Transaction,
    rows: u64,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), Refused> {
    let drawer = Drawer::new(arm.trial.seed, &transaction.name, &transaction.params, 0);
    let prepare = |s: &Statement| connection.prepare(&s.sql);
    let mut statements = transaction.statements.iter().map(prepare).collect::<rusqlite::Result<Vec<_>>>()?;
    let mut row = 0;
    while row < rows {
        connection.execute_batch("BEGIN")?;
        let end = (row + BATCH).min(rows);
        for operation in row..end {
            for (statement, spec) in statements.iter_mut().zip(&transaction.statements) {
                execute(statement, spec, &drawer, operation).map_err(|error| Refused {
                    row: Some((operation, bound_to(&transaction.params, spec, &drawer, operation))),
                    error,
                })?;
            }
        }
        connection.execute_batch("COMMIT")?;
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
    let connection = open_read_only(prepared)?;
    let read = |sql: &str| -> rusqlite::Result<Vec<(String, String, String)>> {
        let mut statement = connection.prepare(sql)?;
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect()
    };
    let objects = read(
        "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
         ORDER BY type <> 'table', rowid",
    )
    .map_err(|e| EngineError::sqlite("read the schema of", prepared, &e))?;
    let mut out: Vec<String> =
        objects.iter().filter(|(kind, ..)| kind == "table").map(|(.., sql)| sql.clone()).collect();
    let quoted = prepared.display().to_string().replace('\'', "''");
    out.push(format!("ATTACH '{quoted}' AS prepared"));
    for (_, name, _) in objects.iter().filter(|(kind, ..)| kind == "table") {
        let name = name.replace('"', "\"\"");
        out.push(format!("INSERT INTO main.\"{name}\" SELECT * FROM prepared.\"{name}\""));
    }
    out.push("DETACH prepared".to_owned());
    out.extend(objects.into_iter().filter(|(kind, ..)| kind != "table").map(|(.., sql)| sql));
    Ok(out)
}
