//! Every built-in workload with rows: the same database as one inserted row by row.

use crate::common::{flag, make, scratch, wal_normal};
use litelab_bulk::{GenerateOptions, generate};
use litelab_model::library::{self, Kind};
use litelab_model::plan::DataPlan;
use litelab_model::{Vars, resolve};
use litelab_protocol::draw::{Drawer, Value};
use rusqlite::types::Value as Cell;
use rusqlite::{Connection, params_from_iter};
use std::path::Path;

const ROWS: u64 = 4321;

/// Inserts the rows with the simplest loop.
fn row_by_row(path: &Path, schema: &str, data: &DataPlan, seed: u64) {
    let conn = Connection::open(path).expect("opens");
    conn.execute_batch(&format!("PRAGMA synchronous = OFF; {schema}; BEGIN")).expect("made");
    let transaction = data.transaction.as_ref().expect("rows");
    let drawer = Drawer::new(seed, &transaction.name, &transaction.params, 0);
    for row in 0..data.rows {
        for statement in &transaction.statements {
            let tuples = u64::from(statement.tuples);
            for execution in (0..u64::from(statement.repeat)).map(|k| row * u64::from(statement.repeat) + k) {
                let tuples = execution * tuples..(execution + 1) * tuples;
                let values = tuples.flat_map(|tuple| statement.bind.iter().map(move |p| (*p as usize, tuple)));
                let values = values.map(|(param, tuple)| match drawer.draw(param, tuple) {
                    Value::Null => Cell::Null,
                    Value::Integer(integer) => Cell::Integer(integer),
                    Value::Real(real) => Cell::Real(real),
                    Value::Text(text) => Cell::Text(text),
                });
                let mut statement = conn.prepare_cached(&statement.sql).expect("compiles");
                let mut rows = statement.query(params_from_iter(values)).expect("inserts");
                while rows.next().expect("inserts").is_some() {}
            }
        }
    }
    conn.execute_batch(&format!("COMMIT; {}", data.then.as_deref().unwrap_or_default())).expect("done");
}

/// All tables, in the order of the rowid if there is one.
fn content(path: &Path) -> Vec<(String, Vec<Vec<Cell>>)> {
    let conn = Connection::open(path).expect("opens");
    let tables = "SELECT name, wr FROM pragma_table_list WHERE type = 'table' AND schema = 'main' ORDER BY name";
    let mut tables = conn.prepare(tables).expect("compiles");
    let tables = tables.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?))).expect("lists");
    tables
        .map(|table| {
            let (name, without_rowid) = table.expect("is one");
            let columns = if without_rowid { "*" } else { "rowid, *" };
            let mut rows = conn.prepare(&format!("SELECT {columns} FROM \"{name}\"")).expect("compiles");
            let width = rows.column_count();
            let rows = rows.query_map([], |row| (0..width).map(|i| row.get(i)).collect()).expect("reads");
            (name, rows.collect::<Result<_, _>>().expect("reads"))
        })
        .collect()
}

/// A workload without values of the clock.
fn without_times(mut workload: (String, DataPlan)) -> (String, DataPlan) {
    let transaction = workload.1.transaction.as_mut().expect("rows");
    for param in &mut transaction.params {
        if matches!(param.source, litelab_protocol::Source::Now { .. }) {
            param.source = litelab_protocol::Source::Value { value: 1.into() };
        }
    }
    for statement in &mut transaction.statements {
        statement.sql = statement.sql.replace("julianday('now')", "julianday(2461000)");
    }
    workload
}

#[test]
fn every_workload_is_made_as_row_by_row() {
    let mut seen = 0;
    for name in Kind::Workload.built_in() {
        let (workload, _) = library::workload(name, None).expect("parses");
        if workload.data.is_none() {
            continue;
        }
        let workload = without_times(resolve::of_workload(name, None, Some(ROWS), &Vars::new()).expect("resolves"));
        let (folder, path) = scratch();
        let plain = folder.path().join("plain.db");
        row_by_row(&plain, &workload.0, &workload.1, 7);
        let options = GenerateOptions { seed: 7, batch: 1500, ..GenerateOptions::new(&path, workload, wal_normal()) };
        assert_eq!(make(&options).expect(name).rows, ROWS);
        assert!(content(&path) == content(&plain), "{name}");
        // Each of them can be replaced.
        make(&GenerateOptions { replace: true, ..options }).expect(name);
        seen += 1;
    }
    assert!(seen >= 6, "{seen} workloads have data");
}

#[test]
fn what_comes_then_is_done_and_can_be_cancelled() {
    let (schema, mut data) = resolve::of_workload("sqlite3perf", None, Some(3000), &Vars::new()).expect("resolves");
    data.then = Some("CREATE INDEX by_hash ON bench(hash); ANALYZE".into());
    let (folder, path) = scratch();
    let options = GenerateOptions::new(&path, (schema, data), wal_normal());
    make(&options).expect("made");
    assert!(content(&path).iter().any(|(name, rows)| name == "sqlite_stat1" && rows.len() == 2));
    // Objects created by `then` belong to the workload as well.
    make(&GenerateOptions { replace: true, ..options.clone() }).expect("replaced");

    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) INSERT INTO bench SELECT i, i, i FROM n WHERE i < 0";
    let data = DataPlan { then: Some(endless.into()), ..options.data.clone() };
    let cancel = flag();
    let options = GenerateOptions { data, path: folder.path().join("endless.db"), ..options };
    let mut stop = |p: litelab_bulk::Progress| {
        if p.phase == litelab_bulk::Phase::Then {
            std::thread::spawn(move || {
                std::thread::sleep(std::time::Duration::from_millis(50));
                cancel.store(true, std::sync::atomic::Ordering::Relaxed);
            });
        }
    };
    let result = generate(&options, &mut stop, cancel);
    assert!(matches!(result, Err(litelab_bulk::BulkError::Cancelled { rows: 3000 })), "{result:?}");
}
