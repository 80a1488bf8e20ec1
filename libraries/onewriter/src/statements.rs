//! Writes of one statement, and reads of one query.

use std::borrow::Cow;

use rusqlite::{Params, Row, Statement};

use crate::database::Database;
use crate::error::Result;
use crate::tx::Tx;

/// One statement, which is atomic by itself. These need no savepoint: they can be repeated
/// ([`Database::write_repeatable`]), with a copy of the parameters.
///
/// Parameters are tuples or arrays (`(1, "text")`, `[7]`, `()`) that can be sent to the writer thread, which the
/// references of `params!` cannot.
impl Database {
    /// Runs a statement that changes the database. Returns the number of changed rows.
    ///
    /// ```
    /// # let db = onewriter::Options::temporary()?.open()?;
    /// # db.write(|tx| tx.execute_batch("CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)"))?;
    /// let changed = db.execute("INSERT INTO note(text) VALUES (?1)", ["hello"])?;
    /// assert_eq!(changed, 1);
    /// # Ok::<_, onewriter::Error>(())
    /// ```
    ///
    /// # Errors
    /// That of SQLite, or another [`Error`](crate::Error) of this crate.
    pub fn execute<P: Params + Clone + Send>(&self, sql: &str, params: P) -> Result<usize> {
        self.write_repeatable(move |tx| execute(tx, sql, params.clone()))
    }

