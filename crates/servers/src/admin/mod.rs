//! The engine's own connection to a server.

use std::time::Duration;

use litelab_protocol::Dialect;
use litelab_protocol::draw::Value;
use litelab_protocol::sql::{self, Insert};

use crate::ServersError;
use cell::Cell;
use connect::Connection;
use line::ConnectionHandle;

mod cell;
mod connect;
mod line;
mod mysql;
mod postgres;
mod url;

pub use url::{Url, without_password};

/// Calls a function of the module for the connection's kind.
macro_rules! ask {
    ($self:ident, $what:ident($($text:ident),*)) => {{
        $(let $text = $text.to_owned();)*
        $self.line.ask(move |connection| match connection {
            Connection::Postgres(client) => postgres::$what(client, $(&$text),*),
            Connection::Mysql(conn) => mysql::$what(conn, $(&$text),*),
        })
    }};
}

/// Description of a statement that the server has compiled but not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// Names of the result columns.
    pub columns: Vec<String>,
    /// Number of bound parameters.
    pub parameters: usize,
}

/// Largest number of bound values in PostgreSQL and MySQL.
const PARAMETERS: usize = 65_535;
/// Most rows of one statement; more gain nothing.
const ROWS: usize = 500;
/// Rows per transaction of [`Admin::insert`].
const COMMIT: usize = 10_000;
/// Size in bytes above which rows are inserted one by one: `max_allowed_packet` of MariaDB is 16 MiB.
const LARGE: usize = 4 << 20;

/// Number of rows of one statement.
fn at_once(parameters: usize) -> usize {
    (PARAMETERS / parameters).clamp(1, ROWS)
}

/// Whether the rows fit into one statement.
fn fit(rows: &[Vec<Value>]) -> bool {
    let size = |value: &Value| if let Value::Text(text) = value { text.len() + 8 } else { 16 };
    rows.iter().flatten().map(size).sum::<usize>() < LARGE
}

/// A connection to a server.
pub struct Admin {
    url: Url,
    timeout: Duration,
    line: Box<ConnectionHandle>,
    /// Schema in which unqualified names are currently resolved.
    inside: Option<String>,
}

impl Admin {
    /// Default timeout of a connection attempt, per host.
    pub const TIMEOUT: Duration = Duration::from_secs(5);
    /// Longest wait of a statement for a lock.
    pub const PATIENCE: Duration = Duration::from_secs(30);
    /// Limit for one of the engine's own statements. A longer one counts as a lost server, even if the server answers
    /// other connections.
    const LONGEST: Duration = Duration::from_secs(600);

