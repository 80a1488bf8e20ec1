//! Connections that are refused, lost or silent. A proxy of the suite is between the runner and the server.

use std::net::TcpListener;
use std::time::Duration;

use litelab_protocol::codes::{CONNECTION_LOST, CONNECTION_REFUSED, CONNECTION_TIMEOUT};
use litelab_protocol::{Database, Load, Transaction, Trial};

use super::{Found, Wrong, ensure, passed, timely, tries};
use crate::conversation::{Heard, refused_at_once};
use crate::draft::{Draft, TABLE, count, insert, slow_insert, statement};
use crate::place::CheckDatabase;
use crate::proxy::{Proxy, elsewhere};
use crate::subject::Subject;

/// Transactions of a trial, each followed by a pause of some milliseconds.
const INSERTS: u64 = 40;
/// Time from `go` until the connection is lost, while transactions run.
const AMID: Duration = Duration::from_millis(150);

/// A trial that reaches its server through a proxy.
struct Through {
    place: CheckDatabase,
    proxy: Proxy,
    trial: Trial,
}

/// Each insert pauses inside its transaction, and stores a setting of its connection in the row.
fn through(subject: &Subject<'_>, on: &[&str]) -> Result<Through, String> {
    let place = subject.database("through", TABLE)?;
    let (name, value, asked) = setting(subject);
    let noted = statement(&format!("INSERT INTO t VALUES (?1, ?2, {asked})"), &[0, 1]);
    let noting = Transaction { statements: vec![noted], ..slow_insert(5_000) };
    let draft = Draft::new(subject).on(&place).setting(name, value).transaction(noting);
    let mut trial = draft.role("w", 1, &["insert"], count(INSERTS)).build();
    trial.roles[0].load = Load::Closed { think_us: 5_000 };
    trial.retry.attempts = 5;
    trial.retry.on = on.iter().map(|c| (*c).to_owned()).collect();
    let Database::Server { url, .. } = &mut trial.databases[0] else { return Err("it is on no server".into()) };
    let proxy = Proxy::before(url)?;
    *url = proxy.url(url);
    Ok(Through { place, proxy, trial })
}

/// Name of a setting, its value, and the SQL expression that reads it.
fn setting(subject: &Subject<'_>) -> (&'static str, &'static str, &'static str) {
    let postgres = ("lock_timeout", "4321", "current_setting('lock_timeout')");
    subject.by(("", "", ""), postgres, ("innodb_lock_wait_timeout", "4321", "@@innodb_lock_wait_timeout"))
}

/// The connection is cut while transactions run, once without and once with a retry.
pub fn lost(subject: &Subject<'_>) -> Found {
    tries(|_| cut(subject, &[]))?;
    tries(|_| cut(subject, &[CONNECTION_LOST]))?;
    passed("its transaction failed or was tried again, on a new connection with the same settings")
}

fn cut(subject: &Subject<'_>, on: &[&str]) -> Result<(), Wrong> {
    let Through { place, proxy, trial } = through(subject, on)?;
    let mut started = subject.start(&trial)?;
    started.go();
    std::thread::sleep(AMID);
    proxy.cut();
    let heard = subject.finish(&trial, started)?;
    noticed(&place, &heard, CONNECTION_LOST, !on.is_empty())
}

