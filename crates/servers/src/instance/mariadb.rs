//! MariaDB and Galera: creation of data directories, configuration and start.

use std::path::PathBuf;

use super::place::InstanceFiles;
use super::state::Node;
use crate::{Kind, ServersError};

const DEFAULTS: &str = include_str!("../../defaults/mariadb.cnf");
const CLUSTER: &str = include_str!("../../defaults/galera.cnf");

/// SIGTERM: the server ends running statements and writes dirty pages.
pub(super) const SIGNAL: &str = "TERM";

/// Ports of a node: clients, group communication, incremental state transfer, full state transfer.
pub(super) const PORTS: usize = 4;

fn configuration(place: &InstanceFiles, node: usize) -> PathBuf {
    place.node(node).join("my.cnf")
}

/// Arguments of the program that creates the data directory of the first node; the files it needs are written here. The
/// other nodes of a cluster receive their data from the first one.
pub(super) fn installation(place: &InstanceFiles) -> Result<Vec<String>, ServersError> {
    let users = place.secret();
    // Only litelab may connect: the default would let root connect from loopback without a password.
    let sql = format!(
        "DELETE FROM mysql.global_priv WHERE User <> 'mariadb.sys';\nFLUSH PRIVILEGES;\n\
         CREATE USER 'litelab'@'127.0.0.1' IDENTIFIED BY '{}';\n\
         GRANT ALL PRIVILEGES ON *.* TO 'litelab'@'127.0.0.1' WITH GRANT OPTION;\n",
        place.password
    );
    place.own_file(&users, &sql)?;
    // The configuration of a single server: a cluster node would look for the other nodes during the installation.
    place.own_file(&configuration(place, 0), &single(place, 0))?;
    Ok(vec![
        format!("--defaults-file={}", configuration(place, 0).display()),
        format!("--extra-file={}", users.display()),
        "--auth-root-authentication-method=normal".into(),
        "--skip-test-db".into(),
        "--skip-name-resolve".into(),
        // A new data directory need not survive a power loss, and the sync of its many small tables takes seconds.
        "--innodb-flush-method=nosync".into(),
        "--sync-frm=OFF".into(),
    ])
}

fn single(place: &InstanceFiles, node: usize) -> String {
    let (data, tmp) = (place.data(node), place.node(node).join("tmp"));
    // Quoted, because a path may contain blanks and `#`. No socket: clients connect by loopback only, and the path of a
    // socket must be shorter than that of a folder may be.
    format!(
        "{DEFAULTS}\ndatadir = \"{}\"\ntmpdir = \"{}\"\nbind_address = 127.0.0.1\nsocket =\npid_file = \"{}\"\n",
        data.display(),
        tmp.display(),
        place.node(node).join("tmp/pid").display(),
    )
}

/// Writes a node's configuration.
pub(super) fn configure(place: &InstanceFiles, nodes: &[Node], node: usize) -> Result<(), ServersError> {
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

/// Arguments of a node's server. With `first` it founds the cluster, otherwise it joins it.
pub(super) fn arguments(place: &InstanceFiles, node: usize, first: bool) -> Vec<String> {
    let mut arguments = vec![format!("--defaults-file={}", configuration(place, node).display())];
    if first && place.kind == Kind::Galera {
        arguments.push("--wsrep-new-cluster".into());
    }
    arguments
}

/// Arguments with which a server only prints the position at the end of its redo log. `None` if there is nothing to
/// recover.
///
/// With its position, a node that was killed receives only the transactions that it missed, and a full copy only if the
/// other nodes no longer have these. Debian's unit files do the same at every start.
pub(super) fn recovery(place: &InstanceFiles, node: usize) -> Option<Vec<String>> {
    let killed = place.kind == Kind::Galera && place.data(node).join("grastate.dat").exists();
    killed.then(|| {
        let mut arguments = arguments(place, node, false);
        arguments.push("--wsrep-recover".into());
        arguments
    })
}

/// The argument that gives a node its position, parsed from the output of the recovery.
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
