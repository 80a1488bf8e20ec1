//! The part of [`super::Admin`] for PostgreSQL.

use std::time::{Duration, Instant};

use bytes::BytesMut;
use litelab_protocol::draw::Value;
use postgres::config::SslMode;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, Config, Error, NoTls, Row, SimpleQueryMessage, Statement, Transaction};

use super::cell::{Cell, Rows, foreign};
use super::{Admin, Prepared, Url};
use crate::ServersError;
use crate::error::one_line;

/// Connects to the only host of a URL.
pub(super) fn connect(url: &Url, timeout: Duration) -> Result<Client, ServersError> {
    let (host, port) = &url.hosts[0];
    let mut config = Config::new();
    config.host(host).port(*port).user(&url.user).connect_timeout(timeout).ssl_mode(SslMode::Disable);
    config.application_name("litelab");
    // The default would be a database named after the user; `postgres` always exists.
    config.dbname(url.database.as_deref().unwrap_or("postgres"));
    if let Some(password) = &url.password {
        config.password(password);
    }
    let mut client = config.connect(NoTls).map_err(|e| refusal(&format!("{host}:{port}"), &e))?;
    let patience = Admin::PATIENCE.as_millis();
    execute(&mut client, &format!("SET lock_timeout = {patience}"))?;
    Ok(client)
}

/// Maps an error of the connection attempt.
fn refusal(host: &str, error: &Error) -> ServersError {
    let Some(said) = error.as_db_error() else {
        // The error's own text is `error connecting to server`; the cause is its source.
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
        // cannot_connect_now, admin_shutdown, crash_shutdown: the server starts, recovers or shuts down.
        "57P03" | "57P01" | "57P02" => ServersError::Unreachable { hosts: host, why },
        code => ServersError::Sql { name: code.into(), message: why },
    }
}

/// Maps an error of a statement.
pub(super) fn error(error: Error) -> ServersError {
    match error.as_db_error() {
        Some(said) => {
            let detail = said.detail().map(|d| format!("; {d}")).unwrap_or_default();
            let message = one_line(&format!("{}{detail}", said.message()));
            // admin_shutdown, crash_shutdown: the last message before the connection closes.
            if matches!(said.code().code(), "57P01" | "57P02") {
                return ServersError::Lost(message);
            }
            ServersError::Sql { name: said.code().code().into(), message }
        }
        None => {
            let why = std::error::Error::source(&error).map(|e| format!(": {e}")).unwrap_or_default();
            let text = one_line(&format!("{error}{why}"));
            if error.is_closed() || text.starts_with("error communicating") {
                ServersError::Lost(text)
            } else {
                ServersError::Failed(text)
            }
        }
    }
}

/// First column of a query's first row as text; `None` if there is no row or the value is NULL.
pub(super) fn text(client: &mut Client, sql: &str) -> Result<Option<String>, ServersError> {
    let messages = client.simple_query(sql).map_err(error)?;
    Ok(messages
        .iter()
        .find_map(|m| match m {
            SimpleQueryMessage::Row(row) => Some(row.get(0).map(str::to_owned)),
            _ => None,
        })
        .flatten())
}

/// Name and version, such as `PostgreSQL 15.18`.
pub(super) fn version(client: &mut Client) -> Result<String, ServersError> {
    let said = text(client, "SHOW server_version")?.unwrap_or_default();
    // Debian appends its own version in parentheses.
    Ok(format!("PostgreSQL {}", said.split_whitespace().next().unwrap_or_default()))
}

