//! Settings as the runner reports them, and as SQL on the same connections sees them.

use litelab_model::pragma::{self, PragmaInput, Reported};
use litelab_protocol::draw::Value;
use litelab_protocol::{Access, Begin, ConnectionSettings, Setting, Source, Trial};

use super::{Found, NO_DATABASE, ensure, passed, skipped};
use crate::draft::{self, Draft, TABLE, count, insert, read, statement, transaction};
use crate::file;
use crate::subject::Subject;

/// Profiles that differ in as much as they can. Values that no build has as its default.
const PROFILES: [&[(&str, &str)]; 4] = [
    &[
        ("journal_mode", "WAL"),
        ("synchronous", "NORMAL"),
        ("busy_timeout", "1234"),
        ("cache_size", "-3456"),
        ("foreign_keys", "ON"),
        ("temp_store", "MEMORY"),
        ("wal_autocheckpoint", "77"),
    ],
    &[
        ("journal_mode", "WAL"),
        ("synchronous", "FULL"),
        ("busy_timeout", "0"),
        ("cache_size", "321"),
        ("foreign_keys", "OFF"),
    ],
    &[("journal_mode", "DELETE"), ("synchronous", "EXTRA"), ("busy_timeout", "60000"), ("temp_store", "FILE")],
    &[("journal_mode", "TRUNCATE"), ("synchronous", "OFF"), ("recursive_triggers", "ON"), ("secure_delete", "ON")],
];

/// A trial of one writer and two readers under a profile.
fn draft(subject: &Subject<'_>, profile: &[(&str, &str)]) -> Draft {
    let mut draft = Draft::new(subject);
    draft.trial.connection.pragmas = profile.iter().map(|(n, v)| draft::pragma(n, v)).collect();
    draft.trial.connection.read_back = profile.iter().map(|(n, _)| (*n).to_owned()).collect();
    draft.trial.connection.read_back.push("page_size".into());
    draft
}

/// Every connection of every access, under every profile.
pub fn read_back(subject: &Subject<'_>) -> Found {
    if !subject.has_database() {
        return skipped(NO_DATABASE);
    }
    let mut seen = 0;
    for (i, profile) in PROFILES.iter().enumerate() {
        for (executor, access) in subject.ways() {
            let path = subject.database(&format!("read-back-{i}-{executor}-{}.db", access.kind()), TABLE)?;
            let mut draft = draft(subject, profile).on(&path).transaction(insert()).transaction(read());
            (draft.trial.executor, draft.trial.access) = (executor, access);
            let trial = draft.role("w", 1, &["insert"], count(1)).role("r", 2, &["read"], count(2)).build();
            if matches!(access, Access::GroupCommit { .. }) && !profile.contains(&("journal_mode", "WAL")) {
                // Writers who share commits beside readers need it: it is refused, and nothing else taken for it.
                let refused = subject.start(&trial).is_err();
                ensure!(refused, "{access} on {executor}: a profile without WAL was taken");
                continue;
            }
            let started = subject.start(&trial)?;
            let here = |e: String| format!("{access} on {executor}: {e}");
            connections(&trial, &started.connections).map_err(here)?;
            for (at, connection) in started.connections.iter().enumerate() {
                reported(profile, connection)
                    .map_err(|e| here(format!("connection {at} ({}): {e}", connection.label)))?;
            }
            seen += started.connections.len();
            started.close_input()?;
        }
    }
    passed(format!("{} profiles, {seen} connections", PROFILES.len()))
}

