//! Generated values, compared with the reference implementation.

use std::time::{SystemTime, UNIX_EPOCH};

use litelab_protocol::draw::{Drawer, Value};
use litelab_protocol::{Begin, Dialect, NowUnit, Param, Prepare, Source, Statement, Table};

use super::sharing::{drawn, due, rows_are};
use super::{Found, passed};
use crate::database::CheckDatabase;
use crate::dialect::quoted;
use crate::draft::{Draft, TABLE, count, row_params, statement, transaction};
use crate::error::{At, Result, ensure};
use crate::subject::Subject;

/// Every source whose value is a function of seed, row and worker. The first two are row and worker.
fn sources() -> Vec<(&'static str, Source)> {
    let safe = 1_i64 << 52;
    let json = |text: &str| serde_json::from_str(text).unwrap_or_default();
    vec![
        ("row", Source::Sequence { start: 0, step: 1 }),
        ("worker", Source::Worker),
        ("down", Source::Sequence { start: 7, step: -1_000_000_007 }),
        ("integer", Source::Value { value: json("-9007199254740991") }),
        ("real", Source::Value { value: json("0.1") }),
        ("null", Source::Value { value: json("null") }),
        ("unicode", Source::Value { value: json(r#""naïve 'quotes' \"and\" 雪 🦀""#) }),
        (
            "choice",
            Source::Choice { values: vec!["a".into(), 2.into(), json("null"), json("0.5"), "".into(), "ä".into()] },
        ),
        ("die", Source::Uniform { low: 1, high: 6 }),
        ("wide", Source::Uniform { low: -safe, high: safe - 1 }),
        ("one", Source::Uniform { low: 42, high: 42 }),
        (
            "table",
            Source::Table(Table {
                cut: vec![1 << 51, 1 << 52, (1 << 52) + (1 << 51), 1 << 53],
                low: vec![1, 2, -50, 1_000],
                width: vec![1, 1, 40, 1_000_000],
            }),
        ),
        ("hex", Source::Hex { bytes: 8 }),
        ("hex_odd", Source::Hex { bytes: 13 }),
        ("hex_none", Source::Hex { bytes: 0 }),
        ("text", Source::Text { chars: 23 }),
        ("text_ten", Source::Text { chars: 10 }),
        ("hash_of_hex", Source::Sha256Of { param: 13 }),
        ("hash_of_text", Source::Sha256Of { param: 15 }),
        ("hash_of_integer", Source::Sha256Of { param: 9 }),
        ("format", Source::Format { template: "{worker}/{row}: {row}".into() }),
        // The formatter must leave `{}`, `{x}` and lone braces unchanged.
        ("braces", Source::Format { template: "{ {x} } {}".into() }),
    ]
}

pub fn values(subject: &Subject<'_>) -> Found {
    let mut compared = 0;
    for (seed, workers, rows) in [(1, 1, 40), ((1 << 53) - 1, 3, 30)] {
        compared += of_seed(subject, seed, workers, rows).at(format_args!("seed {seed}"))?;
    }
    clock(subject)?;
    passed(format!("{compared} values of {} sources", sources().len()))
}

fn of_seed(subject: &Subject<'_>, seed: u64, workers: u32, rows: u64) -> Result<usize> {
    let sources = sources();
    let columns: Vec<&str> = sources.iter().map(|(name, _)| *name).collect();
    let define =
        |(name, source): &(&str, Source)| format!("{} {}", quoted(subject.dialect(), name), column(subject, source));
    let columns_as_defined: Vec<String> = sources.iter().map(define).collect();
    let schema = format!("CREATE TABLE v({})", columns_as_defined.join(", "));
    let database = subject.database(&schema)?;
    let marks: Vec<String> = (1..=columns.len()).map(|i| format!("?{i}")).collect();
    let bind: Vec<u32> = (0..columns.len() as u32).collect();
    let insert = statement(&format!("INSERT INTO v VALUES ({})", marks.join(",")), &bind);
    let draft =
        Draft::new(subject).on(&*database).transaction(transaction("draw", Begin::None, sources.clone(), vec![insert]));
    // The first role offsets the worker numbers of the second.
    let mut trial = draft.role("first", 1, &["draw"], count(2)).role("second", workers, &["draw"], count(rows)).build();
    trial.seed = seed;
    subject.run(&trial)?;
    let params: Vec<Param> = sources.into_iter().map(|(name, source)| Param { name: name.into(), source }).collect();
    let found = database.rows(&format!("SELECT * FROM v ORDER BY {}", quoted(subject.dialect(), "row")))?;
    ensure!(found.len() as u64 == rows + 2, "{} rows, and {} were inserted", found.len(), rows + 2);
    for row in &found {
        let (Value::Integer(number), Value::Integer(worker)) = (&row[0], &row[1]) else {
            return Err(format!("a row's number and worker are {:?} and {:?}, not integers", row[0], row[1]).into());
        };
        let drawer = Drawer::new(seed, "draw", &params, *worker as u32);
        for (i, value) in row.iter().enumerate() {
            let expected = held(column(subject, &params[i].source), drawer.draw(i, *number as u64));
            ensure!(*value == expected, "row {number}, `{}`: {value:?}, the reference draws {expected:?}", columns[i]);
        }
    }
    Ok(found.len() * columns.len())
}

/// Column type for the values of a source. Empty for SQLite: a column without a type keeps each value in the type in
/// which it was bound.
fn column(subject: &Subject<'_>, source: &Source) -> &'static str {
    let plain = |value: &Value| if matches!(value, Value::Real(_)) { "DOUBLE PRECISION" } else { "TEXT" };
    match (subject.dialect(), source) {
        (Dialect::Sqlite, _) => "",
        (_, Source::Sequence { .. } | Source::Worker | Source::Uniform { .. } | Source::Table(_)) => "BIGINT",
        (_, Source::Value { .. }) => {
            let param = Param { name: String::new(), source: source.clone() };
            match Drawer::new(0, "", &[param], 0).draw(0, 0) {
                Value::Integer(_) => "BIGINT",
                other => plain(&other),
            }
        }
        _ => "TEXT",
    }
}

/// The value as a column of this type stores it.
fn held(column: &str, value: Value) -> Value {
    match value {
        Value::Integer(i) if column == "TEXT" => Value::Text(i.to_string()),
        Value::Real(r) if column == "TEXT" => Value::Text(r.to_string()),
        other => other,
    }
}

/// The wall clock in each of its formats.
fn clock(subject: &Subject<'_>) -> Result {
    let typed = "CREATE TABLE c(s BIGINT, ms BIGINT, us BIGINT, iso TEXT)";
    let database = subject.database(subject.by("CREATE TABLE c(s, ms, us, iso)", typed, typed))?;
    let units = [("s", NowUnit::S), ("ms", NowUnit::Ms), ("us", NowUnit::Us), ("iso", NowUnit::Iso)];
    let params = units.into_iter().map(|(name, unit)| (name, Source::Now { unit })).collect();
    let insert = statement("INSERT INTO c VALUES (?1, ?2, ?3, ?4)", &[0, 1, 2, 3]);
    let now = transaction("now", Begin::None, params, vec![insert]);
    let trial = Draft::new(subject).on(&*database).transaction(now).only(1, count(3));
    let seconds = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() as i64;
    let before = seconds();
    subject.run(&trial)?;
    let after = seconds();
    let seen = subject.by(
        "SELECT s, ms / 1000, us / 1000000, unixepoch(iso), typeof(iso), length(iso) FROM c",
        "SELECT s, ms / 1000, us / 1000000, CAST(floor(extract(epoch FROM CAST(iso AS timestamptz))) AS bigint), 'text', \
         length(iso) FROM c",
        "SELECT s, ms DIV 1000, us DIV 1000000, \
         TIMESTAMPDIFF(SECOND, '1970-01-01 00:00:00', REPLACE(REPLACE(iso, 'T', ' '), 'Z', '')), 'text', \
         length(iso) FROM c",
    );
    for row in database.rows(seen)? {
        for (column, value) in ["s", "ms", "us", "iso"].iter().zip(&row) {
            let right = matches!(value, Value::Integer(i) if (before..=after).contains(i));
            ensure!(right, "`now` as {column} is {value:?}, the suite's clock said {before} to {after}");
        }
        ensure!(
            row[4..] == [Value::Text("text".into()), Value::Integer(24)],
            "`now` as iso is not 2026-01-31T12:34:56.789Z"
        );
    }
    Ok(())
}

/// Two roles share a transaction of several tuples and repetitions. The rows must be exactly those of the operations,
/// each once, with statements prepared once and each time.
pub fn operations(subject: &Subject<'_>) -> Found {
    for prepare in [Prepare::Once, Prepare::Each] {
        let database = subject.database(TABLE)?;
        let insert = Statement {
            tuples: 3,
            repeat: 2,
            ..statement("INSERT INTO t VALUES (?1, ?2, ?3), (?4, ?5, ?6), (?7, ?8, ?9)", &[0, 1, 2])
        };
        let mut trial = Draft::new(subject)
            .on(&*database)
            .transaction(transaction("insert", Begin::Immediate, row_params(), vec![insert]))
            .role("a", 2, &["insert"], count(5))
            .role("b", 1, &["insert"], count(4))
            .build();
        trial.prepare = prepare;
        let heard = subject.run(&trial)?;
        let rows: u64 = heard.result.operations.iter().map(|o| o.rows).sum();
        ensure!(rows == 9 * 6, "prepared {prepare:?}: 9 transactions write 6 rows each, and it counted {rows}");
        let mut expected = Vec::new();
        for role in &trial.roles {
            (0..role.workers).for_each(|k| expected.extend(drawn(role, k, due(role, k), 6)));
        }
        rows_are(&*database, expected).at(format_args!("prepared {prepare:?}"))?;
    }
    passed("54 rows, prepared once and each time")
}

/// Loads a thousand rows and compares the content hash that the engine computes after every trial.
pub fn content(subject: &Subject<'_>) -> Found {
    const ROWS: u64 = 1_000;
    let schema = "CREATE TABLE item(id INTEGER PRIMARY KEY, payload TEXT, hash TEXT)";
    let sql = "INSERT INTO item VALUES (?1, ?2, ?3)";
    let sources = vec![
        ("id", Source::Sequence { start: 1, step: 1 }),
        ("payload", Source::Hex { bytes: 32 }),
        ("hash", Source::Sha256Of { param: 1 }),
    ];
    let insert = Statement { repeat: 100, ..statement(sql, &[0, 1, 2]) };
    let database = subject.database(schema)?;
    let load = transaction("load", Begin::Immediate, sources, vec![insert]);
    let trial = Draft::new(subject).on(&*database).transaction(load.clone()).only(1, count(ROWS / 100));
    subject.run(&trial)?;
    // An SQLite file for servers as well: the same content has the same hash on every database.
    let reference = subject.file(schema)?;
    let drawer = Drawer::new(trial.seed, &load.name, &load.params, 0);
    reference.insert("item", (0..ROWS).map(|row| [0, 1, 2].map(|i| drawer.draw(i, row)).to_vec()).collect())?;
    let (found, expected) = (database.content("item")?, reference.content("item")?);
    ensure!(found == expected, "the content's hash is {found}, the reference's {expected}");
    passed(format!("{ROWS} rows, {}…", &found[..12]))
}
