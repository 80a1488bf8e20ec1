//! Settings, tested by their effects.

use std::time::Duration;

use litelab_observe::DatabaseHeader;
use litelab_protocol::{Begin, Dialect, Source, Transaction, Trial};

use super::{Found, NO_DATABASE, ensure, passed, server_effects, skipped};
use crate::conversation::Heard;
use crate::draft::{Draft, TABLE, count, insert, statement, transaction};
use crate::place::CheckDatabase;
use crate::subject::Subject;

/// Tolerance between the requested timeout and the measured one: SQLite sleeps in steps of up to 100 ms, and the
/// machine may be busy. It is shorter than the default timeout of five seconds that many libraries have.
pub const SLACK: Duration = Duration::from_millis(4_000);

pub fn effects(subject: &Subject<'_>) -> Found {
    if !subject.has_database() {
        return skipped(NO_DATABASE);
    }
    if subject.dialect() != Dialect::Sqlite {
        return server_effects::effects(subject);
    }
    journal_mode(subject).map_err(|e| format!("journal_mode: {e}"))?;
    page_size(subject).map_err(|e| format!("page_size: {e}"))?;
    busy_timeout(subject).map_err(|e| format!("busy_timeout: {e}"))?;
    foreign_keys(subject).map_err(|e| format!("foreign_keys: {e}"))?;
    query_only(subject).map_err(|e| format!("query_only: {e}"))?;
    passed("journal_mode, page_size, busy_timeout, foreign_keys, query_only")
}

/// A trial of one transaction under these settings.
pub(super) fn one(
    subject: &Subject<'_>,
    place: &CheckDatabase,
    transaction: Transaction,
    settings: &[(&str, &str)],
) -> Trial {
    let name = transaction.name.clone();
    let mut draft = Draft::new(subject).on(place).transaction(transaction);
    for (name, value) in settings {
        draft = draft.setting(name, value);
    }
    draft.role("r", 1, &[&name], count(1)).build()
}

/// Number of times that the trial's only transaction failed with this error.
pub(super) fn seen(heard: &Heard, code: &str) -> u64 {
    heard.result.operations.iter().filter_map(|o| o.errors.get(code)).map(|e| e.seen).sum()
}

/// Bytes 18 and 19 of the file header record write-ahead logging.
fn journal_mode(subject: &Subject<'_>) -> Result<(), String> {
    let path = subject.database("journal.db", TABLE)?;
    for (mode, wal, id) in [("WAL", true, 0), ("DELETE", false, 1), ("TRUNCATE", false, 2)] {
        let mut insert = insert();
        insert.params[0].source = Source::Value { value: id.into() };
        subject.run(&one(subject, &path, insert, &[("journal_mode", mode)]))?;
        let header = DatabaseHeader::read(path.file()?).map_err(|e| e.to_string())?.ok_or("the file is empty")?;
        ensure!(
            header.wal == wal,
            "{mode} was asked for, and the file says that write-ahead logging is {}",
            header.wal
        );
    }
    Ok(())
}

/// Page size of a file that the trial's first statement creates.
fn page_size(subject: &Subject<'_>) -> Result<(), String> {
    for size in [1024, 16_384] {
        let path = CheckDatabase::File(subject.directory.join(format!("pages-{size}.db")));
        let create = transaction("create", Begin::None, vec![], vec![statement(TABLE, &[])]);
        // The page size must be set before the first write, and the switch to WAL writes.
        let mut trial = one(subject, &path, create, &[("page_size", &size.to_string())]);
        trial.connection.settings.rotate_right(1);
        subject.run(&trial)?;
        let header = DatabaseHeader::read(path.file()?).map_err(|e| e.to_string())?.ok_or("the file is empty")?;
        ensure!(header.page_size == size, "{size} was asked for, and the file has pages of {}", header.page_size);
    }
    Ok(())
}

/// The suite holds the write lock and measures how long an insert waits.
fn busy_timeout(subject: &Subject<'_>) -> Result<(), String> {
    for wanted in [0, 250] {
        let path = subject.database(&format!("busy-{wanted}.db"), TABLE)?;
        let trial = one(subject, &path, insert(), &[("busy_timeout", &wanted.to_string())]);
        let mut started = subject.start(&trial)?;
        let lock = path.hold("t")?;
        started.go();
        let heard = subject.finish(&trial, started);
        drop(lock);
        let heard = heard?;
        ensure!(
            seen(&heard, "SQLITE_BUSY") == 1,
            "with the lock held for good, the insert was not refused once as SQLITE_BUSY"
        );
        let wanted = Duration::from_millis(wanted);
        let took = Duration::from_nanos(heard.result.elapsed_ns);
        // SQLite may omit up to a millisecond of its last sleep.
        let least = wanted.saturating_sub(Duration::from_millis(2));
        ensure!(took >= least && took <= wanted + SLACK, "{wanted:?} was asked for, and it gave up after {took:?}");
    }
    Ok(())
}

fn foreign_keys(subject: &Subject<'_>) -> Result<(), String> {
    for (value, refused) in [("ON", 1), ("OFF", 0)] {
        let schema = "CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE c(p INTEGER REFERENCES p(id))";
        let path = subject.database(&format!("foreign-{value}.db"), schema)?;
        let orphan = transaction("orphan", Begin::None, vec![], vec![statement("INSERT INTO c VALUES (7)", &[])]);
        let heard = subject.run(&one(subject, &path, orphan, &[("foreign_keys", value)]))?;
        let seen = seen(&heard, "SQLITE_CONSTRAINT_FOREIGNKEY");
        ensure!(seen == refused, "{value} was asked for, and a row without its parent was refused {seen} times");
    }
    Ok(())
}

fn query_only(subject: &Subject<'_>) -> Result<(), String> {
    let path = subject.database("query-only.db", TABLE)?;
    let heard = subject.run(&one(subject, &path, insert(), &[("query_only", "ON")]))?;
    ensure!(seen(&heard, "SQLITE_READONLY") == 1, "ON was asked for, and an insert was not refused as SQLITE_READONLY");
    ensure!(path.integer("SELECT count(*) FROM t")? == 0, "ON was asked for, and an insert left a row");
    Ok(())
}