/// One transaction must fail with this code. All others must commit, on a connection with the same settings.
fn noticed(place: &CheckDatabase, heard: &Heard, code: &str, retried: bool) -> Result<(), Wrong> {
    let operation = &heard.result.operations[0];
    let names: Vec<_> = operation.errors.keys().map(String::as_str).collect();
    // On a busy machine the trial may end before the cut, or a COMMIT whose response was lost may have succeeded before
    // its retry.
    timely!(!names.is_empty(), "its connection was lost, and it counts no error");
    timely!(
        !names.iter().any(|name| *name == "unique_violation" || *name == "ER_DUP_ENTRY"),
        "a commit that had no answer was done, and tried again: {names:?}"
    );
    ensure!(names == [code], "a connection that is lost is {code}, and it saw {names:?}");
    let (failed, committed) = (operation.failed, operation.committed);
    let errors = (operation.errors[code].seen, operation.errors[code].cured);
    let wanted = match retried {
        true => ((1, 1), 0, INSERTS),
        false => ((1, 0), 1, INSERTS - 1),
    };
    ensure!(
        (errors, failed, committed) == wanted,
        "one of {INSERTS} lost its connection: errors (seen, cured), failures and commits {wanted:?} are due, and it counts {:?}",
        (errors, failed, committed)
    );
    let rows = place.integer("SELECT count(*) FROM t")? as u64;
    // A COMMIT without a response may or may not have succeeded.
    ensure!(
        (committed..=committed + failed).contains(&rows),
        "{committed} were committed and {failed} not, and there are {rows} rows"
    );
    let settings = place.integer("SELECT count(DISTINCT value) FROM t")?;
    ensure!(settings == 1, "its connections had {settings} values of the same setting");
    Ok(())
}

/// Tests three failures of a server in parallel: an open connection becomes silent, a new connection receives no
/// response, and the server no longer listens. The protocol defines the timeout of each.
pub fn gone(subject: &Subject<'_>) -> Found {
    std::thread::scope(|scope| {
        let silent = scope.spawn(|| silent(subject).map_err(|e| format!("a connection that says nothing: {e}")));
        let mute = scope.spawn(|| mute(subject).map_err(|e| format!("a server that accepts and says nothing: {e}")));
        let nobody = nobody(subject).map_err(|e| format!("a server that is gone: {e}"));
        let ended = |thread: std::thread::ScopedJoinHandle<'_, Result<(), String>>| {
            thread.join().unwrap_or_else(|_| Err("the suite itself failed".into()))
        };
        nobody.and(ended(mute)).and(ended(silent))
    })?;
    passed(format!("{CONNECTION_TIMEOUT}, {CONNECTION_REFUSED}, and no trial hung"))
}

fn silent(subject: &Subject<'_>) -> Result<(), String> {
    tries(|_| {
        let Through { place, proxy, trial } = through(subject, &[])?;
        let mut started = subject.start(&trial)?;
        started.go();
        std::thread::sleep(AMID);
        proxy.freeze();
        let heard = subject.finish(&trial, started)?;
        noticed(&place, &heard, CONNECTION_TIMEOUT, false)
    })
}

fn nobody(subject: &Subject<'_>) -> Result<(), String> {
    let Through { place: _until_the_end, proxy, mut trial } = through(subject, &[])?;
    // Long enough that transactions still run when the server closes, even on a slow machine.
    trial.roles[0].until = litelab_protocol::Until::Time { ms: 60_000 };
    let mut started = subject.start(&trial)?;
    started.go();
    std::thread::sleep(AMID);
    proxy.close();
    let failed = started.fails()?;
    ensure!(
        failed.code.as_deref() == Some(CONNECTION_REFUSED),
        "nobody listens any more, and its trial failed with the code {:?}: {}",
        failed.code,
        failed.reason
    );
    Ok(())
}

/// The kernel accepts connections to a listening socket, but no program answers them.
fn mute(subject: &Subject<'_>) -> Result<(), String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|e| e.to_string())?;
    let address = listener.local_addr().map_err(|e| e.to_string())?;
    let place = subject.database("mute", TABLE)?;
    let mut trial = Draft::new(subject).on(&place).transaction(insert()).role("r", 1, &["insert"], count(1)).build();
    let Database::Server { url, .. } = &mut trial.databases[0] else { return Err("it is on no server".into()) };
    *url = elsewhere(url, address);
    let code = refused_at_once(subject, &trial)?.code;
    ensure!(code.as_deref() == Some(CONNECTION_TIMEOUT), "its trial failed with the code {code:?}");
    Ok(())
}