/// As many connections as the access opens, under the names the protocol gives them.
pub fn connections(trial: &Trial, found: &[ConnectionSettings]) -> Result<(), String> {
    use litelab_protocol::Access::*;
    let of_roles = || trial.roles.iter().flat_map(|r| (0..r.workers).map(|_| r.name.as_str())).collect::<Vec<_>>();
    let mut expected = match trial.access {
        PerWorker | WriteLock => of_roles(),
        Shared => vec!["shared"],
        Pool { connections } => vec!["pool"; connections as usize],
        Split { readers } | GroupCommit { readers } => [vec!["writer"], vec!["reader"; readers as usize]].concat(),
    };
    for database in 0..trial.databases.len() as u32 {
        let mut labels: Vec<&str> = found.iter().filter(|c| c.database == database).map(|c| c.label.as_str()).collect();
        labels.sort_unstable();
        expected.sort_unstable();
        ensure!(labels == expected, "its connections are {labels:?}, not {expected:?}");
    }
    Ok(())
}

/// Compares one connection's report with a profile.
pub fn reported(profile: &[(&str, &str)], connection: &ConnectionSettings) -> Result<(), String> {
    for (name, value) in profile {
        let input = value.parse().map_or_else(|_| PragmaInput::Text((*value).to_owned()), PragmaInput::Integer);
        let wanted = pragma::parse(name, &input).map_err(|e| e.to_string())?;
        let Some(setting) = connection.settings.get(*name) else { return Err(format!("`{name}` was not reported")) };
        let right = wanted.read_back_matches(&as_reported(setting));
        ensure!(right, "`{name}` = {value} was asked for, and it reports {setting}");
    }
    Ok(())
}

fn as_reported(setting: &Setting) -> Reported {
    match setting {
        Setting::Number(n) => n.as_i64().map_or_else(|| Reported::Text(n.to_string()), Reported::Integer),
        Setting::String(s) => Reported::Text(s.clone()),
        _ => Reported::Nothing(()),
    }
}

/// Every worker writes down what the PRAGMAs are on its connection, through the same path as any other work: a runner
/// that reports what was asked for without having set it would have to falsify this as well.
pub fn by_sql(subject: &Subject<'_>) -> Found {
    if !subject.has_database() {
        return skipped(NO_DATABASE);
    }
    let wanted = [
        ("synchronous", "FULL", 2),
        ("cache_size", "-3456", -3456),
        ("foreign_keys", "ON", 1),
        ("temp_store", "MEMORY", 2),
        ("busy_timeout", "4321", 4321),
        ("recursive_triggers", "ON", 1),
    ];
    // A build's own default must not look like obedience, so the levels are tried both ways.
    for level in [("FULL", 2), ("OFF", 0), ("NORMAL", 1)] {
        let path = subject.database(&format!("by-sql-{}.db", level.0), "CREATE TABLE seen(worker, name, value)")?;
        let mut draft = Draft::new(subject);
        for (name, value, _) in wanted {
            draft = draft.pragma(name, value);
        }
        draft = draft.pragma("synchronous", level.0);
        let look =
            wanted.map(|(name, ..)| format!("SELECT ?1, '{name}', (SELECT * FROM pragma_{name})")).join(" UNION ALL ");
        let look = statement(&format!("INSERT INTO seen {look}"), &[0]);
        let trial = draft
            .on(&path)
            .transaction(transaction("look", Begin::None, vec![("worker", Source::Worker)], vec![look]))
            .role("r", 2, &["look"], count(4))
            .build();
        subject.run(&trial)?;
        let found = file::rows(&path, "SELECT worker, name, value FROM seen")?;
        ensure!(
            found.len() == 4 * wanted.len(),
            "{} settings were written down, not {}",
            found.len(),
            4 * wanted.len()
        );
        for row in found {
            let [_, Value::Text(name), value] = &row[..] else { return Err(format!("{row:?} is no setting")) };
            let Some((_, text, number)) = wanted.iter().find(|(n, ..)| n == name) else { continue };
            let (text, number) = if name == "synchronous" { (level.0, level.1) } else { (*text, *number) };
            ensure!(
                *value == Value::Integer(number),
                "`{name}` = {text} was asked for, and on the connection of worker {:?} it is {value:?}",
                row[0]
            );
        }
    }
    passed(format!("{} settings on two workers' connections", wanted.len()))
}
