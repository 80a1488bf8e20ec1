//! Sandbox for the SQL of a study on litelab's own connections: no access to other files, and a deadline.
//!
//! SQLite calls the authorizer for each action of a statement while compiling it
//! (<https://sqlite.org/c3ref/set_authorizer.html>). `VACUUM` is compiled without a call; it attaches its temporary
//! database, or the file of `VACUUM INTO`, during execution.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use litelab_protocol::Dialect;
use litelab_protocol::sql::{Token, tokens};
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::{Batch, Connection, ErrorCode, Statement, ffi};

use crate::error::describe;

/// Number of virtual machine operations between two looks at whether to end: well below a millisecond.
const OPERATIONS: i32 = 10_000;

/// PRAGMAs that create, move or remove files.
const DIRECTORIES: [&str; 3] = ["data_store_directory", "lock_proxy_file", "temp_store_directory"];
/// PRAGMAs that affect all connections of the process.
const LIMITS: [&str; 2] = ["hard_heap_limit", "soft_heap_limit"];
/// Functions with file access that a build of SQLite may contain.
const FUNCTIONS: [&str; 4] = ["edit", "load_extension", "readfile", "writefile"];

/// A forbidden action in the SQL of a study, with its remedy.
#[derive(Debug, thiserror::Error)]
enum Denied {
    #[error(
        "ATTACH opens another file, and a study's SQL has its own database only: make the tables in `schema`, or start from a copy of that file with `data.from`"
    )]
    Attach,
    #[error("DETACH closes another file, and a study's SQL has its own database only: leave it out")]
    Detach,
    #[error("VACUUM INTO writes another file, and a study's SQL has its own database only: write VACUUM")]
    VacuumInto,
    #[error(
        "PRAGMA journal_mode makes and removes files, and is a setting: put it into a profile, or vary it as \"pragma.journal_mode\""
    )]
    JournalMode,
    #[error("PRAGMA {0} moves files, for all of litelab: leave it out")]
    Directory(String),
    #[error("PRAGMA {0} holds for all of litelab, not for this database: put it into a profile")]
    Limit(String),
    #[error("{0}() reaches files, and a study's SQL has its own database only: leave it out")]
    Function(String),
}

impl Denied {
    /// Reason for which an action is denied; `None` if it is allowed. `executing`: whether the call comes from the
    /// execution of a compiled statement.
    fn of(action: &AuthAction<'_>, executing: bool) -> Option<Self> {
        let is = |names: &[&str], name: &str| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        match *action {
            // An empty name is the temporary database of VACUUM.
            AuthAction::Attach { filename: "" } if executing => None,
            AuthAction::Attach { .. } if executing => Some(Self::VacuumInto),
            // If the file name is an expression, SQLite passes no name.
            AuthAction::Attach { .. } | AuthAction::Unknown { code: ffi::SQLITE_ATTACH, .. } => Some(Self::Attach),
            AuthAction::Detach { .. } | AuthAction::Unknown { code: ffi::SQLITE_DETACH, .. } => Some(Self::Detach),
            AuthAction::Pragma { pragma_name: name, pragma_value: Some(_) } => {
                if is(&["journal_mode"], name) {
                    Some(Self::JournalMode)
                } else if is(&DIRECTORIES, name) {
                    Some(Self::Directory(name.to_ascii_lowercase()))
                } else if is(&LIMITS, name) {
                    Some(Self::Limit(name.to_ascii_lowercase()))
                } else {
                    None
                }
            }
            AuthAction::Function { function_name: name } if is(&FUNCTIONS, name) => {
                Some(Self::Function(name.to_ascii_lowercase()))
            }
            _ => None,
        }
    }
}

/// Denies access to other files to a connection for litelab's own SQL. Settings remain allowed.
///
/// # Errors
/// SQLite documents none.
pub fn deny_files(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.authorizer(Some(|context: AuthContext<'_>| match Denied::of(&context.action, true) {
        None | Some(Denied::JournalMode | Denied::Limit(_)) => Authorization::Allow,
        Some(_) => Authorization::Deny,
    }))
}