    /// Like [`Database::execute`], for asynchronous code. A dropped future has the effect described at
    /// [`Database::write_async`].
    ///
    /// # Errors
    /// As for [`Database::execute`].
    pub async fn execute_async<P>(&self, sql: impl Into<Cow<'static, str>>, params: P) -> Result<usize>
    where
        P: Params + Clone + Send + 'static,
    {
        let sql = sql.into();
        self.write_repeatable_async(move |tx| execute(tx, &sql, params.clone())).await
    }

    /// Runs a statement with a `RETURNING` clause, and returns its mapped rows. If `map` fails, the changes of the
    /// statement are rolled back.
    ///
    /// # Errors
    /// As for [`Database::execute`], and those of `map`.
    pub fn execute_returning<T, P, F>(&self, sql: &str, params: P, mut map: F) -> Result<Vec<T>>
    where
        P: Params + Clone + Send,
        F: FnMut(&Row<'_>) -> rusqlite::Result<T> + Send,
        T: Send,
    {
        self.write_repeatable(move |tx| query(tx, sql, params.clone(), &mut map))
    }

    /// Like [`Database::execute_returning`], for asynchronous code. A dropped future has the effect described at
    /// [`Database::write_async`].
    ///
    /// # Errors
    /// As for [`Database::execute_returning`].
    pub async fn execute_returning_async<T, P, F>(
        &self,
        sql: impl Into<Cow<'static, str>>,
        params: P,
        mut map: F,
    ) -> Result<Vec<T>>
    where
        P: Params + Clone + Send + 'static,
        F: FnMut(&Row<'_>) -> rusqlite::Result<T> + Send + 'static,
        T: Send + 'static,
    {
        let sql = sql.into();
        self.write_repeatable_async(move |tx| query(tx, &sql, params.clone(), &mut map)).await
    }

    /// Runs one statement with each of these parameters, all in one transaction. Returns the number of changed rows.
    ///
    /// # Errors
    /// As for [`Database::execute`]; nothing is changed then.
    pub fn execute_many<P, I>(&self, sql: &str, rows: I) -> Result<usize>
    where
        P: Params,
        I: IntoIterator<Item = P> + Send,
    {
        self.write_with(|tx| execute_many(tx, sql, rows))
    }

    /// Like [`Database::execute_many`], for asynchronous code. A dropped future has the effect described at
    /// [`Database::write_async`].
    ///
    /// # Errors
    /// As for [`Database::execute_many`].
    pub async fn execute_many_async<P, I>(&self, sql: impl Into<Cow<'static, str>>, rows: I) -> Result<usize>
    where
        P: Params,
        I: IntoIterator<Item = P> + Send + 'static,
    {
        let sql = sql.into();
        self.write_with_async(move |tx| execute_many(tx, &sql, rows)).await
    }

    /// Runs a query on a connection that reads, and returns its first row, mapped.
    ///
    /// ```
    /// # let db = onewriter::Options::temporary()?.open()?;
    /// let two: i64 = db.query_row("SELECT 1 + ?1", [1], |row| row.get(0))?;
    /// assert_eq!(two, 2);
    /// # Ok::<_, onewriter::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`rusqlite::Error::QueryReturnedNoRows`] in [`Error::Sqlite`](crate::Error::Sqlite) if there is none; else as for [`Database::read`].
    pub fn query_row<T, P, F>(&self, sql: &str, params: P, map: F) -> Result<T>
    where
        P: Params,
        F: FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    {
        self.read(|connection| connection.prepare_cached(sql)?.query_row(params, map))
    }

    /// Like [`Database::query_row`], for asynchronous code.
    ///
    /// # Errors
    /// As for [`Database::query_row`].
    pub async fn query_row_async<T, P, F>(&self, sql: impl Into<Cow<'static, str>>, params: P, map: F) -> Result<T>
    where
        P: Params + Send + 'static,
        F: FnOnce(&Row<'_>) -> rusqlite::Result<T> + Send + 'static,
        T: Send + 'static,
    {
        let sql = sql.into();
        self.read_async(move |connection| connection.prepare_cached(&sql)?.query_row(params, map)).await
    }

    /// Runs a query on a connection that reads, and returns its mapped rows.
    ///
    /// # Errors
    /// As for [`Database::read`], and those of `map`.
    pub fn query_map<T, P, F>(&self, sql: &str, params: P, map: F) -> Result<Vec<T>>
    where
        P: Params,
        F: FnMut(&Row<'_>) -> rusqlite::Result<T>,
    {
        self.read(|connection| connection.prepare_cached(sql)?.query_map(params, map)?.collect())
    }

    /// Like [`Database::query_map`], for asynchronous code.
    ///
    /// # Errors
    /// As for [`Database::query_map`].
    pub async fn query_map_async<T, P, F>(&self, sql: impl Into<Cow<'static, str>>, params: P, map: F) -> Result<Vec<T>>
    where
        P: Params + Send + 'static,
        F: FnMut(&Row<'_>) -> rusqlite::Result<T> + Send + 'static,
        T: Send + 'static,
    {
        let sql = sql.into();
        self.read_async(move |connection| connection.prepare_cached(&sql)?.query_map(params, map)?.collect()).await
    }
}

fn execute(tx: &Tx<'_>, sql: &str, params: impl Params) -> Result<usize> {
    changed(tx, &mut *tx.prepare_cached(sql)?, params)
}

/// Executes a statement, and returns the number of rows it changed. SQLite keeps that of an earlier statement, which may
/// be another caller's, for one that changes no row by itself, such as `CREATE TABLE`.
fn changed(tx: &Tx<'_>, statement: &mut Statement<'_>, params: impl Params) -> Result<usize> {
    let before = tx.total_changes();
    let changed = statement.execute(params)?;
    Ok(if tx.total_changes() == before { 0 } else { changed })
}

fn query<T>(
    tx: &Tx<'_>,
    sql: &str,
    params: impl Params,
    map: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>> {
    let rows = tx.prepare_cached(sql)?.query_map(params, map)?.collect::<rusqlite::Result<_>>()?;
    Ok(rows)
}

fn execute_many<P: Params>(tx: &Tx<'_>, sql: &str, rows: impl IntoIterator<Item = P>) -> Result<usize> {
    let mut statement = tx.prepare_cached(sql)?;
    rows.into_iter().map(|row| changed(tx, &mut statement, row)).sum()
}
