//! The part of [`super::Admin`] for MySQL and MariaDB.

use std::time::Duration;

use litelab_protocol::draw::Value;
use mysql::consts::ColumnType;
use mysql::prelude::Queryable;
use mysql::{Column, Conn, Error, OptsBuilder, Params, Statement, Transaction, TxOpts};

use super::cell::{Cell, Rows, foreign};
use super::{Admin, Prepared, Url};
use crate::ServersError;
use crate::error::one_line;

/// Connects to the only host of a URL.
pub(super) fn connect(url: &Url, timeout: Duration) -> Result<Conn, ServersError> {
    let (host, port) = &url.hosts[0];
    let options = OptsBuilder::new()
        .ip_or_hostname(Some(host))
        .tcp_port(*port)
        .user(Some(&url.user))
        .pass(url.password.as_ref())
        .db_name(url.database.as_ref())
        // The driver would otherwise ask the server for its socket and switch to it.
        .prefer_socket(false)
        .tcp_connect_timeout(Some(timeout))
        .read_timeout(Some(Admin::LONGEST))
        // The driver's cache identifies a statement by its text alone, and would return one that was compiled for the
        // previous schema.
        .stmt_cache_size(Some(0))
        // A node outside its cluster answers `SET` and nothing else.
        .init(vec![format!("SET SESSION lock_wait_timeout = {}", Admin::PATIENCE.as_secs()), "SELECT 1".into()]);
    let mut conn = Conn::new(options).map_err(|e| refusal(&format!("{host}:{port}"), e))?;
    if named(&mut conn, "VARIABLES", "wsrep_on")?.eq_ignore_ascii_case("on") {
        // On Galera, a read waits for the commits of all other nodes.
        execute(&mut conn, "SET SESSION wsrep_sync_wait = 1")?;
    }
    Ok(conn)
}

/// Maps an error of the connection attempt.
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
        // ER_SERVER_SHUTDOWN; ER_UNKNOWN_COM_ERROR, Galera's `has not yet prepared node for application use`.
        1047 | 1053 => ServersError::Unreachable { hosts: host, why },
        code => ServersError::Sql { name: format!("ER_{code}"), message: why },
    }
}

/// Maps an error of a statement.
pub(super) fn error(error: Error) -> ServersError {
    match error {
        Error::MySqlError(said) => {
            ServersError::Sql { name: format!("ER_{}", said.code), message: one_line(&said.message) }
        }
        other => ServersError::Lost(one_line(&plain(&other))),
    }
}

/// Text of an error without the names of the driver's own enums.
fn plain(error: &Error) -> String {
    match error {
        Error::IoError(io) => io.to_string(),
        Error::DriverError(mysql::DriverError::CouldNotConnect(Some((_, why, _)))) => why.clone(),
        other => other.to_string(),
    }
}

/// Name and version, such as `MariaDB 10.11.19`.
pub(super) fn version(conn: &mut Conn) -> Result<String, ServersError> {
    let said: String = conn.query_first("SELECT VERSION()").map_err(error)?.unwrap_or_default();
    let name = if said.contains("MariaDB") { "MariaDB" } else { "MySQL" };
    Ok(format!("{name} {}", said.split('-').next().unwrap_or_default()))
}

/// Number of servers in the cluster, and state of this node.
pub(super) fn cluster_state(conn: &mut Conn) -> Result<(usize, String), ServersError> {
    let size = named(conn, "STATUS", "wsrep_cluster_size")?.parse().unwrap_or(0);
    Ok((size, named(conn, "STATUS", "wsrep_local_state_comment")?))
}

/// Value of a status or system variable; empty if the server does not have it (MySQL has none of Galera's).
fn named(conn: &mut Conn, of: &str, name: &str) -> Result<String, ServersError> {
    let row: Option<(String, String)> = conn.query_first(format!("SHOW GLOBAL {of} LIKE '{name}'")).map_err(error)?;
    Ok(row.map(|(_, value)| value).unwrap_or_default())
}

/// Quotes a name for a statement.
fn name(text: &str) -> String {
    format!("`{}`", text.replace('`', "``"))
}

/// Quotes a text for a statement.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

pub(super) fn execute(conn: &mut Conn, sql: &str) -> Result<(), ServersError> {
    conn.query_drop(sql).map_err(error)
}

