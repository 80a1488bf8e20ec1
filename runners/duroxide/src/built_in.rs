//! duroxide's own SQLite provider, as published.

use std::sync::Arc;

use duroxide::providers::Provider;
use duroxide::providers::sqlite::SqliteProvider;
use litelab_harness::{Fault, Settings};
use litelab_orchestration::Store;
use litelab_protocol::{Connection, Database, Value};
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{Sqlite, SqliteConnection};
use sqlx::{Executor, Row, SqlitePool, TypeInfo, ValueRef};

/// Number of connections of its pool, a constant in its source.
const CONNECTIONS: u32 = if cfg!(feature = "patched") { 20 } else { 5 };

/// `SqliteProvider` with its pool.
///
/// The provider sets its PRAGMAs on each connection that it opens and has no options for them, but its pool is
/// accessible. So all its connections are opened at once, and the trial's settings are applied to each after the
/// provider's. They stay in effect: sqlx closes a connection after ten minutes without use or thirty minutes in total,
/// and a trial is shorter. [`Store::settings`] verifies it.
pub struct BuiltIn {
    provider: Arc<SqliteProvider>,
    pool: SqlitePool,
    /// Connections that the provider must not use: `pool(n)` leaves it n of them.
    kept: Vec<PoolConnection<Sqlite>>,
    names: Vec<String>,
    connections: u32,
}

impl Store for BuiltIn {
    const OPTIONS: &'static [&'static str] = if cfg!(feature = "patched") { &["begin"] } else { &[] };

    async fn open(
        database: &Database,
        connection: &Connection,
        connections: u32,
    ) -> Result<(Self, Vec<Settings>), Fault> {
        if connections > CONNECTIONS {
            let reason = format!("the provider's pool has {CONNECTIONS} connections, and pool({connections}) has more");
            return Err(Fault::Other(reason));
        }
        #[cfg(feature = "patched")]
        set_begin(connection)?;
        let opened = SqliteProvider::new(&url(database)?, None).await.map_err(fault);
        let provider = opened.map_err(|e| e.during("SqliteProvider::new"))?;
        let pool = provider.get_pool().clone();
        let mut all = acquire(&pool, CONNECTIONS).await?;
        let mut settings = Vec::new();
        for one in &mut all {
            for setting in &connection.settings {
                run(one, &setting.sql).await?;
            }
            settings.push(read_back(one, &connection.read_back).await?);
        }
        let kept = all.split_off(connections as usize);
        settings.truncate(connections as usize);
        drop(all);
        let names = connection.read_back.clone();
        Ok((Self { provider: Arc::new(provider), pool, kept, names, connections }, settings))
    }

    fn provider(&self) -> Arc<dyn Provider> {
        self.provider.clone()
    }

    async fn script(&self, statements: &[String]) -> Result<(), Fault> {
        let mut connection = self.pool.acquire().await.map_err(fault)?;
        for sql in statements {
            run(&mut connection, sql).await?;
        }
        Ok(())
    }

    async fn settings(&self) -> Result<Vec<Settings>, Fault> {
        let mut settings = Vec::new();
        for one in &mut acquire(&self.pool, self.connections).await? {
            settings.push(read_back(one, &self.names).await?);
        }
        Ok(settings)
    }

    async fn close(mut self) -> Result<(), Fault> {
        self.kept.clear();
        self.pool.close().await;
        Ok(())
    }
}

/// Sets the statement that begins the provider's transactions from option `begin`: `deferred` or `immediate`.
#[cfg(feature = "patched")]
fn set_begin(connection: &Connection) -> Result<(), Fault> {
    let statement = match connection.options.get("begin").and_then(|begin| begin.as_str()) {
        None | Some("deferred") => "BEGIN",
        Some("immediate") => "BEGIN IMMEDIATE",
        Some(other) => {
            return Err(Fault::Other(format!("option `begin`: `{other}` is neither deferred nor immediate")));
        }
    };
    match duroxide::providers::sqlite::BEGIN.get_or_init(|| statement) {
        set if *set == statement => Ok(()),
        set => Err(Fault::Other(format!("option `begin`: this process begins with {set}"))),
    }
}

/// Converts an error. sqlx returns SQLite's extended result code as text; other errors are not SQLite errors.
pub fn fault(error: sqlx::Error) -> Fault {
    let code = error.as_database_error().and_then(|e| e.code()).and_then(|code| code.parse().ok());
    match (code, error) {
        (Some(code), sqlx::Error::Database(error)) => Fault::Sqlite { code, message: error.message().into() },
        (_, error) => Fault::Other(error.to_string()),
    }
}

/// The name of the database in sqlx's form.
///
/// A database in memory has a name of SQLite's own: sqlx's option for it is a flag of the connection, which
/// `VACUUM INTO` would pass on to the file that it writes. The provider recognises it by the words `mode=memory`.
fn url(database: &Database) -> Result<String, Fault> {
    match database {
        Database::File { path } => {
            Ok(format!("sqlite:{}?mode=rwc", path.replace('%', "%25").replace('?', "%3F").replace('#', "%23")))
        }
        Database::Memory { shared: true, name, .. } => {
            Ok(format!("sqlite:file:{name}%3Fmode=memory%26cache=shared?cache=shared"))
        }
        Database::Memory { shared: false, .. } => {
            Err(Fault::Other("the provider's pool has several connections: use location `memory-shared`".into()))
        }
        Database::Server { .. } => unreachable!("the harness refuses it before any driver sees it"),
    }
}

/// This number of connections of the pool, all held at the same time, so that none occurs twice.
async fn acquire(pool: &SqlitePool, connections: u32) -> Result<Vec<PoolConnection<Sqlite>>, Fault> {
    let mut all = Vec::new();
    for _ in 0..connections {
        all.push(pool.acquire().await.map_err(fault)?);
    }
    Ok(all)
}

/// Runs SQL to its end.
async fn run(connection: &mut SqliteConnection, sql: &str) -> Result<(), Fault> {
    let ran = connection.execute(sqlx::raw_sql(sql)).await;
    ran.map(drop).map_err(|e| fault(e).during(sql))
}

/// The value of each PRAGMA, after a read transaction.
async fn read_back(connection: &mut SqliteConnection, names: &[String]) -> Result<Settings, Fault> {
    run(connection, "SELECT count(*) FROM sqlite_schema").await?;
    let mut settings = Settings::new();
    for name in names {
        let row = connection.fetch_optional(&*format!("PRAGMA {name}")).await.map_err(fault)?;
        let value = row.map_or(Ok(Value::Null), |row| setting(&row)).map_err(fault)?;
        settings.insert(name.clone(), value);
    }
    Ok(settings)
}

/// The first column, with the type of its value in SQLite.
fn setting(row: &sqlx::sqlite::SqliteRow) -> Result<Value, sqlx::Error> {
    let raw = row.try_get_raw(0)?;
    if raw.is_null() {
        return Ok(Value::Null);
    }
    Ok(match raw.type_info().name() {
        "INTEGER" => row.try_get_unchecked::<i64, _>(0)?.into(),
        "REAL" => row.try_get_unchecked::<f64, _>(0)?.into(),
        _ => row.try_get_unchecked::<String, _>(0)?.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_in_an_address_is_escaped() {
        let file = url(&Database::File { path: "/a b/50%?#.db".into() }).ok();
        assert_eq!(file.as_deref(), Some("sqlite:/a b/50%25%3F%23.db?mode=rwc"));
    }
}
