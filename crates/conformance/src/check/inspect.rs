//! The verb `inspect`.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::Stdio;

use litelab_protocol::{Dialect, Inspect, Inspection};

use super::{Found, NO_DATABASE, ensure, passed, settings, skipped};
use crate::draft::{TABLE, pragma};
use crate::subject::Subject;

const PROFILE: [(&str, &str); 4] =
    [("journal_mode", "WAL"), ("synchronous", "NORMAL"), ("busy_timeout", "1234"), ("cache_size", "-3456")];

pub fn inspect(subject: &Subject<'_>) -> Found {
    if !subject.has_database() {
        return skipped(NO_DATABASE);
    }
    if subject.dialect() != Dialect::Sqlite {
        return skipped("it is asked of files");
    }
    let path = subject.file("inspect.db", TABLE)?;
    let request = Inspect {
        protocol: litelab_protocol::VERSION,
        driver: subject.driver.name.clone(),
        database: path.display().to_string(),
        connections: 3,
        options: BTreeMap::new(),
        settings: PROFILE.iter().map(|(n, v)| pragma(n, v)).collect(),
        read_back: PROFILE.iter().map(|(n, _)| (*n).to_owned()).collect(),
    };
    let text = serde_json::to_string(&request).map_err(|e| e.to_string())?;
    let mut child = subject
        .runner
        .command("inspect")
        .current_dir(subject.directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| e.to_string())?;
    if let Some(mut stdin) = child.stdin.take() {
        // A runner that does not read its input fails below, by its answer.
        let _written = writeln!(stdin, "{text}");
    }
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "its {}: {}", output.status, stderr.trim());
    let answer: Inspection =
        serde_json::from_slice(&output.stdout).map_err(|e| format!("its answer does not follow the protocol: {e}"))?;
    ensure!(answer.connections.len() == 3, "3 connections were asked for, and it reports {}", answer.connections.len());
    for connection in &answer.connections {
        settings::reported(&PROFILE, connection)?;
    }
    passed("3 connections")
}
