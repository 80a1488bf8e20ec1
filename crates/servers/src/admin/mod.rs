//! The core's own connection to a server.

use std::time::Duration;

use litelab_protocol::Dialect;
use litelab_protocol::draw::Value;

use crate::ServersError;
use connect::Connection;

mod connect;
mod mysql;
mod postgres;
mod url;

pub use url::{Url, without_password};

/// What a server says of a statement it has compiled and not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// Names of the columns it returns.
    pub columns: Vec<String>,
    /// Values it wants bound.
    pub parameters: usize,
}

/// A connection to a server.
pub struct Admin {
    url: Url,
    timeout: Duration,
    connection: Connection,
}

impl Admin {
    /// How long a connection may take to come about.
    pub const TIMEOUT: Duration = Duration::from_secs(5);

    /// Connects to the first host of a url that answers within [`Self::TIMEOUT`].
    ///
    /// # Errors
    /// A wrong url, no host that answers, a wrong password, no connection left.
    pub fn connect(url: &str) -> Result<Self, ServersError> {
        Self::connect_within(url, Self::TIMEOUT)
    }

    /// As [`Self::connect`], with another timeout per host.
    ///
    /// # Errors
    /// As [`Self::connect`].
    pub fn connect_within(url: &str, timeout: Duration) -> Result<Self, ServersError> {
        Self::of(Url::parse(url)?, timeout)
    }

    fn of(url: Url, timeout: Duration) -> Result<Self, ServersError> {
        let connection = connect::connect(&url, timeout)?;
        Ok(Self { url, timeout, connection })
    }

    /// What the server understands.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.url.dialect
    }

    /// The server's name and version: `PostgreSQL 15.18`, `MariaDB 10.11.19`.
    ///
    /// # Errors
    /// What the server says.
    pub fn version(&mut self) -> Result<String, ServersError> {
        match &mut self.connection {
            Connection::Postgres(client) => postgres::version(client),
            Connection::Mysql(conn) => mysql::version(conn),
        }
    }

    /// Servers in the cluster of the connection's node, and that node's state (`Synced`).
    pub(crate) fn cluster_state(&mut self) -> Result<(usize, String), ServersError> {
        let mut status = |name: &str| self.status(name);
        let size = status("wsrep_cluster_size")?.parse().unwrap_or(0);
        Ok((size, status("wsrep_local_state_comment")?))
    }

    fn status(&mut self, name: &str) -> Result<String, ServersError> {
        match &mut self.connection {
            Connection::Mysql(conn) => mysql::status(conn, name),
            Connection::Postgres(_) => Err(ServersError::Answer("a PostgreSQL is no node of a cluster".into())),
        }
    }

    /// Makes a schema (of MySQL: a database).
    ///
    /// # Errors
    /// [`ServersError::SchemaExists`], or what the server says.
    pub fn create_schema(&mut self, name: &str) -> Result<(), ServersError> {
        let _ = name;
        todo!()
    }

    /// Drops a schema with all that is in it; one that is absent is no error.
    ///
    /// # Errors
    /// What the server says.
    pub fn drop_schema(&mut self, name: &str) -> Result<(), ServersError> {
        let _ = name;
        todo!()
    }

    /// Runs the statements of a script one after the other, each committed by itself.
    ///
    /// # Errors
    /// The first that the server refuses.
    pub fn script(&mut self, schema: &str, sql: &str) -> Result<(), ServersError> {
        let _ = (schema, sql);
        todo!()
    }

    /// Compiles one statement and runs nothing.
    ///
    /// # Errors
    /// What the server says.
    pub fn prepare_check(&mut self, schema: &str, sql: &str) -> Result<Prepared, ServersError> {
        let _ = (schema, sql);
        todo!()
    }

    /// Runs an INSERT once per row, as fast as the server takes them; the number of rows.
    ///
    /// # Errors
    /// What the server says.
    pub fn insert(
        &mut self,
        schema: &str,
        sql: &str,
        rows: impl IntoIterator<Item = Vec<Value>>,
    ) -> Result<u64, ServersError> {
        let _ = (schema, sql, rows.into_iter().count());
        todo!()
    }

    /// Refreshes what the planner knows of all tables of a schema.
    ///
    /// # Errors
    /// What the server says.
    pub fn analyze(&mut self, schema: &str) -> Result<(), ServersError> {
        let _ = schema;
        todo!()
    }

    /// The only column of a query's only row as a number; not a number where it is NULL.
    ///
    /// # Errors
    /// What the server says, or that the answer is no single number.
    pub fn number(&mut self, schema: &str, sql: &str) -> Result<f64, ServersError> {
        let _ = (schema, sql);
        todo!()
    }

    /// The hash of a table's content ([`crate::content::ContentHash`]): of the same rows the same as SQLite's.
    ///
    /// # Errors
    /// What the server says, or a column whose type SQLite has not.
    pub fn content_hash(&mut self, schema: &str, table: &str) -> Result<String, ServersError> {
        let _ = (schema, table);
        todo!()
    }

    /// A setting in effect on this connection.
    ///
    /// # Errors
    /// A setting the server has not.
    pub fn setting(&mut self, name: &str) -> Result<String, ServersError> {
        let _ = name;
        todo!()
    }

    /// Sets a server-wide setting on every host of the url, waits until it is in effect, and says what it was.
    ///
    /// # Errors
    /// A setting or value that the server refuses or does not put into effect.
    pub fn set_server(&mut self, name: &str, value: &str) -> Result<String, ServersError> {
        let _ = (name, value);
        todo!()
    }
}