/// Statements of a script to execute. All statements are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// All statements.
    Whole,
    /// Statements that change the schema or a setting, for checks that need no rows.
    Schema,
}

/// Error in compiling or executing the SQL of a study: SQLite's message, the position in the SQL, and the remedy.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct SqlError {
    message: String,
    code: Option<ErrorCode>,
}

impl SqlError {
    /// Primary result code of SQLite; `None` if the error does not come from SQLite.
    #[must_use]
    pub fn code(&self) -> Option<ErrorCode> {
        self.code
    }
}

/// A connection for the SQL of a study. It derefs to the connection; [`Guard::explain`] converts errors into messages.
#[derive(Debug)]
pub struct Guard {
    connection: Connection,
    shared: Arc<Shared>,
}

/// State shared by the guard and the callbacks of SQLite.
#[derive(Debug)]
struct Shared {
    begun: Instant,
    /// Nanoseconds since `begun` after which a running statement is interrupted.
    deadline: AtomicU64,
    limit: Mutex<Duration>,
    /// Stop flag: once it is set, a running statement is interrupted.
    stop: OnceLock<&'static AtomicBool>,
    /// Whether a statement of a script is being executed, rather than compiled.
    executing: AtomicBool,
    /// Whether the statement compiled last changes the schema or a setting.
    changes_schema: AtomicBool,
    denied: Mutex<Option<Denied>>,
}

impl Shared {
    /// Resets the state before the compilation of a statement.
    fn forget(&self) {
        self.changes_schema.store(false, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.begun.elapsed().as_nanos() > u128::from(self.deadline.load(Ordering::Relaxed))
    }

    fn is_stopped(&self) -> bool {
        self.stop.get().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    fn authorize(&self, action: &AuthAction<'_>) -> Authorization {
        if changes_schema(action) {
            self.changes_schema.store(true, Ordering::Relaxed);
        }
        let Some(denied) = Denied::of(action, self.executing.load(Ordering::Relaxed)) else {
            return Authorization::Allow;
        };
        *lock(&self.denied) = Some(denied);
        Authorization::Deny
    }
}

impl Guard {
    /// Guards a connection, without a deadline.
    ///
    /// # Errors
    /// SQLite documents none.
    pub fn new(mut connection: Connection) -> rusqlite::Result<Self> {
        let shared = Arc::new(Shared {
            begun: Instant::now(),
            deadline: AtomicU64::new(u64::MAX),
            limit: Mutex::new(Duration::MAX),
            stop: OnceLock::new(),
            executing: AtomicBool::new(false),
            changes_schema: AtomicBool::new(false),
            denied: Mutex::new(None),
        });
        let (authorizer, clock) = (Arc::clone(&shared), Arc::clone(&shared));
        connection.authorizer(Some(move |context: AuthContext<'_>| authorizer.authorize(&context.action)))?;
        connection.progress_handler(OPERATIONS, Some(move || clock.is_over() || clock.is_stopped()))?;
        Ok(Self { connection, shared })
    }

    /// Sets the deadline: statements are interrupted after `limit` from now.
    pub fn within(&self, limit: Duration) {
        let deadline = (self.shared.begun.elapsed().saturating_add(limit)).as_nanos();
        self.shared.deadline.store(u64::try_from(deadline).unwrap_or(u64::MAX), Ordering::Relaxed);
        *lock(&self.shared.limit) = limit;
    }

    /// Interrupts whatever is executed once `stop` is set. Only the first flag counts.
    pub fn stop_by(&self, stop: &'static AtomicBool) {
        let _second = self.shared.stop.set(stop);
    }

    /// Compiles one statement.
    ///
    /// # Errors
    /// If SQLite refuses it, or it would access another file.
    pub fn prepare(&self, sql: &str) -> Result<Statement<'_>, SqlError> {
        self.shared.forget();
        self.allowed(self.connection.prepare(sql).map_err(|e| self.explain(sql, &e))?)
    }

    /// Executes the statements of a script, each until it has returned all rows.
    ///
    /// # Errors
    /// The first statement that SQLite refuses, that would access another file, or that exceeds the deadline.
    pub fn script(&self, sql: &str, script: Script) -> Result<(), SqlError> {
        let mut batch = Batch::new(&self.connection, sql);
        loop {
            self.shared.forget();
            let Some(statement) = batch.next().map_err(|e| self.explain(sql, &e))? else { return Ok(()) };
            let mut statement = self.allowed(statement)?;
            if script == Script::Schema && !self.shared.changes_schema.load(Ordering::Relaxed) {
                continue;
            }
            self.shared.executing.store(true, Ordering::Relaxed);
            let executed = to_its_end(&mut statement);
            self.shared.executing.store(false, Ordering::Relaxed);
            executed.map_err(|e| self.explain(sql, &e))?;
        }
    }

    /// Refuses `VACUUM INTO`, for which SQLite does not ask the authorizer.
    fn allowed<'c>(&self, statement: Statement<'c>) -> Result<Statement<'c>, SqlError> {
        if statement.expanded_sql().is_some_and(|sql| is_vacuum_into(&sql)) {
            return Err(SqlError { message: Denied::VacuumInto.to_string(), code: None });
        }
        Ok(statement)
    }

    /// Converts an error of `sql`: the cause if it was denied or interrupted here, else SQLite's message with its
    /// position.
    #[must_use]
    pub fn explain(&self, sql: &str, error: &rusqlite::Error) -> SqlError {
        let code = error.sqlite_error_code();
        let denied = lock(&self.shared.denied).take();
        let message = match (code, denied) {
            (_, Some(denied)) => denied.to_string(),
            (Some(ErrorCode::OperationInterrupted), None) if self.shared.is_over() => {
                let limit = *lock(&self.shared.limit);
                format!("it was not over after {limit:?}, the limit: does it recurse without an end?")
            }
            _ => with_place(sql, error),
        };
        SqlError { message, code }
    }

    /// Removes the guard, for litelab's own SQL.
    ///
    /// # Errors
    /// SQLite documents none.
    pub fn release(mut self) -> rusqlite::Result<Connection> {
        self.connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)?;
        self.connection.progress_handler(0, None::<fn() -> bool>)?;
        Ok(self.connection)
    }
}

