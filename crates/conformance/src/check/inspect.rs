//! The verb `inspect`.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::Stdio;

use litelab_protocol::{Inspect, Inspection};

use super::{Found, passed, settings};
use crate::draft::{TABLE, pragma};
use crate::error::{At, ensure};
use crate::subject::Subject;

const PROFILE: [(&str, &str); 4] =
    [("journal_mode", "WAL"), ("synchronous", "NORMAL"), ("busy_timeout", "1234"), ("cache_size", "-3456")];

pub fn inspect(subject: &Subject<'_>) -> Found {
    let file = subject.file(TABLE)?;
    let request = Inspect {
        protocol: litelab_protocol::VERSION,
        driver: subject.driver.name.clone(),
        database: file.0.display().to_string(),
        connections: 3,
        options: BTreeMap::new(),
        settings: PROFILE.iter().map(|(n, v)| pragma(n, v)).collect(),
        read_back: PROFILE.iter().map(|(n, _)| (*n).to_owned()).collect(),
        dsn: None,
    };
    let text = serde_json::to_string(&request)?;
    let mut child = subject
        .runner
        .command("inspect")
        .current_dir(subject.directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A runner that does not read its input fails below, by its answer.
        let _written = writeln!(stdin, "{text}");
    }
    let output = child.wait_with_output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "its {}: {}", output.status, stderr.trim());
    let answer: Inspection = serde_json::from_slice(&output.stdout).at("its answer does not follow the protocol")?;
    ensure!(answer.connections.len() == 3, "3 connections were asked for, and it reports {}", answer.connections.len());
    for connection in &answer.connections {
        settings::reported(&PROFILE, connection)?;
    }
    passed("3 connections")
}
