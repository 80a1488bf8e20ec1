//! The core's own connection to a server.

use std::time::Duration;

use litelab_protocol::draw::Value;
use litelab_protocol::{Dialect, sql};

use crate::ServersError;
use cell::Cell;
use connect::Connection;
use line::Line;
use tuple::Tuple;

mod cell;
mod connect;
mod line;
mod mysql;
mod postgres;
mod tuple;
mod url;

pub use url::{Url, without_password};

/// Passes a question about texts on to the module of the connection's kind.
macro_rules! ask {
    ($self:ident, $what:ident($($text:ident),*)) => {{
        $(let $text = $text.to_owned();)*
        $self.line.ask(move |connection| match connection {
            Connection::Postgres(client) => postgres::$what(client, $(&$text),*),
            Connection::Mysql(conn) => mysql::$what(conn, $(&$text),*),
        })
    }};
}

/// What a server says of a statement it has compiled and not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// Names of the columns it returns.
    pub columns: Vec<String>,
    /// Values it wants bound.
    pub parameters: usize,
}

/// Rows that one transaction of [`Admin::insert`] holds.
const COMMIT: usize = 10_000;
/// Bytes beyond which rows go one by one: MariaDB's `max_allowed_packet` is 16 MiB.
const LARGE: usize = 4 << 20;

/// Whether rows fit one statement.
fn fit(rows: &[Vec<Value>]) -> bool {
    let size = |value: &Value| if let Value::Text(text) = value { text.len() + 8 } else { 16 };
    rows.iter().flatten().map(size).sum::<usize>() < LARGE
}

/// A connection to a server.
pub struct Admin {
    url: Url,
    timeout: Duration,
    line: Box<Line>,
    /// The schema that unqualified names are looked up in now.
    inside: Option<String>,
}

impl Admin {
    /// How long a connection may take to come about.
    pub const TIMEOUT: Duration = Duration::from_secs(5);
    /// How long a statement waits for a lock that someone holds.
    pub const PATIENCE: Duration = Duration::from_secs(30);

