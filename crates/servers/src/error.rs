//! What can go wrong with a server, each in one line.

use std::path::PathBuf;

use crate::Kind;

/// Why a server could not be started, reached or asked. Every message is one line.
#[derive(Debug, thiserror::Error)]
pub enum ServersError {
    /// A url that is none, or of a server that litelab does not know. The url's password is never repeated.
    #[error("url `{url}`: {why}")]
    Url {
        /// As given, without its password.
        url: String,
        /// What is wrong with it, and what is allowed.
        why: String,
    },
    /// No host of a url answered in time.
    #[error("no server answers at {hosts}: {why}; is it running? (`litelab servers status`)")]
    Unreachable {
        /// `host:port`, separated by commas.
        hosts: String,
        /// What the operating system or the driver says of the last one.
        why: String,
    },
    /// The server knows the user not, or not with this password, or not for this database.
    #[error("{host} refuses the connection: {why}; check user, password and database in the url")]
    Refused {
        /// `host:port`.
        host: String,
        /// What the server says.
        why: String,
    },
    /// The server has no connection left.
    #[error("{host} has no connection left: {why}; raise its max_connections, or use fewer workers")]
    TooManyConnections {
        /// `host:port`.
        host: String,
        /// What the server says.
        why: String,
    },
    /// A schema of this name is someone's already.
    #[error("schema `{0}` exists already; litelab only uses one that it made itself: drop it, or rename it")]
    SchemaExists(String),
    /// The server refused a statement.
    #[error("{message} ({name})")]
    Sql {
        /// PostgreSQL's SQLSTATE, or MySQL's error number.
        name: String,
        /// The server's message, in one line.
        message: String,
    },
    /// The connection ended amid the conversation.
    #[error("the connection to the server is lost: {0}")]
    Lost(String),
    /// An answer that is not what was asked for.
    #[error("{0}")]
    Answer(String),
    /// The programs of a server are not installed.
    #[error("{kind} is not installed ({missing} not found): apt-get install {}", crate::instance::binaries::packages(*kind))]
    Missing {
        /// The server.
        kind: Kind,
        /// The program that was looked for.
        missing: String,
    },
    /// A folder that litelab did not make, or that the server's user cannot use.
    #[error("{}: {why}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What is wrong, and the remedy.
        why: String,
    },
    /// An operation on a file.
    #[error("{}: cannot {what}: {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// A server that did not start, or did not stop.
    #[error("{0}")]
    Failed(String),
    /// The user asked to stop while a server was being started; nothing of it is left.
    #[error("interrupted")]
    Interrupted,
}

impl ServersError {
    /// Whether the user has to change what was given: a url, a folder, what is installed.
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

/// A text of several lines as one.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
