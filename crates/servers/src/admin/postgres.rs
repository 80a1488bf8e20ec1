//! What is PostgreSQL's own.

use std::time::Duration;

use postgres::config::SslMode;
use postgres::{Client, Config, Error, NoTls, SimpleQueryMessage};

use super::Url;
use crate::ServersError;
use crate::error::one_line;

/// Connects to the only host of a url.
pub(super) fn connect(url: &Url, timeout: Duration) -> Result<Client, ServersError> {
    let (host, port) = &url.hosts[0];
    let mut config = Config::new();
    config.host(host).port(*port).user(&url.user).connect_timeout(timeout).ssl_mode(SslMode::Disable);
    config.application_name("litelab");
    // A user's own default database has the user's name; that of a server is always there.
    config.dbname(url.database.as_deref().unwrap_or("postgres"));
    if let Some(password) = &url.password {
        config.password(password);
    }
    config.connect(NoTls).map_err(|e| refusal(&format!("{host}:{port}"), &e))
}

/// Why there is no connection.
fn refusal(host: &str, error: &Error) -> ServersError {
    let Some(said) = error.as_db_error() else {
        // Its own text is `error connecting to server`; the reason lies below.
        let why = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
        return match error.to_string() {
            text if text.starts_with("invalid configuration") => {
                ServersError::Refused { host: host.into(), why: one_line(&why) }
            }
            _ => ServersError::Unreachable { hosts: host.into(), why: one_line(&why) },
        };
    };
    let (host, why) = (host.to_owned(), one_line(said.message()));
    match said.code().code() {
        // invalid_authorization_specification, invalid_password, invalid_catalog_name
        "28000" | "28P01" | "3D000" => ServersError::Refused { host, why },
        "53300" => ServersError::TooManyConnections { host, why },
        // cannot_connect_now, admin_shutdown, crash_shutdown: starting up, recovering or going down.
        "57P03" | "57P01" | "57P02" => ServersError::Unreachable { hosts: host, why },
        code => ServersError::Sql { name: code.into(), message: why },
    }
}

/// What a statement was answered.
pub(super) fn error(error: &Error) -> ServersError {
    match error.as_db_error() {
        Some(said) => {
            let detail = said.detail().map(|d| format!("; {d}")).unwrap_or_default();
            let message = one_line(&format!("{}{detail}", said.message()));
            ServersError::Sql { name: said.code().code().into(), message }
        }
        None => {
            let why = std::error::Error::source(error).map(|e| format!(": {e}")).unwrap_or_default();
            let text = one_line(&format!("{error}{why}"));
            if error.is_closed() || text.starts_with("error communicating") {
                ServersError::Lost(text)
            } else {
                ServersError::Answer(text)
            }
        }
    }
}

/// The first column of a query's first row as text; none where there is no row or it is NULL.
pub(super) fn text(client: &mut Client, sql: &str) -> Result<Option<String>, ServersError> {
    let messages = client.simple_query(sql).map_err(|e| error(&e))?;
    Ok(messages
        .iter()
        .find_map(|m| match m {
            SimpleQueryMessage::Row(row) => Some(row.get(0).map(str::to_owned)),
            _ => None,
        })
        .flatten())
}

/// `PostgreSQL 15.18`.
pub(super) fn version(client: &mut Client) -> Result<String, ServersError> {
    let said = text(client, "SHOW server_version")?.unwrap_or_default();
    // Debian adds its own in parentheses.
    Ok(format!("PostgreSQL {}", said.split_whitespace().next().unwrap_or_default()))
}
