//! The library's own pool, of fixed size; a single connection is a pool of one.

use std::sync::Arc;
use std::time::Duration;

use litelab_harness::{AsyncSession, Fault, Library, Reply, Request, Settings, Setup, refuse_options};
use litelab_protocol::{Connection, Database};
use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};

use crate::fault::fault;
use crate::session::{CheckedStatements, Lent};

/// Longer than any trial.
const FOREVER: Duration = Duration::from_secs(86_400);

/// A pool with sqlx's defaults (foreign keys, 5 s busy timeout, a ping before each loan), except that a connection is
/// never replaced by a newer one, which would lack its settings, and that a wait for one has no limit: a long one is
/// measured.
pub struct Sqlx {
    pool: SqlitePool,
    checked: Arc<CheckedStatements>,
}

impl Sqlx {
    async fn lend(&self) -> Result<Lent, Fault> {
        Ok(Lent::new(self.pool.acquire().await.map_err(fault)?, self.checked.clone()))
    }
}

impl Library for Sqlx {
    async fn open(
        database: &Database,
        settings: &Connection,
        connections: u32,
        setup: &Setup,
    ) -> Result<(Self, Vec<Settings>), Fault> {
        refuse_options(settings, &[])?;
        let options = match database {
            Database::File { path, .. } => SqliteConnectOptions::new().filename(path).create_if_missing(true),
            // A database in memory by SQLite's own name: sqlx's option for it is a flag of the connection, which
            // `VACUUM INTO` would pass on to the file that it writes.
            Database::Memory { shared: true, name, .. } => {
                SqliteConnectOptions::new().filename(format!("file:{name}?mode=memory&cache=shared")).shared_cache(true)
            }
            Database::Memory { shared: false, .. } => SqliteConnectOptions::new().filename(":memory:"),
            Database::Server { .. } => unreachable!("the harness refuses it before any driver sees it"),
        };
        // sqlx's 100 would compile the statements of a larger trial again at each execution.
        let options = options.statement_cache_capacity(1_000);
        let fixed = SqlitePoolOptions::new().max_connections(connections).min_connections(connections);
        let fixed = fixed.max_lifetime(None).idle_timeout(None).acquire_timeout(FOREVER);
        let pool = fixed.connect_with(options).await.map_err(fault)?;
        Self::set(pool, settings, connections, setup).await
    }

    async fn open_dsn(
        dsn: &str,
        settings: &Connection,
        connections: u32,
        setup: &Setup,
    ) -> Result<(Self, Vec<Settings>), Fault> {
        refuse_options(settings, &[])?;
        let fixed = SqlitePoolOptions::new().max_connections(connections).acquire_timeout(FOREVER);
        let pool = fixed.connect(dsn).await.map_err(fault)?;
        Self::set(pool, settings, connections, setup).await
    }

    async fn replaced(&self, names: &[String]) -> Result<Option<Settings>, Fault> {
        // The pool may open a connection while another is on its way back, so all are taken before they are closed.
        let mut open = Vec::new();
        for _ in 0..self.pool.options().get_max_connections() {
            open.push(self.pool.acquire().await.map_err(fault)?);
        }
        for connection in open {
            connection.close().await.map_err(fault)?;
        }
        self.lend().await?.settings(names).await.map(Some)
    }

    async fn run(&self, request: Request<'static>) -> Result<Reply, Fault> {
        request.run_async(&mut self.lend().await?).await
    }

    async fn close(self) -> Result<(), Fault> {
        self.pool.close().await;
        Ok(())
    }
}

impl Sqlx {
    /// Applies the settings to every connection of the pool, then runs `setup` on each.
    async fn set(
        pool: SqlitePool,
        settings: &Connection,
        connections: u32,
        setup: &Setup,
    ) -> Result<(Self, Vec<Settings>), Fault> {
        let library = Self { pool, checked: Arc::new(CheckedStatements::default()) };
        let settings: Vec<String> = settings.settings.iter().map(|setting| setting.sql.clone()).collect();
        let mut open = Vec::new();
        for _ in 0..connections {
            let mut session = library.lend().await?;
            session.script(&settings).await?;
            open.push(session);
        }
        let mut answers = Vec::new();
        for session in &mut open {
            answers.push(setup.run_async(session).await?);
        }
        drop(open);
        Ok((library, answers))
    }
}
