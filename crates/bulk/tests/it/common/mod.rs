//! Shared parts of the tests.
#![allow(dead_code, reason = "each test file uses a part")]

use litelab_bulk::{BulkError, GenerateOptions, GenerateReport, VerifyOptions, VerifyReport, generate, verify};
use litelab_model::setting::Setting;
use litelab_model::{Scalar, Vars, library, pragma, resolve};
use rusqlite::Connection;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

/// A folder that is deleted with the test, and the path of a database in it.
pub fn scratch() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bench.db");
    (folder, path)
}

/// Variants of the schema of `sqlite3perf`.
pub const SCHEMAS: [&str; 3] = ["int", "integer", "without-rowid"];

static NEVER: AtomicBool = AtomicBool::new(false);

/// A cancel flag that the test may set.
pub fn flag() -> &'static AtomicBool {
    Box::leak(Box::new(AtomicBool::new(false)))
}

pub fn options(path: impl AsRef<Path>, rows: u64) -> GenerateOptions {
    of_schema("int", path, rows)
}

pub fn of_schema(schema: &str, path: impl AsRef<Path>, rows: u64) -> GenerateOptions {
    let workload = resolve::of_workload("sqlite3perf", Some(schema), Some(rows), &Vars::new()).expect("resolves");
    GenerateOptions::new(path, workload, wal_normal())
}

/// Settings of the profile `wal-normal`.
pub fn wal_normal() -> Vec<Setting> {
    let (profile, text) = library::profile("wal-normal", None).expect("is there");
    resolve::check_profile(&profile, &text, None).expect("is valid").settings
}

/// Settings of some PRAGMAs, in any order.
pub fn settings(pragmas: &[(&str, Scalar)]) -> Vec<Setting> {
    pragmas.iter().map(|(name, value)| pragma::parse(name, value).expect("is valid")).collect()
}

pub fn word(text: &str) -> Scalar {
    Scalar::Text(text.to_owned())
}

pub fn make(options: &GenerateOptions) -> Result<GenerateReport, BulkError> {
    generate(options, &mut |_| {}, &NEVER)
}

pub fn check(path: &Path, threads: usize) -> Result<VerifyReport, BulkError> {
    let threads = NonZeroUsize::new(threads).expect("not zero");
    verify(&VerifyOptions { threads, ..VerifyOptions::new(path) }, &mut |_| {}, &NEVER)
}

/// All rows in the order of ID.
pub fn rows(path: &Path) -> Vec<(i64, String, String)> {
    let conn = Connection::open(path).expect("opens");
    let mut statement = conn.prepare("SELECT ID, rand, hash FROM bench ORDER BY ID").expect("prepares");
    statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .and_then(Iterator::collect)
        .expect("reads")
}

/// Runs SQL on a database, without the crate under test.
pub fn alter(path: &Path, sql: &str) {
    Connection::open(path).and_then(|conn| conn.execute_batch(sql)).expect(sql);
}

pub fn count(path: &Path) -> u64 {
    let conn = Connection::open(path).expect("opens");
    let check: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("checks");
    assert_eq!(check, "ok");
    let count: i64 = conn.query_row("SELECT count(*) FROM bench", [], |row| row.get(0)).expect("counts");
    count.unsigned_abs()
}
