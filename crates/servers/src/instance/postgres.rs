//! PostgreSQL: how a data directory is made, and how the server is started.

use super::place::Place;
use super::state::Node;
use crate::ServersError;

const DEFAULTS: &str = include_str!("../../defaults/postgres.conf");

/// SIGINT: `fast`, which ends what runs and checkpoints.
pub(super) const SIGNAL: &str = "INT";

/// Makes the data directory.
pub(super) fn install(place: &Place) -> Result<(), ServersError> {
    let password = place.node(0).join("password");
    place.own_file(&password, &place.password)?;
    // Locale C: text compares by its bytes, as in SQLite. What initdb does not sync is synced by the first checkpoint.
    let done = place.run(
        &place.binaries.install,
        &[
            format!("--pgdata={}", place.data(0).display()),
            "--username=litelab".into(),
            format!("--pwfile={}", password.display()),
            "--auth=scram-sha-256".into(),
            "--encoding=UTF8".into(),
            "--locale=C".into(),
            "--no-sync".into(),
            "--no-instructions".into(),
        ],
    );
    let _gone = std::fs::remove_file(&password);
    done.map(drop)
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
