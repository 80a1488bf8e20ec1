//! Initial databases of trials: created once per run for each distinct schema, data and page layout, and copied for
//! every trial.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use litelab_bulk::{LIMIT, LoadError, Rows, load};
use litelab_database::{Guard, Script, quoted};
use litelab_model::{Plan, Variant};
use litelab_observe::sidecar;
use litelab_protocol::Setting;
use rusqlite::Connection;
use sha2::{Digest, Sha256};

use crate::error::EngineError;

/// Number of rows per transaction.
const BATCH: u64 = 10_000;

/// PRAGMAs that shape the file itself and so must be set before its first page is written.
const LAYOUT: [&str; 3] = ["page_size", "auto_vacuum", "encoding"];

/// The settings of a variant that shape the file.
fn layout(variant: &Variant) -> impl Iterator<Item = &Setting> {
    variant.trial.connection.settings.iter().filter(|setting| LAYOUT.contains(&setting.name.as_str()))
}

/// Hash of everything that determines the initial file of a variant.
fn key(variant: &Variant) -> String {
    let layout: Vec<_> = layout(variant).collect();
    let text =
        serde_json::to_string(&(&variant.schema, &variant.data, &layout, variant.trial.seed)).unwrap_or_default();
    litelab_protocol::draw::hex(&Sha256::digest(text))[..16].to_owned()
}

/// Prepared databases of a run, in one directory.
#[derive(Debug)]
pub struct Prepared<'a> {
    directory: PathBuf,
    /// Deadline of a script or batch; default: [`LIMIT`].
    limit: Duration,
    stop: Option<&'a AtomicBool>,
}

impl<'a> Prepared<'a> {
    /// Creates files in `directory`, which must exist.
    #[must_use]
    pub fn new(directory: &Path) -> Self {
        Self { directory: directory.to_path_buf(), limit: LIMIT, stop: None }
    }

    /// Ends the copy of a user's database, and the insertion of rows, once `stop` is set.
    #[must_use]
    pub fn until(self, stop: &'a AtomicBool) -> Self {
        Self { stop: Some(stop), ..self }
    }

    /// Returns the prepared file of a variant, and creates it if it does not exist. `progress` receives the numbers of
    /// rows done and in total.
    ///
    /// # Errors
    /// If SQLite refuses the schema or the data, the disk fails, or `stop` was set.
    pub fn file(&self, variant: &Variant, progress: &mut dyn FnMut(u64, u64)) -> Result<PathBuf, EngineError> {
        let path = self.directory.join(format!("prepared-{}.db", key(variant)));
        if path.exists() {
            return Ok(path);
        }
        let unfinished = self.directory.join(format!("unfinished-{}.db", key(variant)));
        let _stale = std::fs::remove_file(&unfinished);
        self.make(variant, &unfinished, progress)?;
        std::fs::rename(&unfinished, &path).map_err(|e| EngineError::io("rename", &path, &e))?;
        Ok(path)
    }

