//! Errors of servers. Each message is one line.

use std::path::{Path, PathBuf};

use crate::Kind;

/// An error while a server is started, connected to, or queried. Each message is one line.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ServersError {
    /// An invalid URL, or one of an unsupported server. The message never contains the password.
    #[error("url `{url}`: {why}")]
    Url {
        /// The URL, without its password.
        url: String,
        why: String,
    },
    #[error("no server answers at {hosts}: {why}; is it running? (`litelab servers status`)")]
    Unreachable {
        /// `host:port`, separated by commas.
        hosts: String,
        /// Error of the operating system or the driver for the last host.
        why: String,
    },
    #[error("{host} refuses the connection: {why}; check user, password and database in the url")]
    Refused {
        /// `host:port`.
        host: String,
        why: String,
    },
    #[error("{host} has no connection left: {why}; raise its max_connections, or use fewer workers")]
    TooManyConnections {
        /// `host:port`.
        host: String,
        why: String,
    },
    #[error("schema `{0}` exists already; litelab only uses one that it made itself: drop it, or rename it")]
    SchemaExists(String),
    #[error("{message} ({name})")]
    Sql {
        /// PostgreSQL's SQLSTATE, or MySQL's error number.
        name: String,
        message: String,
    },
    #[error("the connection to the server is lost: {0}")]
    Lost(String),
    #[error("{kind} is not installed ({missing} not found): apt-get install {packages}")]
    Missing { kind: Kind, missing: String, packages: &'static str },
    /// A folder that litelab did not create, or that the server's user cannot use.
    #[error("{}: {why}", path.display())]
    Folder { path: PathBuf, why: String },
    #[error("{}: cannot {what}: {source}", path.display())]
    Io { what: &'static str, path: PathBuf, source: std::io::Error },
    /// A server did not start or did not stop, or its response has an unexpected form.
    #[error("{0}")]
    Failed(String),
    /// The user requested a stop during the start of a server. Nothing of the server is left.
    #[error("interrupted")]
    Interrupted,
}

impl ServersError {
    /// Returns a closure for `map_err`.
    pub(crate) fn io(what: &'static str, path: &Path) -> impl Fn(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { what, path: path.clone(), source }
    }

    /// Whether the user must change the input: a URL, a folder, or the installed packages.
    #[must_use]
    pub fn is_bad_input(&self) -> bool {
        matches!(
            self,
            Self::Url { .. }
                | Self::Unreachable { .. }
                | Self::Refused { .. }
                | Self::SchemaExists(_)
                | Self::Missing { .. }
                | Self::Folder { .. }
        )
    }
}

/// Joins a text of several lines into one line.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