/// First column of a query's first row as text; `None` if there is no row or the value is NULL.
pub(super) fn text(conn: &mut Conn, sql: &str) -> Result<Option<String>, ServersError> {
    let row: Option<mysql::Row> = conn.query_first(sql).map_err(error)?;
    Ok(row.and_then(|row| match row.as_ref(0) {
        Some(mysql::Value::Bytes(bytes)) => Some(String::from_utf8_lossy(bytes).into_owned()),
        // The text protocol sends no other type.
        _ => None,
    }))
}

pub(super) fn create_schema(conn: &mut Conn, schema: &str) -> Result<(), ServersError> {
    // Texts compare by their bytes, as in SQLite, whatever the server's default collation is.
    let sql = format!("CREATE DATABASE {} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", name(schema));
    execute(conn, &sql).map_err(|e| match e {
        // ER_DB_CREATE_EXISTS
        ServersError::Sql { name, .. } if name == "ER_1007" => ServersError::SchemaExists(schema.into()),
        other => other,
    })
}

pub(super) fn drop_schema(conn: &mut Conn, schema: &str) -> Result<(), ServersError> {
    execute(conn, &format!("DROP DATABASE IF EXISTS {}", name(schema)))
}

pub(super) fn enter(conn: &mut Conn, schema: &str) -> Result<(), ServersError> {
    execute(conn, &format!("USE {}", name(schema)))
}

pub(super) fn prepare(conn: &mut Conn, sql: &str) -> Result<Prepared, ServersError> {
    let statement = conn.prep(sql).map_err(error)?;
    let columns = statement.columns().iter().map(|c| c.name_str().into_owned()).collect();
    let prepared = Prepared { columns, parameters: usize::from(statement.num_params()) };
    conn.close(statement).map_err(error)?;
    Ok(prepared)
}

/// Inserts rows in one transaction, each chunk by one statement.
pub(super) fn insert<'a>(
    conn: &mut Conn,
    one: &str,
    many: Option<&str>,
    chunks: impl Iterator<Item = &'a [Vec<Value>]>,
) -> Result<(), ServersError> {
    let mut transaction = conn.start_transaction(TxOpts::default()).map_err(error)?;
    let single = transaction.prep(one).map_err(error)?;
    let several = many.map(|sql| transaction.prep(sql).map_err(error)).transpose()?;
    for chunk in chunks {
        let statement = several.as_ref().filter(|_| chunk.len() > 1).unwrap_or(&single);
        run(&mut transaction, statement, chunk)?;
    }
    transaction.commit().map_err(error)
}

fn run(transaction: &mut Transaction<'_>, statement: &Statement, rows: &[Vec<Value>]) -> Result<(), ServersError> {
    let values: Vec<mysql::Value> = rows.iter().flatten().map(bound).collect();
    let wanted = usize::from(statement.num_params());
    if values.len() != wanted {
        return Err(ServersError::Failed(format!("{} values for {wanted} parameters", values.len())));
    }
    transaction.exec_drop(statement, Params::Positional(values)).map_err(error)
}

fn bound(value: &Value) -> mysql::Value {
    match value {
        Value::Null => mysql::Value::NULL,
        Value::Integer(i) => mysql::Value::Int(*i),
        Value::Real(r) => mysql::Value::Double(*r),
        Value::Text(t) => mysql::Value::Bytes(t.clone().into_bytes()),
    }
}

pub(super) fn tables(conn: &mut Conn, schema: &str) -> Result<Vec<String>, ServersError> {
    let sql = format!(
        "SELECT table_name FROM information_schema.tables \
         WHERE table_schema = {} AND table_type = 'BASE TABLE' ORDER BY 1",
        literal(schema)
    );
    conn.query(sql).map_err(error)
}

pub(super) fn analyze(conn: &mut Conn, table: &str) -> Result<(), ServersError> {
    execute(conn, &format!("ANALYZE TABLE {}", name(table)))
}

pub(super) fn content_hash(conn: &mut Conn, table: &str) -> Result<String, ServersError> {
    // The server sorts texts by this many leading bytes (`Rows` detects differences beyond them), and the sort buffer
    // must hold the keys of fifteen rows.
    execute(conn, "SET SESSION max_sort_length = 16384, SESSION sort_buffer_size = 67108864")?;
    let all = conn.prep(format!("SELECT * FROM {}", name(table))).map_err(error)?;
    let columns = all.columns().to_vec();
    conn.close(all).map_err(error)?;
    let order = columns.iter().map(|c| {
        let column = name(&c.name_str());
        // Sorted by the bytes of the text as this connection receives it, whatever the column's collation.
        if is_text(c) { format!("CAST(CONVERT({column} USING utf8mb4) AS BINARY)") } else { column }
    });
    let sql = format!("SELECT * FROM {} ORDER BY {}", name(table), order.collect::<Vec<_>>().join(","));
    let mut rows = Rows::default();
    for row in conn.exec_iter(sql, ()).map_err(error)? {
        rows.add(cells(row, &columns)?)?;
    }
    Ok(rows.finish())
}

