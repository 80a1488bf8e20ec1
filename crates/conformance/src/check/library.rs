//! What the checks of drivers share that offer an interface in place of SQL.
//!
//! The suite assumes nothing about how a library stores its work: it gives each operation a unique, drawn value, and
//! counts the rows of the file that contain it, in whatever tables.

pub mod content;

use std::ops::Range;
use std::time::{Duration, Instant};

use litelab_protocol::draw::{Drawer, Value};
use litelab_protocol::{ConnectionSettings, Sharing, Transaction, Trial};

use self::content::Content;
use super::{Found, effects, passed, settings};
use crate::database::File;
use crate::draft::{Draft, count};
use crate::error::{At, Result, ensure};
use crate::subject::Subject;

/// Settings that are read back from a library that runs without a profile.
const OWN: [&str; 3] = ["journal_mode", "synchronous", "busy_timeout"];
/// Limit for processes that the killed runner has started: they may outlive the runner, but not its trial.
const AFTERMATH: Duration = Duration::from_secs(60);
/// Reason why the file of a driver without SQLite is not checked.
pub const KEEPS_NOTHING: &str = "it has no SQLite inside, and keeps nothing";

/// An interface, as the shared checks use it.
pub struct Library {
    /// Makes a trial with all transactions on a file.
    pub draft: fn(&Subject<'_>, &File) -> Draft,
    /// The transaction that the shared checks run; it has one statement.
    pub usual: &'static str,
    /// That statement in forms that must be refused: SQL, an unknown operation, another interface, and an operation with
    /// its first argument only.
    pub wrong: [&'static str; 4],
    /// Settings that are no library's and no build's default.
    pub profiles: &'static [&'static [(&'static str, &'static str)]],
    /// Whether the library may refuse a profile.
    pub refuses_profiles: bool,
}

/// A change that makes a trial invalid.
pub type Case = (&'static str, fn(&mut Trial));

/// Trials that are not valid for the interface must be refused before `ready`, in one line.
pub fn refusals(subject: &Subject<'_>, library: &Library, more: &[Case]) -> Found {
    let file = empty(subject)?;
    let good = || (library.draft)(subject, &file).role("r", 1, &[library.usual], count(1)).build();
    let names = ["SQL", "an operation that there is not", "another interface", "too few arguments"];
    let mut cases: Vec<(&str, Trial)> = Vec::new();
    for (name, sql) in names.into_iter().zip(library.wrong) {
        let mut trial = good();
        let statement = &mut trial.transactions[0].statements[0];
        statement.sql = sql.into();
        statement.bind.truncate(sql.matches('?').count());
        cases.push((name, trial));
    }
    let mut unknown = good();
    unknown.connection.options.insert("no_such_option".into(), true.into());
    cases.push(("an unknown option", unknown));
    let sharings = [Sharing::OwnConnection, Sharing::Pool { connections: 2 }, Sharing::WriterReaders { readers: 1 }];
    if let Some(sharing) = sharings.into_iter().find(|a| !subject.has_sharing(a.kind())) {
        cases.push(("a sharing it does not have", Trial { sharing, ..good() }));
    }
    for (name, change) in more {
        let mut trial = good();
        change(&mut trial);
        cases.push((name, trial));
    }
    for (what, trial) in &cases {
        let failed = subject.refused_at_once(trial).at(what)?;
        ensure!(!failed.reason.contains('\n'), "{what}: its reason has several lines: {:?}", failed.reason);
    }
    passed(format!("{} of {}", cases.len(), cases.len()))
}

/// Settings without a profile and under each profile, for every sharing and executor.
pub fn read_back(subject: &Subject<'_>, library: &Library) -> Found {
    let (mut own, mut seen, mut refused) = (None, 0, Vec::new());
    for profile in [&[][..]].iter().chain(library.profiles) {
        for way in subject.ways() {
            match reads_back(&way, library, profile).at(way.way())? {
                Ok(connections) => {
                    seen += connections.len();
                    own = own.or_else(|| connections.first().map(shown));
                }
                Err(reason) => refused.push(format!("; a profile is refused: {reason}")),
            }
        }
    }
    passed(format!("as it comes {}; {seen} connections{}", own.unwrap_or_default(), refused.concat()))
}

/// Returns the connections, or the reason for which the profile is refused.
fn reads_back(
    subject: &Subject<'_>,
    library: &Library,
    profile: &[(&str, &str)],
) -> Result<Result<Vec<ConnectionSettings>, String>> {
    let file = empty(subject)?;
    let mut draft = (library.draft)(subject, &file).profile(profile);
    draft.trial.connection.read_back.extend(OWN.map(str::to_owned));
    let trial = draft.role("w", 2, &[library.usual], count(2)).build();
    let started = match subject.start(&trial) {
        Ok(started) => started,
        // A refusal with a reason is allowed.
        Err(reason) if library.refuses_profiles && !profile.is_empty() => {
            subject.refusal(&trial)?;
            return Ok(Err(reason.to_string()));
        }
        Err(reason) => return Err(reason),
    };
    let connections = started.connections.clone();
    settings::connections(&trial, &connections)?;
    started.close_input()?;
    ensure!(!connections.is_empty(), "it reports no connection");
    for connection in &connections {
        settings::reported(profile, connection)?;
        plausible(connection)?;
        agrees(&file, connection)?;
    }
    Ok(Ok(connections))
}

/// The settings in [`OWN`], in one line.
fn shown(connection: &ConnectionSettings) -> String {
    let one = |name: &str| format!("{name} {}", connection.settings.get(name).unwrap_or(&Value::Null));
    OWN.map(one).join(", ")
}

/// Every setting must be reported in the form in which SQLite reports it.
fn plausible(connection: &ConnectionSettings) -> Result {
    for name in OWN {
        let value = connection.settings.get(name).unwrap_or(&Value::Null);
        let right =
            if name == "journal_mode" { matches!(value, Value::Text(_)) } else { matches!(value, Value::Integer(_)) };
        ensure!(right, "`{name}` is reported as {value}");
    }
    Ok(())
}

/// The reported journal mode must agree with the file, which records only whether write-ahead logging is on.
fn agrees(file: &File, connection: &ConnectionSettings) -> Result {
    let wal = effects::header(file)?.wal;
    let reported = connection.settings.get("journal_mode").unwrap_or(&Value::Null).to_string();
    let asked: String = file.open()?.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    ensure!(
        wal == (reported == "wal") && wal == (asked == "wal"),
        "it reports journal_mode {reported}, and the file, opened by the suite, has {asked}"
    );
    Ok(())
}

/// Creates an empty database, as a library may find it.
pub fn empty(subject: &Subject<'_>) -> Result<File> {
    subject.file("VACUUM")
}

/// Values of a transaction's first parameter, by the number of the operation.
pub fn drawn(trial: &Trial, transaction: &Transaction, numbers: Range<u64>) -> Vec<String> {
    let drawer = Drawer::new(trial.seed, &transaction.name, &transaction.params, 0);
    let text = |number| match drawer.draw(0, number) {
        Value::Text(text) => text,
        other => format!("{other:?}"),
    };
    numbers.map(text).collect()
}

/// Kills the runner when `enough` transactions are acknowledged. Returns their number, and the content of the file once
/// no process writes to it. The file must open and pass `integrity_check`.
pub fn kill(subject: &Subject<'_>, mut trial: Trial, file: &File, enough: u64) -> Result<(u64, Content)> {
    trial.tick_ms = 20;
    let acknowledged = subject.start(&trial)?.killed_after(enough)?;
    let begun = Instant::now();
    let mut content = Content::read(file)?;
    loop {
        std::thread::sleep(Duration::from_millis(100));
        let now = Content::read(file)?;
        if now == content {
            break;
        }
        ensure!(begun.elapsed() < AFTERMATH, "it was killed, and something went on writing for {AFTERMATH:?}");
        content = now;
    }
    let check: String = file.open()?.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    ensure!(check == "ok", "it was killed, and the file's integrity_check says: {check}");
    Ok((acknowledged, content))
}
