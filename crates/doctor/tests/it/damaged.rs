//! Damaged files: no bytes of a database, its log, its wal-index or its journal make a look panic. PROPTEST_CASES is the
//! number of cases.

use std::path::Path;
use std::sync::LazyLock;

use litelab_doctor::facts::{File, Schema};
use litelab_doctor::{Facts, Judge, Rule, file, look, rule, schema, snapshot};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;
use rusqlite::Connection;

const SUFFIXES: [&str; 4] = ["", "-wal", "-shm", "-journal"];
/// Share of the cases that SQLite reads and the rules judge too, as one in this number: it takes a hundred times longer.
const JUDGED: usize = 256;

/// Bytes of the files of a database, in the order of `SUFFIXES`; empty for none.
type Files = [Vec<u8>; 4];

/// Databases in the state in which another process would find them: with a log and its index, and with a hot journal.
static REAL: LazyLock<Vec<Files>> = LazyLock::new(|| {
    let schema = "CREATE TABLE note(id INTEGER PRIMARY KEY, user_id INT REFERENCES user(id), text TEXT CHECK (text IN ('a','b','c')));
                  CREATE TABLE user(id INT PRIMARY KEY) WITHOUT ROWID; CREATE INDEX note_by_user ON note(user_id);
                  CREATE TABLE big(x); CREATE VIEW v AS SELECT * FROM note; INSERT INTO note VALUES (1, NULL, 'a'); ANALYZE;";
    let of = |before: &str, after: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(&format!("PRAGMA page_size = 512; {before}; {schema} {after}")).unwrap();
        let bytes = |suffix: &str| std::fs::read(folder.path().join(format!("app.db{suffix}"))).unwrap_or_default();
        SUFFIXES.map(bytes)
    };
    vec![
        of("PRAGMA journal_mode = WAL", ""),
        of("PRAGMA journal_mode = WAL", "PRAGMA wal_checkpoint; INSERT INTO note VALUES (2, NULL, 'b');"),
        of("PRAGMA auto_vacuum = incremental", "PRAGMA cache_size = 1; BEGIN; INSERT INTO big VALUES (zeroblob(9000))"),
        of("PRAGMA encoding = 'UTF-16be'", ""),
    ]
});

/// A change of a file: some of its bytes, most of them in its header, and its length.
#[derive(Clone, Debug)]
struct Change {
    edits: Vec<(bool, Index, u8)>,
    length: Option<Index>,
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        for (anywhere, at, byte) in &self.edits {
            let range = if *anywhere { bytes.len() } else { bytes.len().min(136) };
            bytes[at.index(range)] = *byte;
        }
        if let Some(length) = self.length {
            bytes.resize(length.index(bytes.len() + 600), 0);
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    let edits = proptest::collection::vec((proptest::bool::weighted(0.3), any::<Index>(), any::<u8>()), 0..5);
    let length = proptest::option::weighted(0.2, any::<Index>());
    (edits, length).prop_map(|(edits, length)| Change { edits, length })
}

fn judged(path: &Path, file: File, judge: &Judge, rules: &[Rule]) {
    let schema = snapshot::read(path, schema::look).map_or_else(
        |error| Schema { unread: Some(error.to_string()), ..Schema::default() },
        |snapshot| snapshot.content,
    );
    let facts = Facts { file, schema, ..look::nothing("app.db") };
    for finding in judge.findings(rules, &facts).unwrap() {
        assert!(!finding.message.is_empty() && !finding.fix.is_empty(), "{finding:?}");
    }
}

#[test]
fn damaged_files_never_panic() {
    let (judge, rules, folder) = (Judge::default(), rule::all().unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path().join("app.db");
    let cases = (0..4usize, proptest::array::uniform4(change()), 0..JUDGED);
    let mut runner = TestRunner::new(ProptestConfig::with_source_file(file!()));
    let result = runner.run(&cases, |(which, changes, turn)| {
        for ((real, change), suffix) in REAL[which].iter().zip(&changes).zip(SUFFIXES) {
            let file = folder.path().join(format!("app.db{suffix}"));
            if real.is_empty() {
                let _absent = std::fs::remove_file(file);
                continue;
            }
            let mut bytes = real.clone();
            change.apply(&mut bytes);
            std::fs::write(file, bytes).unwrap();
        }
        let file = file::look(&path);
        let states = ["database", "empty", "truncated", "foreign", "damaged"];
        prop_assert!(states.contains(&file.state), "{file:?}");
        if turn == 0 {
            judged(&path, file, &judge, &rules);
        }
        Ok(())
    });
    result.unwrap();
}