impl Deref for Guard {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether an action creates, changes or removes a table, index, view, trigger or statistics, or changes a setting.
/// Every change of the schema writes the schema table.
fn changes_schema(action: &AuthAction<'_>) -> bool {
    let is_schema = |table: &str| {
        ["sqlite_master", "sqlite_schema", "sqlite_temp_master", "sqlite_temp_schema"]
            .iter()
            .any(|known| known.eq_ignore_ascii_case(table))
    };
    match action {
        AuthAction::Insert { table_name } | AuthAction::Delete { table_name } => is_schema(table_name),
        AuthAction::Update { table_name, .. } => is_schema(table_name),
        AuthAction::CreateVtable { .. } | AuthAction::DropVtable { .. } | AuthAction::AlterTable { .. } => true,
        AuthAction::Analyze { .. } | AuthAction::Pragma { .. } => true,
        AuthAction::Transaction { .. } | AuthAction::Savepoint { .. } => true,
        _ => false,
    }
}

/// Fetches all rows, because some PRAGMAs do part of their work per row
/// (<https://sqlite.org/pragma.html#pragma_incremental_vacuum>).
pub(crate) fn to_its_end(statement: &mut Statement<'_>) -> rusqlite::Result<()> {
    let mut rows = statement.raw_query();
    while rows.next()?.is_some() {}
    Ok(())
}

/// Whether a statement is `VACUUM … INTO`.
fn is_vacuum_into(sql: &str) -> bool {
    let pieces = tokens(sql, Dialect::Sqlite);
    let mut words = pieces.iter().filter_map(|piece| match piece {
        Token::Word(word) => Some(*word),
        _ => None,
    });
    words.next().is_some_and(|word| word.eq_ignore_ascii_case("vacuum"))
        && words.any(|word| word.eq_ignore_ascii_case("into"))
}

/// SQLite's message, with its position in the SQL.
fn with_place(sql: &str, error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqlInputError { msg, sql: rest, offset, .. } if *offset >= 0 => {
            // The offset is relative to the statement, which is the rest of a script.
            let at = sql.len().saturating_sub(rest.len()).saturating_add(*offset as usize).min(sql.len());
            let before: Vec<char> = sql.get(..at).unwrap_or_default().chars().collect();
            let near: String = sql.get(at..).unwrap_or_default().chars().take(20).collect();
            format!(
                "{msg} at character {} (…{}⟨here⟩{near}…)",
                before.len() + 1,
                before[before.len().saturating_sub(20)..].iter().collect::<String>()
            )
        }
        rusqlite::Error::MultipleStatement => "it holds several statements: make `sql` a list".into(),
        other => describe(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDLESS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";

    fn guard() -> Guard {
        Guard::new(Connection::open_in_memory().unwrap()).unwrap()
    }

    #[test]
    fn sql_of_a_study_reaches_no_other_file() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("own.db");
        let other = folder.path().join("other.db").display().to_string();
        for (sql, words) in [
            (format!("ATTACH '{other}' AS o"), "data.from"),
            (format!("ATTACH 'file:{other}?mode=rwc' AS o"), "ATTACH opens"),
            (format!("ATTACH '{other}' || '' AS o"), "ATTACH opens"),
            ("ATTACH '' AS o".into(), "ATTACH opens"),
            ("ATTACH ':memory:' AS o".into(), "ATTACH opens"),
            ("DETACH o".into(), "DETACH closes"),
            ("DETACH 'o' || ''".into(), "DETACH closes"),
            (format!("VACUUM INTO '{other}'"), "write VACUUM"),
            (format!("VACUUM main INTO 'file:{other}'"), "write VACUUM"),
            // SQLite asks for the function, and for nothing else.
            (format!("VACUUM INTO trim('{other}')"), "write VACUUM"),
            ("PRAGMA journal_mode = WAL".into(), "pragma.journal_mode"),
            ("PRAGMA main.journal_mode(persist)".into(), "pragma.journal_mode"),
            (format!("PRAGMA temp_store_directory = '{}'", folder.path().display()), "temp_store_directory"),
            ("PRAGMA HARD_HEAP_LIMIT = 1".into(), "hard_heap_limit"),
            ("SELECT load_extension('other')".into(), "load_extension()"),
        ] {
            let guard = Guard::new(Connection::open(&own).unwrap()).unwrap();
            guard.script("CREATE TABLE IF NOT EXISTS t(a); INSERT INTO t VALUES (1)", Script::Whole).unwrap();
            for script in [format!("{sql}; CREATE TABLE u(a)"), format!("CREATE TABLE v(a); -- then\n{sql}")] {
                let error = guard.script(&script, Script::Whole).expect_err(&script).to_string();
                assert!(error.contains(words) && error.lines().count() == 1, "{script}: {error}");
                guard.script("DROP TABLE IF EXISTS v", Script::Whole).unwrap();
            }
            let error = guard.prepare(&format!("/* it */ {sql}")).expect_err(&sql).to_string();
            assert!(error.contains(words), "{sql}: {error}");
            drop(guard);
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "{sql}");
        }
    }

