//! Settings, tested by their effects.

use std::time::Duration;

use litelab_observe::DatabaseHeader;
use litelab_protocol::{Begin, Dialect, Fetch, Source, Transaction, Trial};

use super::{Found, errors, passed};
use crate::database::{CheckDatabase, File};
use crate::dialect::locked_out;
use crate::draft::{Draft, TABLE, count, insert, query, statement, transaction};
use crate::error::{At, Result, ensure, timely, tries};
use crate::subject::Subject;

/// Tolerance between the requested timeout and the measured one: SQLite sleeps in steps of up to 100 ms, and the
/// machine may be busy. It is shorter than the default timeout of five seconds that many libraries have.
pub const SLACK: Duration = Duration::from_millis(4_000);

/// A setting and the test of its effect.
type Effect = (&'static str, fn(&Subject<'_>, &str) -> Result);

/// The settings of a dialect. An unlimited wait for a lock ends only at the timeout of a server's connection, so that
/// this test is the last one there.
fn settings(dialect: Dialect) -> &'static [Effect] {
    match dialect {
        Dialect::Sqlite => &[
            ("journal_mode", journal_mode),
            ("page_size", page_size),
            ("busy_timeout", lock_timeout),
            ("foreign_keys", foreign_keys),
            ("query_only", read_only),
        ],
        Dialect::Postgres => &[
            ("default_transaction_read_only", read_only),
            ("default_transaction_isolation", isolation),
            ("lock_timeout", lock_timeout),
        ],
        Dialect::Mysql => &[
            ("foreign_key_checks", foreign_keys),
            ("sql_select_limit", select_limit),
            ("innodb_lock_wait_timeout", lock_timeout),
        ],
    }
}