    /// Connects to the first host of a url that answers within [`Self::TIMEOUT`]. A server that later says nothing for
    /// twice as long, and nothing to two further connections either, is [`ServersError::Lost`]; one that is at work on a
    /// long statement is waited for, up to ten minutes.
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
        let line = Box::new(Line::open(&url, timeout)?);
        Ok(Self { url, timeout, line, inside: None })
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
        ask!(self, version())
    }

    /// Servers in the cluster of the connection's node, and that node's state (`Synced`).
    pub(crate) fn cluster_state(&mut self) -> Result<(usize, String), ServersError> {
        let mut status = |name: &str| self.status(name);
        let size = status("wsrep_cluster_size")?.parse().unwrap_or(0);
        Ok((size, status("wsrep_local_state_comment")?))
    }

    fn status(&mut self, name: &str) -> Result<String, ServersError> {
        let name = name.to_owned();
        self.line.ask(move |connection| match connection {
            Connection::Mysql(conn) => mysql::status(conn, &name),
            Connection::Postgres(_) => Err(ServersError::Answer("a PostgreSQL is no node of a cluster".into())),
        })
    }

    /// Makes a schema (of MySQL: a database).
    ///
    /// # Errors
    /// [`ServersError::SchemaExists`], or what the server says.
    pub fn create_schema(&mut self, name: &str) -> Result<(), ServersError> {
        ask!(self, create_schema(name))
    }

    /// Drops a schema with all that is in it; one that is absent is no error.
    ///
    /// # Errors
    /// What the server says; also that someone has used it for [`Self::PATIENCE`] and does not let it go.
    pub fn drop_schema(&mut self, name: &str) -> Result<(), ServersError> {
        if self.inside.as_deref() == Some(name) {
            self.inside = None;
        }
        ask!(self, drop_schema(name))
    }

    /// Runs the statements of a script one after the other, each committed by itself.
    ///
    /// # Errors
    /// The first that the server refuses.
    pub fn script(&mut self, schema: &str, sql: &str) -> Result<(), ServersError> {
        self.enter(schema)?;
        for statement in sql::statements(sql, self.dialect()) {
            ask!(self, execute(statement))?;
        }
        Ok(())
    }

    /// Compiles one statement and runs nothing. Of PostgreSQL's `COPY … FROM STDIN`, whose compiling checks nothing, table
    /// and columns are looked up; its parameters are its columns.
    ///
    /// # Errors
    /// What the server says.
    pub fn prepare_check(&mut self, schema: &str, sql: &str) -> Result<Prepared, ServersError> {
        self.enter(schema)?;
        ask!(self, prepare(sql))
    }

    /// Runs an INSERT once per row, as fast as the server takes them; the number of rows. Each row has one value per
    /// placeholder of the statement.
    ///
    /// # Errors
    /// What the server says. Rows before may be there then.
    pub fn insert(
        &mut self,
        schema: &str,
        sql: &str,
        rows: impl IntoIterator<Item = Vec<Value>>,
    ) -> Result<u64, ServersError> {
        self.enter(schema)?;
        let tuple = Tuple::find(self.dialect(), sql);
        let at_once = tuple.as_ref().map_or(1, Tuple::rows);
        let many = tuple.map(|t| t.of(at_once));
        let mut rows = rows.into_iter();
        let mut done = 0;
        loop {
            let chunk: Vec<Vec<Value>> = rows.by_ref().take(COMMIT).collect();
            if chunk.is_empty() {
                return Ok(done);
            }
            done += chunk.len() as u64;
            let (one, many) = (sql.to_owned(), many.clone());
            // Statements of many rows as long as there are that many, and of one for what is left.
            self.line.ask(move |connection| {
                let many = many.as_deref().map(|many| (many, at_once));
                match connection {
                    Connection::Postgres(client) => postgres::insert(client, &one, many, &chunk),
                    Connection::Mysql(conn) => mysql::insert(conn, &one, many, &chunk),
                }
            })?;
        }
    }

    /// Refreshes what the planner knows of all tables of a schema; PostgreSQL's are vacuumed too, as after any load.
    ///
    /// # Errors
    /// What the server says.
    pub fn analyze(&mut self, schema: &str) -> Result<(), ServersError> {
        self.enter(schema)?;
        for table in ask!(self, tables(schema))? {
            ask!(self, analyze(table))?;
        }
        Ok(())
    }

    /// The only column of a query's only row as a number; not a number where it is NULL.
    ///
    /// # Errors
    /// What the server says, or that the answer is no single number.
    pub fn number(&mut self, schema: &str, sql: &str) -> Result<f64, ServersError> {
        self.enter(schema)?;
        let Some(text) = ask!(self, text(sql))? else { return Ok(f64::NAN) };
        match text.as_str() {
            // PostgreSQL's booleans.
            "t" => Ok(1.0),
            "f" => Ok(0.0),
            other => other.parse().map_err(|_| ServersError::Answer(format!("`{other}` is no number"))),
        }
    }

    /// The hash of a table's content ([`litelab_protocol::content::ContentHash`]): of the same rows the same as SQLite's. Integers of
    /// any width are integers, integral decimals too; a boolean is 0 or 1.
    ///
    /// # Errors
    /// What the server says, or a column whose type SQLite has not.
    pub fn content_hash(&mut self, schema: &str, table: &str) -> Result<String, ServersError> {
        self.enter(schema)?;
        ask!(self, content_hash(table))
    }

    /// All rows of a query, each value in the type that SQLite would hold it in; bytes that are no text as a text that says
    /// how many there are.
    ///
    /// # Errors
    /// What the server says, or a column whose type SQLite has not.
    pub fn rows(&mut self, schema: &str, sql: &str) -> Result<Vec<Vec<Value>>, ServersError> {
        self.enter(schema)?;
        let rows = ask!(self, rows(sql))?;
        Ok(rows.into_iter().map(|row| row.into_iter().map(Cell::value).collect()).collect())
    }

    /// A setting in effect on this connection.
    ///
    /// # Errors
    /// A setting the server has not.
    pub fn setting(&mut self, name: &str) -> Result<String, ServersError> {
        let name = checked(name)?;
        ask!(self, setting(name))
    }

    /// Sets a server-wide setting on every host of the url, waits until it is in effect, and says what it was on the
    /// first. Connections made from then on have it; one that was there before may keep what it had.
    ///
    /// # Errors
    /// A setting or value that the server refuses or does not put into effect while it runs.
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

    /// Has unqualified names looked up in a schema.
    fn enter(&mut self, schema: &str) -> Result<(), ServersError> {
        if self.inside.as_deref() != Some(schema) {
            self.inside = None;
            ask!(self, enter(schema))?;
            self.inside = Some(schema.to_owned());
        }
        Ok(())
    }
}

/// A setting's name stands in a statement as it is.
fn checked(name: &str) -> Result<&str, ServersError> {
    if !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.') {
        Ok(name)
    } else {
        Err(ServersError::Answer(format!("`{name}` is no name of a setting")))
    }
}
