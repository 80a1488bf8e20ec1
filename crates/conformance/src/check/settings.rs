//! Settings as the runner reports them, compared with SQL on the same connections.

use litelab_model::{Scalar, pragma};
use litelab_protocol::{Begin, ConnectionSettings, Dialect, Sharing, Source, Trial, Value};

use super::{Found, passed};
use crate::draft::{Draft, TABLE, count, insert, read, statement, transaction};
use crate::error::{At, Result, ensure};
use crate::subject::Subject;

/// Profiles that differ as much as possible, of values that are no build's default.
const PROFILES: &[&[(&str, &str)]] = &[
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

/// Session settings of PostgreSQL: name, value in SQL, and the text that the server prints.
const POSTGRES: &[&[(&str, &str, &str)]] = &[
    &[
        ("synchronous_commit", "off", "off"),
        ("lock_timeout", "1234", "1234ms"),
        ("default_transaction_isolation", "'repeatable read'", "repeatable read"),
        ("work_mem", "'5MB'", "5MB"),
        ("jit", "off", "off"),
    ],
    &[
        ("synchronous_commit", "on", "on"),
        ("lock_timeout", "0", "0"),
        ("statement_timeout", "'45s'", "45s"),
        ("default_transaction_isolation", "serializable", "serializable"),
        ("jit", "on", "on"),
    ],
    &[("synchronous_commit", "local", "local"), ("lock_timeout", "'2min'", "2min"), ("work_mem", "321", "321kB")],
];

/// Session settings of MySQL and MariaDB, in the same form.
const MYSQL: &[&[(&str, &str, &str)]] = &[
    &[
        ("innodb_lock_wait_timeout", "7", "7"),
        ("lock_wait_timeout", "1234", "1234"),
        ("foreign_key_checks", "0", "0"),
        ("sql_select_limit", "4321", "4321"),
    ],
    &[
        ("innodb_lock_wait_timeout", "77", "77"),
        ("foreign_key_checks", "1", "1"),
        ("sql_mode", "'STRICT_TRANS_TABLES'", "STRICT_TRANS_TABLES"),
    ],
];

/// The profiles of a dialect. For SQLite the printed text is empty, because a report may take more than one form.
fn profiles(dialect: Dialect) -> Vec<Vec<(&'static str, &'static str, &'static str)>> {
    let servers = match dialect {
        Dialect::Sqlite => {
            return PROFILES.iter().map(|p| p.iter().map(|(name, value)| (*name, *value, "")).collect()).collect();
        }
        Dialect::Postgres => POSTGRES,
        Dialect::Mysql => MYSQL,
    };
    servers.iter().map(|profile| profile.to_vec()).collect()
}

/// Every connection of every sharing must report the settings. The first way is examined under all profiles, the others
/// in turn under the even and the odd ones, of which each half has a journal mode with a log and one without.
pub fn read_back(subject: &Subject<'_>) -> Found {
    let (profiles, mut seen) = (profiles(subject.dialect()), 0);
    for (at, way) in subject.ways().iter().enumerate() {
        for (number, profile) in profiles.iter().enumerate() {
            if at == 0 || at % 2 == number % 2 {
                seen += reads_back(way, profile).at(way.way())?;
            }
        }
    }
    passed(format!("{} profiles, {seen} connections", profiles.len()))
}

/// Starts a trial of one writer and two readers under a profile. Returns the number of connections.
fn reads_back(subject: &Subject<'_>, profile: &[(&str, &str, &str)]) -> Result<usize> {
    let database = subject.database(TABLE)?;
    let pairs: Vec<_> = profile.iter().map(|(name, value, _)| (*name, *value)).collect();
    let draft = Draft::new(subject).on(&*database).transaction(insert()).transaction(read()).profile(&pairs);
    let mut trial = draft.role("w", 1, &["insert"], count(1)).role("r", 2, &["read"], count(2)).build();
    // A setting that the profile does not set must be reported, too.
    trial.connection.read_back.push(subject.by("page_size", "server_version", "version").into());
    if matches!(subject.sharing, Sharing::GroupCommit { .. }) && !pairs.contains(&("journal_mode", "WAL")) {
        // Group commit with separate readers requires WAL: without it the trial must be refused, not run with another
        // sharing.
        ensure!(subject.start(&trial).is_err(), "a profile without WAL was taken");
        return Ok(0);
    }
    let started = subject.start(&trial)?;
    connections(&trial, &started.connections)?;
    for (at, connection) in started.connections.iter().enumerate() {
        let found = match subject.dialect() {
            Dialect::Sqlite => reported(&pairs, connection),
            _ => printed(profile, connection),
        };
        found.at(format_args!("connection {at} ({})", connection.label))?;
    }
    let seen = started.connections.len();
    started.close_input()?;
    Ok(seen)
}

/// Checks that the trial reports as many connections as its sharing opens, under the names that the protocol defines.
pub fn connections(trial: &Trial, found: &[ConnectionSettings]) -> Result {
    use litelab_protocol::Sharing::*;
    let of_roles = || trial.roles.iter().flat_map(|r| (0..r.workers).map(|_| r.name.as_str())).collect::<Vec<_>>();
    let mut expected = match trial.sharing {
        OwnConnection | AppLock => of_roles(),
        OneConnection => vec!["shared"],
        Pool { connections } => vec!["pool"; connections as usize],
        WriterReaders { readers } | GroupCommit { readers } => {
            [vec!["writer"], vec!["reader"; readers as usize]].concat()
        }
    };
    expected.sort_unstable();
    for database in 0..trial.databases.len() as u32 {
        let mut labels: Vec<&str> = found.iter().filter(|c| c.database == database).map(|c| c.label.as_str()).collect();
        labels.sort_unstable();
        ensure!(labels == expected, "its connections are {labels:?}, not {expected:?}");
    }
    Ok(())
}

/// Compares the settings that one connection reports with a profile.
pub fn reported(profile: &[(&str, &str)], connection: &ConnectionSettings) -> Result {
    for (name, value) in profile {
        let input = value.parse().map_or_else(|_| Scalar::Text((*value).to_owned()), Scalar::Integer);
        let wanted = pragma::parse(name, &input).map_err(|e| e.to_string())?;
        let setting = setting(connection, name)?;
        let right = wanted.matches(setting);
        ensure!(right, "`{name}` = {value} was asked for, and it reports {setting}");
    }
    Ok(())
}

/// Compares the settings that one connection reports with the text that the server prints.
fn printed(profile: &[(&str, &str, &str)], connection: &ConnectionSettings) -> Result {
    for (name, value, wanted) in profile {
        let setting = setting(connection, name)?;
        ensure!(setting.to_string() == *wanted, "`{name}` = {value} was asked for, and it reports {setting}");
    }
    Ok(())
}

fn setting<'a>(connection: &'a ConnectionSettings, name: &str) -> Result<&'a Value> {
    connection.settings.get(name).ok_or_else(|| format!("`{name}` was not reported").into())
}

