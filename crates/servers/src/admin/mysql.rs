//! What is MySQL's and MariaDB's own.

use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, Error, OptsBuilder};

use super::Url;
use crate::ServersError;
use crate::error::one_line;

/// A statement of the core's own that takes longer than this has lost its server.
const READ: Duration = Duration::from_secs(600);

/// Connects to the only host of a url.
pub(super) fn connect(url: &Url, timeout: Duration) -> Result<Conn, ServersError> {
    let (host, port) = &url.hosts[0];
    let options = OptsBuilder::new()
        .ip_or_hostname(Some(host))
        .tcp_port(*port)
        .user(Some(&url.user))
        .pass(url.password.as_ref())
        .db_name(url.database.as_ref())
        // It would look for the server's socket and take that.
        .prefer_socket(false)
        .tcp_connect_timeout(Some(timeout))
        .read_timeout(Some(READ));
    Conn::new(options).map_err(|e| refusal(&format!("{host}:{port}"), e))
}

/// Why there is no connection.
fn refusal(host: &str, error: Error) -> ServersError {
    let Error::MySqlError(said) = error else {
        return ServersError::Unreachable { hosts: host.into(), why: one_line(&plain(&error)) };
    };
    let (host, why) = (host.to_owned(), one_line(&said.message));
    match said.code {
        // ER_DBACCESS_DENIED_ERROR, ER_ACCESS_DENIED_ERROR, ER_BAD_DB_ERROR, ER_HOST_NOT_PRIVILEGED
        1044 | 1045 | 1049 | 1130 | 1698 => ServersError::Refused { host, why },
        // ER_CON_COUNT_ERROR, ER_TOO_MANY_USER_CONNECTIONS, ER_USER_LIMIT_REACHED
        1040 | 1203 | 1226 => ServersError::TooManyConnections { host, why },
        // ER_SERVER_SHUTDOWN
        1053 => ServersError::Unreachable { hosts: host, why },
        code => ServersError::Sql { name: format!("ER_{code}"), message: why },
    }
}

/// What a statement was answered.
pub(super) fn error(error: Error) -> ServersError {
    match error {
        Error::MySqlError(said) => {
            ServersError::Sql { name: format!("ER_{}", said.code), message: one_line(&said.message) }
        }
        other => ServersError::Lost(one_line(&plain(&other))),
    }
}

/// Without the names of the driver's own enums.
fn plain(error: &Error) -> String {
    match error {
        Error::IoError(io) => io.to_string(),
        Error::DriverError(mysql::DriverError::CouldNotConnect(Some((_, why, _)))) => why.clone(),
        other => other.to_string(),
    }
}

/// `MariaDB 10.11.19`.
pub(super) fn version(conn: &mut Conn) -> Result<String, ServersError> {
    let said: String = conn.query_first("SELECT VERSION()").map_err(error)?.unwrap_or_default();
    let name = if said.contains("MariaDB") { "MariaDB" } else { "MySQL" };
    Ok(format!("{name} {}", said.split('-').next().unwrap_or_default()))
}

/// A variable of the server's state; empty where it has none of that name.
pub(super) fn status(conn: &mut Conn, name: &str) -> Result<String, ServersError> {
    let row: Option<(String, String)> = conn.query_first(format!("SHOW GLOBAL STATUS LIKE '{name}'")).map_err(error)?;
    Ok(row.map(|(_, value)| value).unwrap_or_default())
}