    /// Connects to the first host of a URL that answers within [`Self::TIMEOUT`].
    ///
    /// If the server is later silent for twice that time, and does not answer two further connections either, calls
    /// return [`ServersError::Lost`]. A server that still works on a long statement is waited for, up to ten minutes.
    ///
    /// # Errors
    /// An invalid URL, no host that answers, a wrong password, or no free connection.
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
        let line = Box::new(ConnectionHandle::open(&url, timeout)?);
        Ok(Self { url, timeout, line, inside: None })
    }

    /// Dialect of the server.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.url.dialect
    }

    /// Name and version of the server: `PostgreSQL 15.18`, `MariaDB 10.11.19`.
    ///
    /// # Errors
    /// The server's error.
    pub fn version(&mut self) -> Result<String, ServersError> {
        ask!(self, version())
    }

    /// Number of servers in the cluster, and state of the connected node (`Synced`).
    pub(crate) fn cluster_state(&mut self) -> Result<(usize, String), ServersError> {
        self.line.ask(|connection| match connection {
            Connection::Mysql(conn) => mysql::cluster_state(conn),
            Connection::Postgres(_) => Err(ServersError::Failed("a PostgreSQL is no node of a cluster".into())),
        })
    }

    /// Creates a schema (in MySQL a database).
    ///
    /// # Errors
    /// [`ServersError::SchemaExists`], or another error of the server.
    pub fn create_schema(&mut self, name: &str) -> Result<(), ServersError> {
        ask!(self, create_schema(name))
    }

    /// Drops a schema with its content. It is no error if the schema does not exist.
    ///
    /// # Errors
    /// The server's error; also if another connection uses the schema for longer than [`Self::PATIENCE`].
    pub fn drop_schema(&mut self, name: &str) -> Result<(), ServersError> {
        if self.inside.as_deref() == Some(name) {
            self.inside = None;
        }
        ask!(self, drop_schema(name))
    }

    /// Runs the statements of a script in order, each in its own transaction.
    ///
    /// # Errors
    /// The error of the first statement that the server rejects.
    pub fn script(&mut self, schema: &str, sql: &str) -> Result<(), ServersError> {
        self.enter(schema)?;
        for statement in sql::statements(sql, self.dialect()) {
            ask!(self, execute(statement))?;
        }
        Ok(())
    }

    /// Compiles one statement without running it. PostgreSQL does not check `COPY … FROM STDIN` at that point: its
    /// table and columns are looked up, and its parameters are its columns.
    ///
    /// # Errors
    /// The server's error.
    pub fn prepare_check(&mut self, schema: &str, sql: &str) -> Result<Prepared, ServersError> {
        self.enter(schema)?;
        ask!(self, prepare(sql))
    }

    /// Runs an INSERT once per row, as fast as the server accepts them, and returns the number of rows. Each row has
    /// one value per placeholder of the statement.
    ///
    /// # Errors
    /// The server's error. Earlier rows may have been committed.
    pub fn insert(
        &mut self,
        schema: &str,
        sql: &str,
        rows: impl IntoIterator<Item = Vec<Value>>,
    ) -> Result<u64, ServersError> {
        self.enter(schema)?;
        let insert = Insert::find(self.dialect(), sql).filter(Insert::is_independent);
        let at_once = insert.as_ref().map_or(1, |insert| at_once(insert.parameters));
        let many = insert.map(|insert| insert.of_rows(at_once));
        let mut rows = rows.into_iter();
        let mut done = 0;
        loop {
            let chunk: Vec<Vec<Value>> = rows.by_ref().take(COMMIT).collect();
            if chunk.is_empty() {
                return Ok(done);
            }
            done += chunk.len() as u64;
            let (one, many) = (sql.to_owned(), many.clone().filter(|_| at_once > 1 && chunk.len() >= at_once));
            self.line.ask(move |connection| {
                // Statements of many rows as long as enough rows are left, then statements of one row.
                let at_once = if many.is_some() { at_once } else { 1 };
                let chunks = chunk.chunks(at_once).flat_map(|some| {
                    let size = if some.len() == at_once && fit(some) { at_once } else { 1 };
                    some.chunks(size)
                });
                match connection {
                    Connection::Postgres(client) => postgres::insert(client, &one, many.as_deref(), chunks),
                    Connection::Mysql(conn) => mysql::insert(conn, &one, many.as_deref(), chunks),
                }
            })?;
        }
    }

    /// Updates the planner's statistics for all tables of a schema. In PostgreSQL the tables are vacuumed too, as after
    /// any load.
    ///
    /// # Errors
    /// The server's error.
    pub fn analyze(&mut self, schema: &str) -> Result<(), ServersError> {
        self.enter(schema)?;
        for table in ask!(self, tables(schema))? {
            ask!(self, analyze(table))?;
        }
        Ok(())
    }

    /// Returns the only column of a query's only row as a number; NaN if it is NULL.
    ///
    /// # Errors
    /// The server's error, or a result that is not a single number.
    pub fn number(&mut self, schema: &str, sql: &str) -> Result<f64, ServersError> {
        self.enter(schema)?;
        let Some(text) = ask!(self, text(sql))? else { return Ok(f64::NAN) };
        match text.as_str() {
            // PostgreSQL's booleans.
            "t" => Ok(1.0),
            "f" => Ok(0.0),
            other => other.parse().map_err(|_| ServersError::Failed(format!("`{other}` is no number"))),
        }
    }

    /// Hash of a table's content ([`litelab_protocol::content::ContentHash`]). The same rows have the same hash in
    /// SQLite. Integers of any width and integral decimals count as integers, a boolean as 0 or 1.
    ///
    /// # Errors
    /// The server's error, or a column whose type has no equivalent in SQLite.
    pub fn content_hash(&mut self, schema: &str, table: &str) -> Result<String, ServersError> {
        self.enter(schema)?;
        ask!(self, content_hash(table))
    }

    /// Returns all rows of a query, each value in its SQLite type. Bytes that are not text are returned as a text that
    /// states their number.
    ///
    /// # Errors
    /// The server's error, or a column whose type has no equivalent in SQLite.
    pub fn rows(&mut self, schema: &str, sql: &str) -> Result<Vec<Vec<Value>>, ServersError> {
        self.enter(schema)?;
        let rows = ask!(self, rows(sql))?;
        Ok(rows.into_iter().map(|row| row.into_iter().map(Cell::value).collect()).collect())
    }

    /// Returns a setting in effect on this connection.
    ///
    /// # Errors
    /// A setting that the server does not have.
    pub fn setting(&mut self, name: &str) -> Result<String, ServersError> {
        let name = checked(name)?;
        ask!(self, setting(name))
    }

    /// Sets a server-wide setting on every host of the URL, waits until it is in effect, and returns its previous value
    /// on the first host. New connections have the new value; existing ones may keep the old one.
    ///
    /// # Errors
    /// A setting or value that the server rejects or does not apply at run time.
    pub fn set_server(&mut self, name: &str, value: &str) -> Result<String, ServersError> {
        let name = checked(name)?;
        if self.url.hosts.len() == 1 {
            return ask!(self, set_server(name, value));
        }
        let mut former = None;
        for host in &self.url.hosts {
            let mut one = Self::of(self.url.only(host), self.timeout)?;
            let was = ask!(one, set_server(name, value))?;
            former.get_or_insert(was);
        }
        Ok(former.unwrap_or_default())
    }

    /// Sets the schema in which unqualified names are resolved.
    fn enter(&mut self, schema: &str) -> Result<(), ServersError> {
        if self.inside.as_deref() != Some(schema) {
            self.inside = None;
            ask!(self, enter(schema))?;
            self.inside = Some(schema.to_owned());
        }
        Ok(())
    }
}

/// Checks a setting's name, which is inserted into a statement without quotes.
fn checked(name: &str) -> Result<&str, ServersError> {
    if !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.') {
        Ok(name)
    } else {
        Err(ServersError::Failed(format!("`{name}` is no name of a setting")))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_statement_binds_more_than_the_servers_allow() {
        assert_eq!([1, 1000, 70_000].map(super::at_once), [500, 65, 1]);
    }
}