/// Every worker stores the PRAGMA values of its connection in a table, through the same path as any other transaction.
/// A runner that reports settings without applying them would have to falsify these rows as well.
pub fn by_sql(subject: &Subject<'_>) -> Found {
    let profiles = seen_by_sql(subject.dialect());
    for profile in &profiles {
        let schema = "CREATE TABLE seen(worker INTEGER, name TEXT, value TEXT)";
        let schema = subject.by("CREATE TABLE seen(worker, name, value)", schema, schema);
        let database = subject.database(schema)?;
        let mut draft = Draft::new(subject).on(&*database);
        for (name, value, _) in profile {
            draft = draft.setting(name, value);
        }
        let look = |(name, ..): &(&str, &str, Value)| {
            let asked = subject.by(
                format!("(SELECT * FROM pragma_{name})"),
                format!("current_setting('{name}')"),
                format!("@@{name}"),
            );
            statement(&format!("INSERT INTO seen VALUES (?1, '{name}', {asked})"), &[0])
        };
        let look = profile.iter().map(look).collect();
        let look = transaction("look", Begin::Deferred, vec![("worker", Source::Worker)], look);
        subject.run(&draft.transaction(look).only(2, count(4)))?;
        let found = database.rows("SELECT worker, name, value FROM seen")?;
        let due = 4 * profile.len();
        ensure!(found.len() == due, "{} settings were written down, not {due}", found.len());
        for row in found {
            let [_, Value::Text(name), value] = &row[..] else { return Err(format!("{row:?} is no setting").into()) };
            let Some((_, text, wanted)) = profile.iter().find(|(n, ..)| n == name) else { continue };
            ensure!(
                value == wanted,
                "`{name}` = {text} was asked for, and on the connection of worker {:?} it is {value:?}",
                row[0]
            );
        }
    }
    passed(format!("{} profiles on two workers' connections", profiles.len()))
}