/// Quotes a name for a statement.
fn name(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// Quotes a text for a statement. Backslashes have no special meaning since PostgreSQL 9.1.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

pub(super) fn execute(client: &mut Client, sql: &str) -> Result<(), ServersError> {
    client.batch_execute(sql).map_err(error)
}

pub(super) fn create_schema(client: &mut Client, schema: &str) -> Result<(), ServersError> {
    execute(client, &format!("CREATE SCHEMA {}", name(schema))).map_err(|e| match e {
        // duplicate_schema
        ServersError::Sql { name, .. } if name == "42P06" => ServersError::SchemaExists(schema.into()),
        other => other,
    })
}

pub(super) fn drop_schema(client: &mut Client, schema: &str) -> Result<(), ServersError> {
    execute(client, &format!("DROP SCHEMA IF EXISTS {} CASCADE", name(schema)))
}

/// Checks that the schema exists: `SET search_path` accepts a missing one, and later statements would fail with
/// misleading errors.
pub(super) fn enter(client: &mut Client, schema: &str) -> Result<(), ServersError> {
    let sql = format!("SELECT 1 FROM pg_namespace WHERE nspname = {}", literal(schema));
    if text(client, &sql)?.is_none() {
        return Err(ServersError::Failed(format!("there is no schema `{schema}`")));
    }
    execute(client, &format!("SET search_path TO {}", name(schema)))
}

pub(super) fn prepare(client: &mut Client, sql: &str) -> Result<Prepared, ServersError> {
    // Preparing a COPY checks nothing, and running it consumes rows. Instead, a SELECT of its columns is prepared.
    if let Some(select) = copied(sql) {
        let statement = client.prepare(&select).map_err(error)?;
        return Ok(Prepared { columns: Vec::new(), parameters: statement.columns().len() });
    }
    let statement = client.prepare(sql).map_err(error)?;
    let columns = statement.columns().iter().map(|c| c.name().to_owned()).collect();
    Ok(Prepared { columns, parameters: statement.params().len() })
}

/// A SELECT of the columns that `COPY table (columns) FROM STDIN …` fills; `None` for any other statement.
fn copied(sql: &str) -> Option<String> {
    let words: Vec<&str> = sql.split_whitespace().collect();
    let is = |at: usize, word: &str| words.get(at).is_some_and(|w| w.eq_ignore_ascii_case(word));
    let from = (1..words.len()).find(|i| is(*i, "from") && words[i + 1..].first().is_some_and(|w| stdin(w)))?;
    if !is(0, "copy") {
        return None;
    }
    let target = words[1..from].join(" ");
    let (table, columns) = target.split_once('(').unwrap_or((&target, "*"));
    Some(format!("SELECT {} FROM {table}", columns.trim_end_matches([')', ' '])))
}

fn stdin(word: &str) -> bool {
    word.trim_end_matches(';').eq_ignore_ascii_case("stdin")
}

/// Inserts rows in one transaction, each chunk by one statement.
pub(super) fn insert<'a>(
    client: &mut Client,
    one: &str,
    many: Option<&str>,
    chunks: impl Iterator<Item = &'a [Vec<Value>]>,
) -> Result<(), ServersError> {
    let mut transaction = client.transaction().map_err(error)?;
    let single = transaction.prepare(one).map_err(error)?;
    let several = many.map(|sql| transaction.prepare(sql).map_err(error)).transpose()?;
    for chunk in chunks {
        let statement = several.as_ref().filter(|_| chunk.len() > 1).unwrap_or(&single);
        run(&mut transaction, statement, chunk)?;
    }
    transaction.commit().map_err(error)
}

fn run(transaction: &mut Transaction<'_>, statement: &Statement, rows: &[Vec<Value>]) -> Result<(), ServersError> {
    let values: Vec<Bound<'_>> = rows.iter().flatten().map(Bound).collect();
    let wanted = statement.params().len();
    if values.len() != wanted {
        return Err(ServersError::Failed(format!("{} values for {wanted} parameters", values.len())));
    }
    let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|b| b as _).collect();
    transaction.execute(statement, &values).map(drop).map_err(error)
}

/// A value sent as text, which the server parses as the type of the parameter: an integer may be bound to a `smallint`,
/// a `numeric` or a `double precision`.
#[derive(Debug)]
struct Bound<'a>(&'a Value);

impl ToSql for Bound<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self.0 {
            Value::Null => return Ok(IsNull::Yes),
            Value::Integer(i) => out.extend_from_slice(i.to_string().as_bytes()),
            Value::Real(r) if r.is_infinite() => {
                out.extend_from_slice(if *r > 0.0 { b"Infinity" } else { b"-Infinity" });
            }
            // Rust prints the shortest text that parses to the same double.
            Value::Real(r) => out.extend_from_slice(r.to_string().as_bytes()),
            Value::Text(t) => out.extend_from_slice(t.as_bytes()),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    /// In the text format of `bytea` a backslash has a special meaning; the binary format contains the plain bytes.
    fn encode_format(&self, its_type: &Type) -> Format {
        if *its_type == Type::BYTEA { Format::Binary } else { Format::Text }
    }

    to_sql_checked!();
}

pub(super) fn tables(client: &mut Client, schema: &str) -> Result<Vec<String>, ServersError> {
    let sql = format!("SELECT tablename FROM pg_tables WHERE schemaname = {} ORDER BY 1", literal(schema));
    let rows = client.query(&sql, &[]).map_err(error)?;
    rows.iter().map(|row| row.try_get(0).map_err(error)).collect()
}

pub(super) fn analyze(client: &mut Client, table: &str) -> Result<(), ServersError> {
    execute(client, &format!("VACUUM (ANALYZE) {}", name(table)))
}

pub(super) fn content_hash(client: &mut Client, table: &str) -> Result<String, ServersError> {
    let all = client.prepare(&format!("SELECT * FROM {}", name(table))).map_err(error)?;
    let (mut select, mut order) = (Vec::new(), Vec::new());
    for column in all.columns() {
        // Qualified, because a bare name in ORDER BY refers to the selected text, not to the number.
        let value = format!("t.{}", name(column.name()));
        let numeric = *column.type_() == Type::NUMERIC;
        order.push(format!("{value}{} NULLS FIRST", if is_text(column.type_()) { " COLLATE \"C\"" } else { "" }));
        select.push(if numeric { format!("{value}::text") } else { value });
    }
    let sql = format!("SELECT {} FROM {} AS t ORDER BY {}", select.join(","), name(table), order.join(","));
    let nothing: [&str; 0] = [];
    let mut found = client.query_raw(&sql, nothing).map_err(error)?;
    let mut rows = Rows::default();
    while let Some(row) = found.next().map_err(error)? {
        let cells = all.columns().iter().enumerate().map(|(i, c)| cell(&row, i, c.name(), c.type_()));
        rows.add(cells.collect::<Result<_, _>>()?)?;
    }
    Ok(rows.finish())
}

