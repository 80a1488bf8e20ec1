//! The library's own pool, of fixed size: one connection, too, is a pool of one.

use std::sync::Arc;

use litelab_harness::{Awaited, AwaitedSession, Fault, refuse_options};
use litelab_protocol::{Connection, Database};
use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};

use crate::fault::fault;
use crate::session::{Known, Lent};

/// Opened with sqlx's defaults (foreign keys, 5 s busy timeout, a ping before each loan), except that a connection is
/// never replaced by a younger one, which would come without its settings.
pub struct Sqlx {
    pool: SqlitePool,
    known: Arc<Known>,
}

impl Awaited for Sqlx {
    type Session = Lent;

    async fn open(database: &Database, settings: &Connection, connections: u32) -> Result<Self, Fault> {
        refuse_options(settings, &[])?;
        let options = match database {
            Database::File { path, .. } => SqliteConnectOptions::new().filename(path).create_if_missing(true),
            // A name of SQLite's own: sqlx's option for a database in memory is a flag of the connection, which `VACUUM
            // INTO` would pass on to the file that it writes.
            Database::Memory { shared: true, name, .. } => {
                SqliteConnectOptions::new().filename(format!("file:{name}?mode=memory&cache=shared")).shared_cache(true)
            }
            Database::Memory { shared: false, .. } => SqliteConnectOptions::new().filename(":memory:"),
            Database::Server { .. } => unreachable!("the harness refuses it before any driver sees it"),
        };
        let fixed = SqlitePoolOptions::new().max_connections(connections).min_connections(connections);
        let pool = fixed.max_lifetime(None).idle_timeout(None).connect_with(options).await.map_err(fault)?;
        let host = Self { pool, known: Arc::new(Known::default()) };
        let settings: Vec<String> = settings.settings.iter().map(|setting| setting.sql.clone()).collect();
        let mut open = Vec::new();
        for _ in 0..connections {
            let mut session = host.take().await?;
            session.script(&settings).await?;
            open.push(session);
        }
        Ok(host)
    }

    async fn take(&self) -> Result<Lent, Fault> {
        Ok(Lent::new(self.pool.acquire().await.map_err(fault)?, self.known.clone()))
    }

    async fn close(self) -> Result<(), Fault> {
        self.pool.close().await;
        Ok(())
    }
}
