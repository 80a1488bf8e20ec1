//! MariaDB and Galera: how a data directory is made, and how a server is started.

use std::path::PathBuf;

use super::place::Place;
use super::state::Node;
use crate::{Kind, ServersError};

const DEFAULTS: &str = include_str!("../../defaults/mariadb.cnf");
const CLUSTER: &str = include_str!("../../defaults/galera.cnf");

/// SIGTERM: what runs is ended, and what is dirty written.
pub(super) const SIGNAL: &str = "TERM";

/// A node answers there; the others reach it there; it is sent what it missed there; and a whole copy there.
pub(super) const PORTS: usize = 4;

fn configuration(place: &Place, node: usize) -> PathBuf {
    place.node(node).join("my.cnf")
}

/// Arguments of the program that makes the data directory of the first node, whose files it needs are written; the other
/// nodes of a cluster are sent theirs.
pub(super) fn installation(place: &Place) -> Result<Vec<String>, ServersError> {
    let users = place.secret();
    // Nobody but litelab comes in: without this, root would, from loopback and without a password.
    let sql = format!(
        "DELETE FROM mysql.global_priv WHERE User <> 'mariadb.sys';\nFLUSH PRIVILEGES;\n\
         CREATE USER 'litelab'@'127.0.0.1' IDENTIFIED BY '{}';\n\
         GRANT ALL PRIVILEGES ON *.* TO 'litelab'@'127.0.0.1' WITH GRANT OPTION;\n",
        place.password
    );
    place.own_file(&users, &sql)?;
    // As a single server's: a cluster that is being installed would look for its others.
    place.own_file(&configuration(place, 0), &single(place, 0))?;
    Ok(vec![
        format!("--defaults-file={}", configuration(place, 0).display()),
        format!("--extra-file={}", users.display()),
        "--auth-root-authentication-method=normal".into(),
        "--skip-test-db".into(),
        "--skip-name-resolve".into(),
        // What is made here need not survive a power cut; its many small tables take seconds to sync one by one.
        "--innodb-flush-method=nosync".into(),
        "--sync-frm=OFF".into(),
    ])
}

fn single(place: &Place, node: usize) -> String {
    let (data, tmp) = (place.data(node), place.node(node).join("tmp"));
    // In quotes, a path may hold blanks and hashes. It has no socket: only loopback leads in, and a socket's path must be
    // shorter than a folder's may be.
    format!(
        "{DEFAULTS}\ndatadir = \"{}\"\ntmpdir = \"{}\"\nbind_address = 127.0.0.1\nsocket =\npid_file = \"{}\"\n",
        data.display(),
        tmp.display(),
        place.node(node).join("tmp/pid").display(),
    )
}

/// Writes a node's configuration.
pub(super) fn configure(place: &Place, nodes: &[Node], node: usize) -> Result<(), ServersError> {
    let ports = &nodes[node].ports;
    let mut text = format!("{}port = {}\n", single(place, node), ports[0]);
    if let Some(library) = &place.binaries.galera {
        let all: Vec<String> = nodes.iter().map(|n| format!("127.0.0.1:{}", n.ports[1])).collect();
        text.push_str(&format!(
            "{CLUSTER}\nwsrep_provider = {}\nwsrep_node_name = node-{node}\nwsrep_node_address = 127.0.0.1\n\
             wsrep_node_incoming_address = 127.0.0.1:{}\nwsrep_sst_receive_address = 127.0.0.1:{}\n\
             wsrep_cluster_address = gcomm://{}\n\
             wsrep_provider_options = \"base_port={};gmcast.listen_addr=tcp://127.0.0.1:{};ist.recv_addr=127.0.0.1:{};\
             gcache.size=64M\"\n",
            library.display(),
            ports[0],
            ports[3],
            all.join(","),
            ports[1],
            ports[1],
            ports[2],
        ));
    }
    place.own_file(&configuration(place, node), &text)
}

/// A server's arguments. `first` founds the cluster, which otherwise is looked for.
pub(super) fn arguments(place: &Place, node: usize, first: bool) -> Vec<String> {
    let mut arguments = vec![format!("--defaults-file={}", configuration(place, node).display())];
    if first && place.kind == Kind::Galera {
        arguments.push("--wsrep-new-cluster".into());
    }
    arguments
}

/// Arguments by which a server only says where its redo log ends; none where there is nothing to recover.
///
/// A node that was killed and is told where it stood is sent what it missed since, and a whole copy only where the others
/// no longer keep that. The unit files of Debian do the same at every start.
pub(super) fn recovery(place: &Place, node: usize) -> Option<Vec<String>> {
    let killed = place.kind == Kind::Galera && place.data(node).join("grastate.dat").exists();
    killed.then(|| {
        let mut arguments = arguments(place, node, false);
        arguments.push("--wsrep-recover".into());
        arguments
    })
}

/// The argument that tells a node where it stood, by what it said.
pub(super) fn position(said: &str) -> Option<String> {
    let (_, position) = said.lines().rev().find_map(|line| line.split_once("Recovered position:"))?;
    Some(format!("--wsrep-start-position={}", position.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_from_what_the_server_says() {
        let said = "2026 [Note] WSREP: Recovered position: 6f-11:17\n2026 [Note] end\n";
        assert_eq!(position(said).as_deref(), Some("--wsrep-start-position=6f-11:17"));
        assert_eq!(position("nothing"), None);
    }
}
