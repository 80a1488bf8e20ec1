//! PostgreSQL: how a data directory is made, and how the server is started.

use std::path::Path;

use super::place::Place;
use super::state::Node;
use crate::ServersError;

const DEFAULTS: &str = include_str!("../../defaults/postgres.conf");

/// SIGINT: `fast`, which ends what runs and checkpoints.
pub(super) const SIGNAL: &str = "INT";

/// Arguments of the program that makes the data directory, whose files it needs are written.
pub(super) fn installation(place: &Place) -> Result<Vec<String>, ServersError> {
    let password = place.secret();
    place.own_file(&password, &place.password)?;
    // Locale C: text compares by its bytes, as in SQLite. What initdb does not sync is synced by the first checkpoint.
    Ok(vec![
        format!("--pgdata={}", place.data(0).display()),
        "--username=litelab".into(),
        format!("--pwfile={}", password.display()),
        "--auth=scram-sha-256".into(),
        "--encoding=UTF8".into(),
        "--locale=C".into(),
        "--no-sync".into(),
        "--no-instructions".into(),
    ])
}

/// Writes the server's settings; what ALTER SYSTEM sets later overrides them. It has no socket: only loopback leads in.
pub(super) fn configure(place: &Place, node: &Node) -> Result<(), ServersError> {
    let text =
        format!("{DEFAULTS}\nlisten_addresses = '127.0.0.1'\nport = {}\nunix_socket_directories = ''\n", node.ports[0]);
    place.own_file(&place.data(0).join("postgresql.conf"), &text)
}

/// The server's arguments.
pub(super) fn arguments(place: &Place) -> Vec<String> {
    vec!["-D".into(), place.data(0).display().to_string()]
}

/// The number of the System V segment by which a server that was killed would be known to live still, and which it leaves
/// behind; none where it ended well (line 7 of `postmaster.pid`).
pub(super) fn segment(folder: &Path) -> Option<String> {
    let file = std::fs::read_to_string(folder.join("node-0/data/postmaster.pid")).ok()?;
    let number = file.lines().nth(6)?.split_whitespace().nth(1)?;
    number.bytes().all(|b| b.is_ascii_digit()).then(|| number.to_owned())
}
