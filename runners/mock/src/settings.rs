//! Values that SQLite would report after the PRAGMAs of a trial, computed without the trial's database.

use std::collections::BTreeMap;

use litelab_harness::rusqlite::connect;
use litelab_protocol::{ConnectionSettings, Setting, Sharing, Trial, Value};
use rusqlite::Connection;

/// PRAGMAs whose value a database in memory would not adopt.
const WORDS: [&str; 2] = ["journal_mode", "locking_mode"];

/// All connections of the trial's sharing, each with the requested settings.
pub fn claimed(trial: &Trial) -> Vec<ConnectionSettings> {
    let settings = expected(&trial.connection.settings, &trial.connection.read_back);
    let labels: Vec<&str> = match trial.sharing {
        Sharing::OwnConnection | Sharing::AppLock => {
            trial.roles.iter().flat_map(|role| vec![role.name.as_str(); role.workers as usize]).collect()
        }
        Sharing::OneConnection => vec!["shared"],
        Sharing::Pool { connections } => vec!["pool"; connections as usize],
        Sharing::WriterReaders { readers } | Sharing::GroupCommit { readers } => {
            [vec!["writer"], vec!["reader"; readers as usize]].concat()
        }
    };
    let on = |database: u32| {
        let one = |label: &&str| ConnectionSettings { database, label: (*label).into(), settings: settings.clone() };
        labels.iter().map(one).collect::<Vec<_>>()
    };
    (0..trial.databases.len() as u32).flat_map(on).collect()
}

/// Value of each name after the settings, as a new database reports it; null if it cannot be read.
pub fn expected(settings: &[Setting], read_back: &[String]) -> BTreeMap<String, Value> {
    let Ok(scratch) = Connection::open_in_memory() else { return BTreeMap::new() };
    for setting in settings.iter().filter(|s| !WORDS.contains(&s.name.as_str())) {
        // SQLite would have refused the same setting in the trial's database.
        let _refused = scratch.query_row(&setting.sql, [], |_| Ok(()));
    }
    let ask = |name: &String| match settings.iter().rev().find(|s| s.name == *name).map(value_of) {
        Some(value) if WORDS.contains(&name.as_str()) => value.to_ascii_lowercase().into(),
        Some(value) if name == "mmap_size" => value.parse::<i64>().map_or(Value::Null, Into::into),
        None if name == "journal_mode" => "delete".into(),
        _ => {
            let read = connect::read_back(&scratch, std::slice::from_ref(name));
            read.ok().and_then(|mut read| read.remove(name)).unwrap_or(Value::Null)
        }
    };
    read_back.iter().map(|name| (name.clone(), ask(name))).collect()
}

/// Text after the `=`.
fn value_of(setting: &Setting) -> &str {
    setting.sql.rsplit('=').next().unwrap_or_default().trim().trim_matches('\'')
}
