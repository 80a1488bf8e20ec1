//! Databases in memory.

use litelab_protocol::{Database, Dialect, Sharing, Trial};

use super::{Found, NO_DATABASE, ensure, passed, skipped};
use crate::draft::{Draft, TABLE, count, insert, slow_insert};
use crate::place::CheckDatabase;
use crate::subject::Subject;

pub fn memory(subject: &Subject<'_>) -> Found {
    if !subject.has_database() {
        return skipped(NO_DATABASE);
    }
    if subject.dialect() != Dialect::Sqlite {
        return skipped("a server has its databases where it has them");
    }
    let omitted = (subject.driver.sqlite.iter().flat_map(|s| &s.compile_options)).any(|o| o == "OMIT_SHARED_CACHE");
    one(subject, false)?;
    if omitted {
        return passed("private to a connection; its SQLite is built without a shared cache");
    }
    one(subject, true)?;
    passed("private to a connection, and shared by two")
}

fn one(subject: &Subject<'_>, shared: bool) -> Result<(), String> {
    let kind = if shared { "shared" } else { "private" };
    let dump = subject.directory.join(format!("{kind}.db"));
    let mut draft = Draft::new(subject).transaction(if shared { slow_insert(0) } else { insert() });
    draft.trial.connection.settings = vec![crate::draft::pragma("synchronous", "OFF")];
    if !shared && draft.trial.sharing != Sharing::OwnConnection {
        draft.trial.sharing = if subject.has_sharing("one-connection") {
            Sharing::OneConnection
        } else {
            Sharing::Pool { connections: 1 }
        };
    }
    draft.trial.databases.push(Database::Memory {
        shared,
        name: format!("conformance-{kind}"),
        setup: vec![TABLE.into(), "INSERT INTO t VALUES (-1, -1, 'setup'), (-2, -1, 'setup')".into()],
        teardown: vec![
            "INSERT INTO t VALUES (-3, -1, 'teardown')".into(),
            format!("VACUUM INTO '{}'", dump.display().to_string().replace('\'', "''")),
        ],
    });
    let workers = if shared { 2 } else { 1 };
    let mut trial: Trial = draft.role("w", workers, &["insert"], count(20)).build();
    // Connections with a shared cache lock each other's tables, and the busy timeout does not apply to these locks.
    trial.retry.attempts = 100_000;
    trial.retry.on = vec!["SQLITE_LOCKED".into(), "SQLITE_BUSY".into()];
    (trial.retry.backoff_us, trial.retry.max_backoff_us) = (100, 100);
    let heard = subject.run(&trial).map_err(|e| format!("{kind}: {e}"))?;
    ensure!(heard.result.operations[0].committed == 20, "{kind}: {:?}", heard.result.operations[0].errors);
    ensure!(dump.exists(), "{kind}: `VACUUM INTO` of its teardown left no file");
    let ids = CheckDatabase::File(dump).integers("SELECT id FROM t ORDER BY id")?;
    ensure!(ids == (-3..20).collect::<Vec<_>>(), "{kind}: rows -3 to 19 are due, and there are {ids:?}");
    Ok(())
}
