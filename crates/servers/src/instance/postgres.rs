//! PostgreSQL: creation of the data directory, configuration and start.

use super::place::InstanceFiles;
use super::state::Node;
use crate::ServersError;

const DEFAULTS: &str = include_str!("../../defaults/postgres.conf");

/// SIGINT requests the `fast` shutdown, which ends running transactions and checkpoints.
pub(super) const SIGNAL: &str = "INT";

/// Arguments of the program that creates the data directory; the files it needs are written here.
pub(super) fn installation(place: &InstanceFiles) -> Result<Vec<String>, ServersError> {
    let password = place.secret();
    place.own_file(&password, &place.password)?;
    // Locale C: texts compare by their bytes, as in SQLite. The first checkpoint syncs what initdb did not.
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

/// Writes the server's settings, which ALTER SYSTEM overrides later. No socket: clients connect by loopback only.
pub(super) fn configure(place: &InstanceFiles, node: &Node) -> Result<(), ServersError> {
    let text =
        format!("{DEFAULTS}\nlisten_addresses = '127.0.0.1'\nport = {}\nunix_socket_directories = ''\n", node.ports[0]);
    place.own_file(&place.data(0).join("postgresql.conf"), &text)
}

/// The server's arguments.
pub(super) fn arguments(place: &InstanceFiles) -> Vec<String> {
    vec!["-D".into(), place.data(0).display().to_string()]
}