    fn make(&self, variant: &Variant, path: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<(), EngineError> {
        let sqlite = |what: &'static str| move |e: rusqlite::Error| EngineError::sqlite(what, path, &e);
        if let Some(from) = variant.data.as_ref().and_then(|d| d.from.as_ref()) {
            match self.stop {
                Some(stop) => litelab_database::copy_until(Path::new(from), path, stop)?,
                None => litelab_database::copy(Path::new(from), path)?,
            }
        }
        let connection = Connection::open(path).map_err(sqlite("create"))?;
        for setting in layout(variant) {
            connection.execute_batch(&setting.sql).map_err(sqlite("set its layout"))?;
        }
        // No file needs to survive a crash here; the finished file is synced as a whole when it is copied. A failing
        // statement must be rolled back, which needs a journal.
        connection
            .execute_batch("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF")
            .map_err(sqlite("prepare"))?;
        let guard = Guard::new(connection).map_err(sqlite("prepare"))?;
        self.script(&guard, "schema", &variant.schema, path)?;
        self.load(&guard, variant, path, progress)?;
        let mut connection = guard.release().map_err(sqlite("finish"))?;
        if let Some(then) = variant.data.as_ref().and_then(|d| d.then.as_ref()) {
            // It may rewrite the whole file (`VACUUM`), all of which a journal in memory would then hold.
            connection.execute_batch("PRAGMA journal_mode = OFF").map_err(sqlite("prepare"))?;
            let guard = Guard::new(connection).map_err(sqlite("prepare"))?;
            self.script(&guard, "data.then", then, path)?;
            connection = guard.release().map_err(sqlite("finish"))?;
        }
        // The profile sets the journal mode: a database that is never written in WAL must not start in it.
        connection.execute_batch("PRAGMA journal_mode = DELETE").map_err(sqlite("finish"))?;
        connection.close().map_err(|(_, e)| sqlite("close")(e))
    }

    fn script(&self, guard: &Guard, what: &str, sql: &str, path: &Path) -> Result<(), EngineError> {
        guard.within(self.limit);
        guard.script(sql, Script::Whole).map_err(|e| EngineError::sql(what, path, &e))
    }

    fn load(
        &self,
        guard: &Guard,
        variant: &Variant,
        path: &Path,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), EngineError> {
        let Some(data) = &variant.data else { return Ok(()) };
        let Some(transaction) = &data.transaction else { return Ok(()) };
        let rows = Rows { transaction, count: data.rows, batch: BATCH, seed: variant.trial.seed };
        let loaded = load(guard, &rows, self.limit, &mut |rows| {
            progress(rows, data.rows);
            match self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        loaded.map_err(|error| match &error {
            LoadError::Row { .. } => EngineError::BadInput(error.to_string()),
            LoadError::Sql { transaction, error } => {
                EngineError::sql(&format!("data: transaction `{transaction}`"), path, error)
            }
            LoadError::Cancelled => EngineError::Interrupted,
        })
    }
}

/// State of each database that data come from (`data.from`), by its path: sizes and modification times of its file and
/// of its log, which a write changes.
#[must_use]
pub fn sources(plan: &Plan) -> BTreeMap<String, String> {
    let from = plan.variants.iter().filter_map(|variant| variant.data.as_ref()?.from.clone());
    let state = |path: String| {
        let of = |path: PathBuf| {
            let about = std::fs::metadata(path).ok()?;
            let modified = about.modified().ok()?.duration_since(UNIX_EPOCH).unwrap_or_default();
            Some(format!("{} bytes at {}", about.len(), modified.as_nanos()))
        };
        let files = ["", "-wal"].map(|suffix| of(sidecar(Path::new(&path), suffix)).unwrap_or_default());
        (path, files.join(", "))
    };
    from.collect::<BTreeSet<_>>().into_iter().map(state).collect()
}

/// Type, name and SQL of an object of a schema.
type Object = (String, String, String);

/// Statements that create the same database in memory, from the prepared file: the schema, then a copy of each table.
///
/// # Errors
/// If the prepared file cannot be read.
pub fn setup_statements(prepared: &Path) -> Result<Vec<String>, EngineError> {
    let sql = "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
               ORDER BY type <> 'table', rowid";
    let statistics = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_stat1')";
    let (objects, is_analyzed) = litelab_database::read(prepared, |connection| {
        let read = || -> rusqlite::Result<(Vec<Object>, bool)> {
            let mut statement = connection.prepare(sql)?;
            let objects = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            Ok((objects.collect::<rusqlite::Result<_>>()?, connection.query_row(statistics, [], |row| row.get(0))?))
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
    // The planner's statistics, if the prepared file has them.
    out.extend(is_analyzed.then(|| "ANALYZE".to_owned()));
    Ok(out)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]
mod tests {
    use super::*;

    /// The only variant of a study on a workload in `folder`.
    fn variant(folder: &Path, workload: &str) -> Variant {
        let workload = format!(
            "name = \"w\"\n{workload}\n[transaction.t]\nsql = \"INSERT INTO t VALUES (:a)\"\nparam.a = {{ sequence = {{ start = 0 }} }}"
        );
        std::fs::write(folder.join("w.toml"), workload).unwrap();
        let toml = "name = 's'\ntitle = '?'\n[[scenario]]\nname = 'one'\nworkload = 'w.toml'\nrole.r = { run = 't', count = 1 }";
        crate::testkit::plan(Some(folder), toml).variants.remove(0)
    }

    fn prepared(workload: &str, limit: Duration) -> Result<i64, EngineError> {
        let folder = tempfile::tempdir().unwrap();
        let variant = variant(folder.path(), workload);
        let file = Prepared { limit, ..Prepared::new(folder.path()) }.file(&variant, &mut |_, _| {})?;
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
    fn a_wrong_row_is_named_in_the_middle_of_a_batch() {
        for conflict in ["", " ON CONFLICT FAIL", " ON CONFLICT ROLLBACK"] {
            let workload = format!(
                "schema.sql = \"CREATE TABLE t(a UNIQUE{conflict}); INSERT INTO t VALUES (25432)\"\ndata = {{ transaction = \"t\", rows = 30000 }}"
            );
            let error = prepared(&workload, LIMIT).unwrap_err().to_string();
            let words = "data: transaction `t` cannot insert row 25432: UNIQUE constraint failed: t.a (SQLITE_CONSTRAINT_UNIQUE)";
            assert!(error.starts_with(words), "{error}");
        }
    }

    #[test]
    fn nothing_is_prepared_once_it_is_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let workload = "schema.sql = \"CREATE TABLE t(a)\"\ndata = { transaction = \"t\", rows = 1000000000000 }";
        let (variant, stop) = (variant(folder.path(), workload), AtomicBool::new(false));
        let prepared = Prepared::new(folder.path()).until(&stop);
        let error = prepared.file(&variant, &mut |rows, _| stop.store(rows > 0, Ordering::Relaxed)).unwrap_err();
        assert!(matches!(error, EngineError::Interrupted), "{error}");

        let app = folder.path().join("app.db");
        Connection::open(&app)
            .unwrap()
            .execute_batch("CREATE TABLE t(a); INSERT INTO t VALUES (zeroblob(8000000))")
            .unwrap();
        let copied = self::variant(folder.path(), &format!("[data]\nfrom = \"{}\"", app.display()));
        stop.store(true, Ordering::Relaxed);
        let error = Prepared::new(folder.path()).until(&stop).file(&copied, &mut |_, _| ()).unwrap_err();
        assert!(matches!(error, EngineError::Interrupted), "{error}");
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

    /// SQLite returns the same error as on a full disk.
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
