//! Databases in memory.

use litelab_protocol::{Database, Sharing};

use super::{Found, passed};
use crate::database::{CheckDatabase, File};
use crate::draft::{Draft, TABLE, count, insert, slow_insert};
use crate::error::{At, Result, ensure};
use crate::subject::Subject;

pub fn memory(subject: &Subject<'_>) -> Found {
    let omitted = (subject.driver.sqlite.iter().flat_map(|s| &s.compile_options)).any(|o| o == "OMIT_SHARED_CACHE");
    one(subject, false)?;
    if omitted {
        return passed("private to a connection; its SQLite is built without a shared cache");
    }
    one(subject, true)?;
    passed("private to a connection, and shared by two")
}

fn one(subject: &Subject<'_>, shared: bool) -> Result {
    let kind = if shared { "shared" } else { "private" };
    let dump = subject.directory.join(format!("{kind}.db"));
    let draft = Draft::new(subject).transaction(if shared { slow_insert(0) } else { insert() });
    // Connections with a shared cache lock each other's tables, and the busy timeout does not apply to these locks.
    let mut draft = draft.profile(&[("synchronous", "OFF")]).retries(100_000, &["SQLITE_LOCKED", "SQLITE_BUSY"]);
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
    let mut trial = draft.only(if shared { 2 } else { 1 }, count(20));
    (trial.retry.backoff_us, trial.retry.max_backoff_us) = (100, 100);
    let heard = subject.run(&trial).at(kind)?;
    ensure!(heard.first().committed == 20, "{kind}: {:?}", heard.first().errors);
    ensure!(dump.exists(), "{kind}: `VACUUM INTO` of its teardown left no file");
    let ids = File(dump).integers("SELECT id FROM t ORDER BY id")?;
    ensure!(ids == (-3..20).collect::<Vec<_>>(), "{kind}: rows -3 to 19 are due, and there are {ids:?}");
    Ok(())
}
