//! Connections that are refused, lost or silent. A proxy of the suite is between the runner and the server.

use std::net::TcpListener;
use std::time::Duration;

use litelab_protocol::codes::{CONNECTION_LOST, CONNECTION_REFUSED, CONNECTION_TIMEOUT};
use litelab_protocol::{Database, Load, Transaction, Trial, Until};

use super::{Found, passed};
use crate::conversation::Started;
use crate::database::CheckDatabase;
use crate::draft::{Draft, TABLE, count, insert, slow_insert, statement};
use crate::error::{At, CheckError, Result, ensure, timely, tries};
use crate::proxy::{Proxy, elsewhere};
use crate::subject::Subject;

/// Transactions of a trial, each followed by a pause of some milliseconds.
const INSERTS: u64 = 40;
/// Time from `go` until the connection is lost, while transactions run.
const AMID: Duration = Duration::from_millis(150);

/// A trial that reaches its server through a proxy.
struct Through {
    database: Box<dyn CheckDatabase>,
    proxy: Proxy,
    trial: Trial,
}

impl Through {
    /// Each insert pauses inside its transaction, and stores a setting of its connection in the row.
    fn new(subject: &Subject<'_>, on: &[&str]) -> Result<Self> {
        let database = subject.database(TABLE)?;
        // Name of a setting, its value, and the SQL expression that reads it.
        let postgres = ("lock_timeout", "4321", "current_setting('lock_timeout')");
        let mysql = ("innodb_lock_wait_timeout", "4321", "@@innodb_lock_wait_timeout");
        let (name, value, asked) = subject.by(("", "", ""), postgres, mysql);
        let noted = statement(&format!("INSERT INTO t VALUES (?1, ?2, {asked})"), &[0, 1]);
        let noting = Transaction { statements: vec![noted], ..slow_insert(5_000) };
        let draft = Draft::new(subject).on(&*database).setting(name, value).transaction(noting).retries(5, on);
        let mut trial = draft.only(1, count(INSERTS));
        trial.roles[0].load = Load::Closed { think_us: 5_000 };
        let url = url(&mut trial)?;
        let proxy = Proxy::before(url)?;
        *url = proxy.url(url);
        Ok(Self { database, proxy, trial })
    }

    /// Starts the trial and disturbs its connection while transactions run.
    fn disturbed(&self, subject: &Subject<'_>, disturb: fn(&Proxy)) -> Result<Started> {
        let mut started = subject.start(&self.trial)?;
        started.go();
        std::thread::sleep(AMID);
        disturb(&self.proxy);
        Ok(started)
    }
}

/// The URL of the trial's server.
fn url(trial: &mut Trial) -> Result<&mut String> {
    match &mut trial.databases[0] {
        Database::Server { url, .. } => Ok(url),
        _ => Err("it is on no server".into()),
    }
}

/// The connection is cut while transactions run, once without and once with a retry.
pub fn lost(subject: &Subject<'_>) -> Found {
    tries(|_| notices(subject, &[], Proxy::cut, CONNECTION_LOST))?;
    tries(|_| notices(subject, &[CONNECTION_LOST], Proxy::cut, CONNECTION_LOST))?;
    passed("its transaction failed or was tried again, on a new connection with the same settings")
}

/// One transaction must fail with this code. All others must commit, on a connection with the same settings.
fn notices(subject: &Subject<'_>, on: &[&str], disturb: fn(&Proxy), code: &str) -> Result {
    let through = Through::new(subject, on)?;
    let heard = subject.finish(&through.trial, through.disturbed(subject, disturb)?)?;
    let operation = heard.first();
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
    let found = (heard.errors(code), failed, committed);
    let wanted = if on.is_empty() { ((1, 0), 1, INSERTS - 1) } else { ((1, 1), 0, INSERTS) };
    ensure!(
        found == wanted,
        "one of {INSERTS} lost its connection: errors (seen, cured), failures and commits {wanted:?} are due, and it \
         counts {found:?}"
    );
    let rows = through.database.integer("SELECT count(*) FROM t")? as u64;
    // A COMMIT without a response may or may not have succeeded.
    ensure!(
        (committed..=committed + failed).contains(&rows),
        "{committed} were committed and {failed} not, and there are {rows} rows"
    );
    let settings = through.database.integer("SELECT count(DISTINCT value) FROM t")?;
    ensure!(settings == 1, "its connections had {settings} values of the same setting");
    Ok(())
}

/// Tests three failures of a server in parallel: an open connection becomes silent, a new connection receives no
/// response, and the server no longer listens. The protocol defines the timeout of each.
pub fn gone(subject: &Subject<'_>) -> Found {
    let silent = || tries(|_| notices(subject, &[], Proxy::freeze, CONNECTION_TIMEOUT));
    std::thread::scope(|scope| {
        let silent = scope.spawn(move || silent().at("a connection that says nothing"));
        let mute = scope.spawn(|| mute(subject).at("a server that accepts and says nothing"));
        let nobody = nobody(subject).at("a server that is gone");
        let ended = |thread: std::thread::ScopedJoinHandle<'_, Result>| {
            thread.join().unwrap_or_else(|_| Err(CheckError::from("the suite itself failed")))
        };
        nobody.and(ended(mute)).and(ended(silent))
    })?;
    passed(format!("{CONNECTION_TIMEOUT}, {CONNECTION_REFUSED}, and no trial hung"))
}

fn nobody(subject: &Subject<'_>) -> Result {
    let mut through = Through::new(subject, &[])?;
    // Long enough that transactions still run when the server closes, even on a slow machine.
    through.trial.roles[0].until = Until::Time { ms: 60_000 };
    let failed = through.disturbed(subject, Proxy::close)?.fails()?;
    ensure!(
        failed.code.as_deref() == Some(CONNECTION_REFUSED),
        "nobody listens any more, and its trial failed with the code {:?}: {}",
        failed.code,
        failed.reason
    );
    Ok(())
}

/// The kernel accepts connections to a listening socket, but no program answers them.
fn mute(subject: &Subject<'_>) -> Result {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let database = subject.database(TABLE)?;
    let mut trial = Draft::new(subject).on(&*database).transaction(insert()).only(1, count(1));
    let url = url(&mut trial)?;
    *url = elsewhere(url, listener.local_addr()?);
    let code = subject.refused_at_once(&trial)?.code;
    ensure!(code.as_deref() == Some(CONNECTION_TIMEOUT), "its trial failed with the code {code:?}");
    Ok(())
}