    #[test]
    fn what_stays_within_the_database_is_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let guard = Guard::new(Connection::open(folder.path().join("own.db")).unwrap()).unwrap();
        let sql =
            "PRAGMA foreign_keys = OFF; PRAGMA user_version = 3; PRAGMA journal_mode; BEGIN; CREATE TABLE t(a); COMMIT;
            CREATE VIRTUAL TABLE f USING fts5(a); CREATE VIRTUAL TABLE r USING rtree(id, x0, x1);
            INSERT INTO f VALUES ('one'); INSERT INTO f(f) VALUES ('rebuild'); INSERT INTO r VALUES (1, 2, 3);
            ALTER TABLE t RENAME TO into_t; ANALYZE; VACUUM; PRAGMA optimize; DROP TABLE f";
        guard.script(sql, Script::Whole).unwrap();
        guard.prepare("INSERT INTO into_t SELECT 1").unwrap();
        guard.prepare("VACUUM").unwrap();
        let version: i64 = guard.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
        assert_eq!(version, 3);
        // litelab's own SQL is not restricted like that of a study.
        guard.release().unwrap().execute_batch("ATTACH ':memory:' AS o; DETACH o").unwrap();
    }

    #[test]
    fn the_core_has_no_function_and_no_module_that_reaches_files() {
        let connection = Connection::open_in_memory().unwrap();
        let names = |sql: &str| -> Vec<String> {
            let mut statement = connection.prepare(sql).unwrap();
            statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
        };
        let functions = names("SELECT DISTINCT name FROM pragma_function_list");
        assert!(functions.contains(&"abs".to_owned()));
        let linked: Vec<_> = FUNCTIONS.into_iter().filter(|name| functions.iter().any(|f| f == name)).collect();
        assert_eq!(linked, ["load_extension"], "which is denied, and off");
        let modules = names("SELECT name FROM pragma_module_list");
        assert!(modules.contains(&"fts5".to_owned()));
        for module in ["csv", "fsdir", "zipfile", "sqlite_dbpage"] {
            assert!(!modules.iter().any(|m| m == module), "{module}");
        }
    }

    #[test]
    fn the_core_s_own_connections_have_settings_and_no_other_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut connection = Connection::open(folder.path().join("own.db")).unwrap();
        deny_files(&mut connection).unwrap();
        connection.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t(a); VACUUM").unwrap();
        let other = folder.path().join("other.db").display().to_string();
        for sql in [format!("ATTACH '{other}' AS o"), format!("VACUUM INTO '{other}'")] {
            assert!(connection.execute_batch(&sql).is_err(), "{sql}");
        }
        assert!(!folder.path().join("other.db").exists());
    }

    #[test]
    fn what_does_not_end_is_interrupted() {
        let guard = guard();
        let limit = Duration::from_millis(50);
        let words = "it was not over after 50ms";
        guard.within(limit);
        let sql = format!("CREATE TABLE t(a); {ENDLESS} INSERT INTO t SELECT 1 FROM n WHERE i < 0");
        let error = guard.script(&sql, Script::Whole).expect_err("it has no end").to_string();
        assert!(error.contains(words), "{error}");
        guard.within(limit);
        let sql = format!("{ENDLESS} SELECT count(*) FROM n");
        let error = guard.query_row(&sql, [], |_| Ok(())).expect_err("it has no end");
        assert!(guard.explain(&sql, &error).to_string().contains(words), "{error}");
        guard.within(Duration::MAX);
        guard.script("INSERT INTO t VALUES (1)", Script::Whole).unwrap();
    }

    #[test]
    fn a_check_makes_tables_and_leaves_rows_out() {
        let guard = guard();
        let sql = format!(
            "CREATE TABLE t(a NOT NULL); {ENDLESS} INSERT INTO t SELECT i FROM n; CREATE INDEX i ON t(a);
             INSERT INTO t VALUES (NULL); ANALYZE; CREATE TABLE base AS SELECT max(a) AS most FROM t; ALTER TABLE t ADD b;
             DELETE FROM t; CREATE TABLE gone(a); DROP TABLE gone; BEGIN; CREATE TABLE undone(a); ROLLBACK; VACUUM"
        );
        guard.script(&sql, Script::Schema).unwrap();
        guard.prepare("SELECT a, b, most FROM t, base, sqlite_stat1").unwrap();
        for table in ["gone", "undone"] {
            guard.prepare(&format!("SELECT * FROM {table}")).expect_err(table);
        }
        // Statements that are not executed are still compiled.
        let error = guard.script("INSERT INTO t VALUES (1, 2); INSERT INTO t VALEUS (1)", Script::Schema);
        let error = error.expect_err("a mistake").to_string();
        assert!(error.contains("character 44") && error.contains("INSERT INTO t ⟨here⟩VALEUS (1)"), "{error}");
    }

    #[test]
    fn a_mistake_is_shown_in_place() {
        let guard = guard();
        let error = guard.prepare("SELECT 1 FRM t").expect_err("FRM").to_string();
        assert!(error.contains("near \"t\"") && error.contains("character 14"), "{error}");
        let error = guard.prepare("SELECT 1; SELECT 2").expect_err("two").to_string();
        assert!(error.contains("make `sql` a list"), "{error}");
    }
}
