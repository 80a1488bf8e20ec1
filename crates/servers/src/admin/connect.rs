//! From a url to a connection.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use litelab_protocol::Dialect;

use super::Url;
use super::{mysql, postgres};
use crate::ServersError;

/// A connection of either kind.
pub(super) enum Connection {
    Postgres(Box<::postgres::Client>),
    Mysql(Box<::mysql::Conn>),
}

/// Connects to the first host that answers; the connection, and the url of that host alone. A host that answers with a
/// refusal ends the search: all hosts of a url are one cluster, and the next one knows no other password.
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

/// On a thread of its own, since neither driver bounds what follows the TCP handshake: a stopped server accepts
/// connections (the kernel does) and then says nothing. The thread of an attempt that is given up ends with it.
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
