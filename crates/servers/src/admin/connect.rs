//! Connections by URL.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use litelab_protocol::Dialect;

use super::Url;
use super::{mysql, postgres};
use crate::ServersError;

/// A connection to either kind of server.
pub(super) enum Connection {
    Postgres(Box<::postgres::Client>),
    Mysql(Box<::mysql::Conn>),
}

/// Connects to the first host that answers. Returns the connection, and the URL of that host alone. A host that rejects
/// the connection ends the search: all hosts of a URL belong to one cluster, which has the same accounts on every host.
pub(super) fn connect(url: &Url, timeout: Duration) -> Result<(Connection, Url), ServersError> {
    let mut why = String::new();
    for host in &url.hosts {
        let this = url.only(host);
        match one(this.clone(), timeout) {
            Err(ServersError::Unreachable { why: said, .. }) => why = said,
            other => return other.map(|connection| (connection, this)),
        }
    }
    let hosts: Vec<_> = url.hosts.iter().map(|(host, port)| format!("{host}:{port}")).collect();
    Err(ServersError::Unreachable { hosts: hosts.join(", "), why })
}

/// Connects on a separate thread, because neither driver limits the time after the TCP handshake: for a stopped server
/// the kernel still accepts connections, but no response follows. The thread of an abandoned attempt ends with the
/// attempt.
fn one(url: Url, timeout: Duration) -> Result<Connection, ServersError> {
    let (sender, receiver) = channel();
    let hosts = format!("{}:{}", url.hosts[0].0, url.hosts[0].1);
    std::thread::spawn(move || {
        let _given_up = sender.send(match url.dialect {
            Dialect::Postgres => postgres::connect(&url, timeout).map(|c| Connection::Postgres(Box::new(c))),
            _ => mysql::connect(&url, timeout).map(|c| Connection::Mysql(Box::new(c))),
        });
    });
    receiver.recv_timeout(timeout).unwrap_or_else(|e| {
        let why = match e {
            RecvTimeoutError::Timeout => format!("no answer within {} s", timeout.as_secs_f64()),
            RecvTimeoutError::Disconnected => "the attempt ended without an answer".into(),
        };
        Err(ServersError::Unreachable { hosts, why })
    })
}