pub(super) fn rows(conn: &mut Conn, sql: &str) -> Result<Vec<Vec<Cell>>, ServersError> {
    let found = conn.exec_iter(sql, ()).map_err(error)?;
    let columns = found.columns().as_ref().to_vec();
    found.map(|row| cells(row, &columns)).collect()
}

fn cells(row: Result<mysql::Row, Error>, columns: &[Column]) -> Result<Vec<Cell>, ServersError> {
    let values = row.map_err(error)?.unwrap();
    values.into_iter().zip(columns).map(|(value, column)| cell(value, column)).collect()
}

/// Number of the character set `binary`.
const BINARY: u16 = 63;

fn is_bytes(column: &Column) -> bool {
    use ColumnType::*;
    let its_type = column.column_type();
    [
        MYSQL_TYPE_VARCHAR,
        MYSQL_TYPE_VAR_STRING,
        MYSQL_TYPE_STRING,
        MYSQL_TYPE_TINY_BLOB,
        MYSQL_TYPE_BLOB,
        MYSQL_TYPE_MEDIUM_BLOB,
        MYSQL_TYPE_LONG_BLOB,
    ]
    .contains(&its_type)
}

fn is_text(column: &Column) -> bool {
    is_bytes(column) && column.character_set() != BINARY
}

/// Converts a value to its SQLite type.
fn cell(value: mysql::Value, column: &Column) -> Result<Cell, ServersError> {
    let no_like = || {
        let its_type = format!("{:?}", column.column_type());
        foreign(&column.name_str(), &its_type.trim_start_matches("MYSQL_TYPE_").to_lowercase())
    };
    Ok(match value {
        mysql::Value::NULL => Cell::Null,
        mysql::Value::Int(i) => Cell::Integer(i),
        mysql::Value::UInt(u) => {
            let large = || ServersError::Failed(format!("column `{}`: {u} is no 64-bit integer", column.name_str()));
            Cell::Integer(i64::try_from(u).map_err(|_| large())?)
        }
        mysql::Value::Float(r) => Cell::Real(r.into()),
        mysql::Value::Double(r) => Cell::Real(r),
        mysql::Value::Bytes(bytes) if is_text(column) => Cell::Text(bytes),
        mysql::Value::Bytes(bytes) if is_bytes(column) => Cell::Blob(bytes),
        mysql::Value::Bytes(bytes)
            if matches!(column.column_type(), ColumnType::MYSQL_TYPE_DECIMAL | ColumnType::MYSQL_TYPE_NEWDECIMAL) =>
        {
            std::str::from_utf8(&bytes).ok().and_then(Cell::decimal).ok_or_else(no_like)?
        }
        _ => return Err(no_like()),
    })
}

pub(super) fn setting(conn: &mut Conn, setting: &str) -> Result<String, ServersError> {
    Ok(text(conn, &format!("SELECT @@{setting}"))?.unwrap_or_default())
}

pub(super) fn set_server(conn: &mut Conn, setting: &str, value: &str) -> Result<String, ServersError> {
    let read = format!("SELECT @@GLOBAL.{setting}");
    let former = text(conn, &read)?.unwrap_or_default();
    // The server rejects a number in quotes, and accepts a word such as ON without quotes.
    let bare = !value.is_empty() && value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.');
    let written = if bare { value.to_owned() } else { literal(value) };
    execute(conn, &format!("SET GLOBAL {setting} = {written}"))?;
    let now = text(conn, &read)?.unwrap_or_default();
    let plain = |text: &str| match text.to_ascii_uppercase().as_str() {
        "ON" | "TRUE" => "1".to_owned(),
        "OFF" | "FALSE" => "0".to_owned(),
        other => other.to_owned(),
    };
    if plain(&now) == plain(value) {
        Ok(former)
    } else {
        Err(ServersError::Failed(format!("`{setting}` is {now} after it was set to {value}")))
    }
}
