//! When statements are compiled.

use litelab_protocol::{Begin, Fetch, Prepare, Source};

use super::{Found, passed};
use crate::draft::{Draft, TABLE, count, query, transaction};
use crate::error::{Result, timely};
use crate::subject::Subject;

/// Number of tables that the statement joins; SQLite allows 64. It takes milliseconds to plan that, and microseconds to
/// find that the first table is empty. The parameter is in no comparison: one with an indexed column is compiled anew for
/// each value where SQLite is built with `SQLITE_ENABLE_STAT4` (<https://sqlite.org/c3ref/prepare.html>).
const TABLES: u32 = 60;
/// Ratio of the times of executions with and without compilation that a driver must reach. SQLite's own is above 100,
/// that of a driver that hands calls to another thread above 20; two that both compile have differed by 3.6 on a busy
/// machine.
const RATIO: u64 = 10;

pub fn prepare(subject: &Subject<'_>) -> Found {
    let (once, each) = (shortest(subject, Prepare::Once)?, shortest(subject, Prepare::Each)?);
    let ms = |ns: u64| ns as f64 / 1e6;
    let what =
        format!("an execution takes {:.3} ms prepared once, and {:.3} ms prepared each time", ms(once), ms(each));
    timely!(once.saturating_mul(RATIO) < each, "{what}: one of them is not made");
    passed(what)
}

/// The shortest of the times of some executions, in nanoseconds: that on which the machine's load has least effect.
fn shortest(subject: &Subject<'_>, prepare: Prepare) -> Result<u64> {
    let database = subject.database(TABLE)?;
    let tables: Vec<String> = (0..TABLES).map(|i| format!("t t{i}")).collect();
    let joined: Vec<String> = (1..TABLES).map(|i| format!(" AND t{i}.id = t{}.id", i - 1)).collect();
    let sql = format!("SELECT ?1 FROM {} WHERE t0.id = 1{}", tables.join(", "), joined.concat());
    let key = vec![("key", Source::Sequence { start: 1, step: 1 })];
    let read = transaction("read", Begin::None, key, vec![query(&sql, &[0], Fetch::All)]);
    let mut trial = Draft::new(subject).on(&*database).transaction(read).only(1, count(9));
    trial.prepare = prepare;
    let heard = subject.run(&trial)?;
    Ok(heard.first().service.quantile(0.0).unwrap_or_default())
}
