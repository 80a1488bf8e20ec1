//! The verb `inspect`.

use std::collections::BTreeMap;

use litelab_protocol::{Dialect, Inspect, Inspection};

use super::{Found, passed, settings};
use crate::database::CheckDatabase;
use crate::draft::{TABLE, setting};
use crate::error::{Result, ensure};
use crate::subject::Subject;

const PROFILE: [(&str, &str); 4] =
    [("journal_mode", "WAL"), ("synchronous", "NORMAL"), ("busy_timeout", "1234"), ("cache_size", "-3456")];

const CONNECTIONS: u32 = 3;

pub fn inspect(subject: &Subject<'_>) -> Found {
    let file = subject.file(TABLE)?;
    let answer = ask(
        subject,
        &Inspect {
            settings: PROFILE.iter().map(|(n, v)| setting(Dialect::Sqlite, n, v)).collect(),
            ..request(subject, file.0.display().to_string())
        },
    )?;
    for connection in &answer.connections {
        settings::reported(&PROFILE, connection)?;
    }
    passed("3 connections")
}

/// A path is a data source name of every driver. What its connections have set is the driver's own affair.
pub fn data_source_name(subject: &Subject<'_>) -> Found {
    let mut outcomes = Vec::new();
    for mode in ["DELETE", "WAL"] {
        let file = subject.file(&format!("PRAGMA journal_mode = {mode}; {TABLE}"))?;
        let dsn = file.0.display().to_string();
        let answer = ask(subject, &Inspect { dsn: Some(dsn.clone()), ..request(subject, dsn) })?;
        let Some(upgrade) = answer.upgrade else {
            return Err("two connections to a file were open, and it does not report `upgrade`".into());
        };
        let reports_all = answer.connections.iter().all(|connection| connection.settings.len() == PROFILE.len());
        ensure!(reports_all, "{} settings were asked for, and a connection does not report them", PROFILE.len());
        let left = file.integers("SELECT count(*) FROM sqlite_schema WHERE name = 'litelab_upgrade'")?;
        ensure!(left == [0], "the table of its trial is still there");
        outcomes.push(format!("{mode}: {upgrade:?}"));
    }
    passed(outcomes.join(", "))
}

fn request(subject: &Subject<'_>, database: String) -> Inspect {
    Inspect {
        protocol: litelab_protocol::VERSION,
        driver: subject.driver.name.clone(),
        database,
        connections: CONNECTIONS,
        options: BTreeMap::new(),
        settings: Vec::new(),
        read_back: PROFILE.iter().map(|(n, _)| (*n).to_owned()).collect(),
        dsn: None,
    }
}

fn ask(subject: &Subject<'_>, request: &Inspect) -> Result<Inspection> {
    let answer = subject.runner.inspect(request).map_err(|e| e.to_string())?;
    let count = answer.connections.len();
    ensure!(count == CONNECTIONS as usize, "3 connections were asked for, and it reports {count}");
    Ok(answer)
}