/// A setting that a transaction changes must be reported with its new value at the end, on the connection that ran the
/// transaction. Connections that only prepared it may report either value: SQLite applies some PRAGMAs during
/// compilation.
pub fn at_end(subject: &Subject<'_>) -> Found {
    passed(subject.in_all_ways(changes)?)
}

fn changes(subject: &Subject<'_>) -> Result {
    let (name, change, changed) = subject.by(
        ("cache_size", "PRAGMA cache_size = -777", "-777"),
        ("lock_timeout", "SET lock_timeout = 777", "777ms"),
        ("lock_wait_timeout", "SET SESSION lock_wait_timeout = 777", "777"),
    );
    let database = subject.database(TABLE)?;
    let change = transaction("change", Begin::None, vec![], vec![statement(change, &[])]);
    let draft = Draft::new(subject).on(&*database).transaction(change).transaction(read());
    let mut trial = draft.role("w", 1, &["change"], count(1)).role("r", 2, &["read"], count(2)).build();
    trial.connection.read_back = vec![name.to_owned()];
    let mut started = match subject.start(&trial) {
        // A layer that shares its connection among callers refuses the transaction: no setting can change.
        Err(refused) if refused.to_string().contains("SQLITE_AUTH") => return Ok(()),
        started => started?,
    };
    started.go();
    let heard = subject.finish(&trial, started)?;
    let ended = &heard.result.connections;
    connections(&trial, ended)?;
    let shown = |connection: &ConnectionSettings| connection.settings.get(name).unwrap_or(&Value::Null).to_string();
    let own = heard.connections.first().map(shown).unwrap_or_default();
    let moved = ended.iter().filter(|connection| shown(connection) == changed).count();
    let stayed = ended.iter().filter(|connection| shown(connection) == own).count();
    ensure!(
        moved >= 1 && moved + stayed == ended.len(),
        "a connection has another {name} at its end, and it reports {:?}",
        ended.iter().map(shown).collect::<Vec<_>>()
    );
    Ok(())
}

/// Settings with their values, and the values that SQL on the connection must return. Levels are tried with more than
/// one value, so that a build's default cannot pass as an applied setting.
fn seen_by_sql(dialect: Dialect) -> Vec<Vec<(&'static str, &'static str, Value)>> {
    let told = |profiles: &[&[(&'static str, &'static str, &'static str)]]| {
        let seen = |profile: &&[(&'static str, &'static str, &'static str)]| {
            profile.iter().map(|(name, value, wanted)| (*name, *value, Value::Text((*wanted).into()))).collect()
        };
        profiles.iter().map(seen).collect()
    };
    match dialect {
        Dialect::Postgres => told(POSTGRES),
        Dialect::Mysql => told(MYSQL),
        Dialect::Sqlite => {
            let of_level = |(level, number)| {
                let wanted = [
                    ("synchronous", level, number),
                    ("cache_size", "-3456", -3456),
                    ("foreign_keys", "ON", 1),
                    ("temp_store", "MEMORY", 2),
                    ("busy_timeout", "4321", 4321),
                    ("recursive_triggers", "ON", 1),
                ];
                wanted.map(|(name, value, seen)| (name, value, Value::Integer(seen))).to_vec()
            };
            [("FULL", 2), ("OFF", 0), ("NORMAL", 1)].map(of_level).to_vec()
        }
    }
}
