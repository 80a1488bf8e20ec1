//! What SQLite would report if the PRAGMAs of a trial had been run, without touching the trial's database.

use std::collections::BTreeMap;

use litelab_protocol::{ConnectionSettings, Setting, Sharing, Trial, Value};
use rusqlite::Connection;
use rusqlite::types::ValueRef;

/// PRAGMAs whose word a database in memory would not take over.
const WORDS: [&str; 2] = ["journal_mode", "locking_mode"];

/// Every connection the trial's sharing opens, each with the settings that were asked for.
pub fn claimed(trial: &Trial) -> Vec<ConnectionSettings> {
    let settings = expected(&trial.connection.settings, &trial.connection.read_back);
    let mut labels = Vec::new();
    match trial.sharing {
        Sharing::OwnConnection | Sharing::AppLock => {
            for role in &trial.roles {
                labels.extend((0..role.workers).map(|_| role.name.clone()));
            }
        }
        Sharing::OneConnection => labels.push("shared".to_owned()),
        Sharing::Pool { connections } => labels.extend((0..connections).map(|_| "pool".to_owned())),
        Sharing::WriterReaders { readers } | Sharing::GroupCommit { readers } => {
            labels.push("writer".to_owned());
            labels.extend((0..readers).map(|_| "reader".to_owned()));
        }
    }
    let on = |database: u32| {
        labels.iter().map({
            let settings = settings.clone();
            move |label| ConnectionSettings { database, label: label.clone(), settings: settings.clone() }
        })
    };
    (0..trial.databases.len() as u32).flat_map(on).collect()
}

/// The value of each name after the settings, as a fresh database reports it; null where it cannot be had.
pub fn expected(settings: &[Setting], read_back: &[String]) -> BTreeMap<String, Value> {
    let scratch = Connection::open_in_memory();
    if let Ok(scratch) = &scratch {
        for setting in settings.iter().filter(|s| !WORDS.contains(&s.name.as_str())) {
            // What SQLite refuses here it would have refused there.
            let _refused = scratch.query_row(&setting.sql, [], |_| Ok(()));
        }
    }
    let ask = |name: &String| {
        let asked = settings.iter().rev().find(|s| s.name == *name).map(value_of);
        match (asked, &scratch) {
            (Some(value), _) if WORDS.contains(&name.as_str()) => value.to_ascii_lowercase().into(),
            (Some(value), _) if name == "mmap_size" => value.parse::<i64>().map_or(Value::Null, Into::into),
            (None, _) if name == "journal_mode" => "delete".into(),
            (_, Ok(scratch)) => reported(scratch, name),
            (_, Err(_)) => Value::Null,
        }
    };
    read_back.iter().map(|name| (name.clone(), ask(name))).collect()
}

/// What stands behind `=`.
fn value_of(setting: &Setting) -> &str {
    setting.sql.rsplit('=').next().unwrap_or_default().trim().trim_matches('\'')
}

fn reported(connection: &Connection, name: &str) -> Value {
    let value = connection.query_row(&format!("PRAGMA {name}"), [], |row| {
        Ok(match row.get_ref(0)? {
            ValueRef::Integer(i) => Value::from(i),
            ValueRef::Real(r) => Value::from(r),
            ValueRef::Text(t) => Value::from(String::from_utf8_lossy(t).into_owned()),
            ValueRef::Null | ValueRef::Blob(_) => Value::Null,
        })
    });
    value.unwrap_or(Value::Null)
}