pub fn effects(subject: &Subject<'_>) -> Found {
    let settings = settings(subject.dialect());
    for (name, has_effect) in settings {
        has_effect(subject, name).at(name)?;
    }
    passed(settings.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "))
}

/// A trial of one transaction under this setting.
fn one(subject: &Subject<'_>, on: &dyn CheckDatabase, of: Transaction, (name, value): (&str, &str)) -> Trial {
    Draft::new(subject).on(on).transaction(of).setting(name, value).only(1, count(1))
}

/// Bytes 18 and 19 of the file header record write-ahead logging.
fn journal_mode(subject: &Subject<'_>, name: &str) -> Result {
    let file = subject.file(TABLE)?;
    for (mode, wal, id) in [("WAL", true, 0), ("DELETE", false, 1), ("TRUNCATE", false, 2)] {
        let mut insert = insert();
        insert.params[0].source = Source::Value { value: id.into() };
        subject.run(&one(subject, &file, insert, (name, mode)))?;
        let found = header(&file)?.wal;
        ensure!(found == wal, "{mode} was asked for, and the file says that write-ahead logging is {found}");
    }
    Ok(())
}

/// The header of a database file.
pub fn header(file: &File) -> Result<DatabaseHeader> {
    DatabaseHeader::read(&file.0).map_err(|e| e.to_string())?.ok_or_else(|| "the file is empty".into())
}

/// Page size of a file that the trial's first statement creates.
fn page_size(subject: &Subject<'_>, name: &str) -> Result {
    for size in [1024, 16_384] {
        let file = File(subject.new_path());
        let create = transaction("create", Begin::None, vec![], vec![statement(TABLE, &[])]);
        // The page size must be set before the first write, and the switch to WAL writes.
        let mut trial = one(subject, &file, create, (name, &size.to_string()));
        trial.connection.settings.rotate_right(1);
        subject.run(&trial)?;
        let found = header(&file)?.page_size;
        ensure!(found == size, "{size} was asked for, and the file has pages of {found}");
    }
    Ok(())
}

/// The suite holds a lock and measures how long an insert waits.
fn lock_timeout(subject: &Subject<'_>, name: &str) -> Result {
    let values = subject.by(
        [("0", 0), ("250", 250)],
        [("1", 1), ("250", 250)],
        // The unit of this setting is a second.
        [("0", 0), ("1", 1_000)],
    );
    for (value, ms) in values {
        let database = subject.database(TABLE)?;
        let trial = one(subject, &*database, insert(), (name, value));
        let heard = subject.run_locked(&trial, &*database, None)?;
        let code = locked_out(subject.dialect());
        ensure!(heard.errors(code).0 == 1, "with the lock held for good, the insert was not refused once as {code}");
        gave_up(subject.dialect(), Duration::from_millis(ms), Duration::from_nanos(heard.result.elapsed_ns))?;
    }
    Ok(())
}

/// Compares the time after which a driver gave up with the timeout that it was given.
pub fn gave_up(dialect: Dialect, wanted: Duration, took: Duration) -> Result {
    // SQLite may omit up to a millisecond of its last sleep. The servers' timers have a resolution of one millisecond,
    // and InnoDB checks only now and then.
    let least = if dialect.is_sqlite() { wanted.saturating_sub(Duration::from_millis(2)) } else { wanted / 2 };
    ensure!(took >= least && took <= wanted + SLACK, "{wanted:?} was asked for, and it gave up after {took:?}");
    Ok(())
}

fn foreign_keys(subject: &Subject<'_>, name: &str) -> Result {
    let code = subject.by("SQLITE_CONSTRAINT_FOREIGNKEY", "", "ER_NO_REFERENCED_ROW_2");
    for (value, refused) in subject.by([("ON", 1), ("OFF", 0)], [("", 0); 2], [("1", 1), ("0", 0)]) {
        let schema = "CREATE TABLE p(id INTEGER PRIMARY KEY); \
                      CREATE TABLE c(p INTEGER, FOREIGN KEY (p) REFERENCES p(id))";
        let database = subject.database(schema)?;
        let orphan = transaction("orphan", Begin::None, vec![], vec![statement("INSERT INTO c VALUES (7)", &[])]);
        let heard = subject.run(&one(subject, &*database, orphan, (name, value)))?;
        let (seen, _) = heard.errors(code);
        ensure!(seen == refused, "{value} was asked for, and a row without its parent was refused {seen} times");
    }
    Ok(())
}

fn read_only(subject: &Subject<'_>, name: &str) -> Result {
    let (value, code) = subject.by(("ON", "SQLITE_READONLY"), ("on", "read_only_sql_transaction"), ("", ""));
    let database = subject.database(TABLE)?;
    let heard = subject.run(&one(subject, &*database, insert(), (name, value)))?;
    ensure!(heard.errors(code).0 == 1, "{value} was asked for, and an insert was not refused as {code}");
    let rows = database.integer("SELECT count(*) FROM t")?;
    ensure!(rows == 0, "{value} was asked for, and an insert left a row");
    Ok(())
}

/// Negative control of [`errors::snapshot`]: under the default isolation level no snapshot is too old to write.
fn isolation(subject: &Subject<'_>, name: &str) -> Result {
    let code = errors::stale(subject.dialect()).unwrap_or_default();
    for (level, refused) in [("'read committed'", 0), ("'repeatable read'", 1)] {
        let heard = tries(|_| {
            let draft = Draft::new(subject).setting(name, level);
            let heard = errors::snapshot(subject, draft, 300, 150)?;
            let (seen, _) = heard.errors(code);
            // On a busy machine the suite may have finished its writes before the transaction read.
            timely!(
                seen == refused,
                "under {level} a write by an old view is refused {refused} times, and it counts {seen}"
            );
            Ok(heard)
        })?;
        let operation = heard.first();
        ensure!(operation.committed == 1 - refused, "{level}: {:?}", operation.errors);
    }
    Ok(())
}

fn select_limit(subject: &Subject<'_>, name: &str) -> Result {
    let database = subject.database("CREATE TABLE n(i INTEGER); INSERT INTO n VALUES (1), (2), (3), (4), (5)")?;
    let read = transaction("read", Begin::None, vec![], vec![query("SELECT i FROM n", &[], Fetch::All)]);
    let rows = subject.run(&one(subject, &*database, read, (name, "3")))?.first().rows;
    ensure!(rows == 3, "3 was asked for, and a query of 5 rows has {rows}");
    Ok(())
}