pub(super) fn rows(client: &mut Client, sql: &str) -> Result<Vec<Vec<Cell>>, ServersError> {
    let found = client.query(sql, &[]).map_err(error)?;
    // The binary format of NUMERIC has no fixed size; the hash of a whole table selects such a column as text.
    let decimal = |row: &Row| row.columns().iter().find(|c| *c.type_() == Type::NUMERIC).map(|c| c.name().to_owned());
    if let Some(column) = found.first().and_then(decimal) {
        return Err(ServersError::Failed(format!("column `{column}` is numeric: cast it")));
    }
    let cells = |row: &Row| row.columns().iter().enumerate().map(|(i, c)| cell(row, i, c.name(), c.type_())).collect();
    found.iter().map(cells).collect()
}

fn is_text(its_type: &Type) -> bool {
    [Type::TEXT, Type::VARCHAR, Type::BPCHAR, Type::NAME].contains(its_type)
}

/// Converts a value to its SQLite type.
fn cell(row: &Row, at: usize, column: &str, its_type: &Type) -> Result<Cell, ServersError> {
    fn get<'a, T: postgres::types::FromSql<'a>>(row: &'a Row, at: usize) -> Result<Option<T>, ServersError> {
        row.try_get(at).map_err(error)
    }
    let cell = match *its_type {
        Type::BOOL => get::<bool>(row, at)?.map(|b| Cell::Integer(b.into())),
        Type::INT2 => get::<i16>(row, at)?.map(|i| Cell::Integer(i.into())),
        Type::INT4 => get::<i32>(row, at)?.map(|i| Cell::Integer(i.into())),
        Type::INT8 => get::<i64>(row, at)?.map(Cell::Integer),
        Type::FLOAT4 => get::<f32>(row, at)?.map(|r| Cell::Real(r.into())),
        Type::FLOAT8 => get::<f64>(row, at)?.map(Cell::Real),
        Type::BYTEA => get::<Vec<u8>>(row, at)?.map(Cell::Blob),
        Type::NUMERIC => match get::<String>(row, at)? {
            None => None,
            Some(text) => Some(Cell::decimal(&text).ok_or_else(|| foreign(column, "numeric (no number)"))?),
        },
        _ if is_text(its_type) => get::<String>(row, at)?.map(|t| Cell::Text(t.into_bytes())),
        _ => return Err(foreign(column, its_type.name())),
    };
    Ok(cell.unwrap_or(Cell::Null))
}

pub(super) fn setting(client: &mut Client, setting: &str) -> Result<String, ServersError> {
    Ok(text(client, &format!("SHOW {setting}"))?.unwrap_or_default())
}

/// Longest wait for a server to reload its settings.
const RELOAD: Duration = Duration::from_secs(10);

pub(super) fn set_server(client: &mut Client, setting_name: &str, value: &str) -> Result<String, ServersError> {
    let former = setting(client, setting_name)?;
    let loaded = "SELECT pg_conf_load_time()";
    let before = text(client, loaded)?;
    execute(client, &format!("ALTER SYSTEM SET {setting_name} = {}", literal(value)))?;
    text(client, "SELECT pg_reload_conf()")?;
    // The main process reads the file first and then signals the process of this connection, so that every later
    // connection has the new value too.
    let begun = Instant::now();
    while text(client, loaded)? == before {
        if begun.elapsed() > RELOAD {
            return Err(ServersError::Failed(format!("the server did not read `{setting_name}` again")));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let effective = format!(
        "SELECT CASE WHEN pending_restart THEN 'takes effect only when the server is started again' \
         WHEN source <> 'configuration file' THEN 'is overridden by ' || source END \
         FROM pg_settings WHERE lower(name) = lower({})",
        literal(setting_name)
    );
    match text(client, &effective)? {
        Some(why) => Err(ServersError::Failed(format!("`{setting_name}` {why}"))),
        None => Ok(former),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_fills_what_can_be_selected() {
        let select = |sql| copied(sql);
        assert_eq!(select("COPY t (a, \"b c\") FROM STDIN").as_deref(), Some("SELECT a, \"b c\" FROM t "));
        assert_eq!(select("copy t(a)\nfrom stdin with (format text)").as_deref(), Some("SELECT a FROM t"));
        assert_eq!(select("COPY t FROM STDIN;").as_deref(), Some("SELECT * FROM t"));
        assert_eq!(select("COPY t TO STDOUT"), None);
        assert_eq!(select("SELECT a FROM stdin"), None);
    }
}
