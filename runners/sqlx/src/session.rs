//! A connection lent by the pool. It keeps its statements in sqlx's cache, which finds them by their text.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use futures_util::TryStreamExt;
use litelab_harness::{AsyncSession, Bound, Call, Execution, Fault, Job, Row as _};
use litelab_protocol::sql::{Token, tokens};
use litelab_protocol::{Begin, Dialect, Fetch, Prepare, Statement, Transaction, Value};
use sqlx::pool::PoolConnection;
use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use sqlx::{AssertSqlSafe, Column as _, Either, Executor, SqlSafeStr, SqlStr, Sqlite, Statement as _};

use crate::fault::fault;
use crate::row::Fetched;

/// Checked properties of the statements, shared by all connections that prepare the same transactions.
#[derive(Default)]
pub struct CheckedStatements(OnceLock<(Prepare, Vec<Vec<Shape>>)>);

struct Shape {
    /// SQL, which is cloned without copying its text.
    sql: SqlStr,
    columns: usize,
    job: Job,
    /// Whether the statement writes rows; after any other statement SQLite keeps the previous count.
    changes: bool,
}

/// A connection, lent until it is dropped.
pub struct Lent {
    connection: PoolConnection<Sqlite>,
    checked: Arc<CheckedStatements>,
}

impl Lent {
    pub fn new(connection: PoolConnection<Sqlite>, checked: Arc<CheckedStatements>) -> Self {
        Self { connection, checked }
    }

    async fn check(&mut self, spec: &Statement) -> Result<Shape, Fault> {
        let sql = AssertSqlSafe(spec.sql.as_str()).into_sql_str();
        let statement = (&mut *self.connection).prepare(sql.clone()).await.map_err(fault)?;
        // For SQLite it is their number, for other databases their types.
        let parameters = statement.parameters().and_then(Either::right).unwrap_or_default();
        let names: Vec<&str> = statement.columns().iter().map(|column| column.name()).collect();
        let job = Job::check(spec, parameters, &names)?;
        Ok(Shape { sql, columns: names.len(), job, changes: changes(&spec.sql) })
    }

    async fn send(&mut self, sql: &'static str) -> Result<(), Fault> {
        sqlx::query(sql).execute(&mut *self.connection).await.map(drop).map_err(fault)
    }
}

impl AsyncSession for Lent {
    async fn script(&mut self, statements: &[String]) -> Result<(), Fault> {
        for sql in statements {
            let ran = sqlx::raw_sql(AssertSqlSafe(sql.as_str())).execute(&mut *self.connection).await;
            ran.map_err(|e| fault(e).during(sql))?;
        }
        Ok(())
    }

    async fn settings(&mut self, names: &[String]) -> Result<BTreeMap<String, Value>, Fault> {
        self.script(&["SELECT count(*) FROM sqlite_schema".into()]).await?;
        let mut settings = BTreeMap::new();
        for name in names {
            let asked = sqlx::raw_sql(AssertSqlSafe(format!("PRAGMA {name}")));
            let row = asked.fetch_optional(&mut *self.connection).await.map_err(fault)?;
            let setting = match row {
                None => Value::Null,
                Some(row) => Fetched(row).column(0)?.to_value()?,
            };
            settings.insert(name.clone(), setting);
        }
        Ok(settings)
    }

    async fn prepare(&mut self, transactions: &[Transaction], used: &[usize], mode: Prepare) -> Result<(), Fault> {
        let mut all = Vec::new();
        for (index, transaction) in transactions.iter().enumerate() {
            let mut shapes = Vec::new();
            for spec in transaction.statements.iter().filter(|_| used.contains(&index)) {
                shapes.push(self.check(spec).await.map_err(|fault| fault.during(&spec.sql))?);
            }
            all.push(shapes);
        }
        // Another connection may have stored the same value before.
        let _set = self.checked.0.set((mode, all));
        Ok(())
    }

    async fn begin(&mut self, begin: Begin) -> Result<(), Fault> {
        match begin.sql() {
            None => Ok(()),
            Some(sql) => self.send(sql).await,
        }
    }

    async fn commit(&mut self) -> Result<(), Fault> {
        self.send("COMMIT").await
    }

    /// Rolls back. sqlx does not report whether a transaction is open. Some errors (SQLITE_FULL, SQLITE_IOERR, …) roll
    /// back automatically: <https://sqlite.org/lang_transaction.html>; SQLite then returns an error that no transaction
    /// is active.
    async fn rollback(&mut self) -> Result<(), Fault> {
        match self.send("ROLLBACK").await {
            Err(Fault::Sqlite { message, .. }) if message.contains("no transaction is active") => Ok(()),
            other => other,
        }
    }

    async fn execute(&mut self, call: &Call<'_>, execution: &mut Execution) -> Result<u64, Fault> {
        let Some((mode, all)) = self.checked.0.get() else {
            return Err(Fault::Other("nothing was prepared".into()));
        };
        let Shape { sql, columns, job, changes } = &all[call.transaction][call.statement];
        let query = bound(sql.clone(), call, execution).persistent(*mode == Prepare::Once);
        let connection = &mut *self.connection;
        if *columns == 0 {
            let done = query.execute(connection).await.map_err(fault)?;
            return Ok(if *changes { done.rows_affected() } else { 0 });
        }
        if call.spec.fetch == Fetch::Buffer {
            let all = query.fetch_all(connection).await.map_err(fault)?;
            execution.note_query(call);
            let count = all.len() as u64;
            for (at, row) in all.into_iter().map(Fetched).enumerate() {
                job.run(*columns, &row, execution)?;
                if at == 0 {
                    execution.note_first_row(call);
                    execution.remember(call, &row)?;
                }
            }
            return Ok(count);
        }
        // A statement that writes commits when it ends; leaving it early would lose an error of that commit.
        if call.spec.fetch == Fetch::First && !*changes {
            let Some(row) = query.fetch_optional(connection).await.map_err(fault)?.map(Fetched) else { return Ok(0) };
            job.run(*columns, &row, execution)?;
            execution.note_first_row(call);
            execution.remember(call, &row)?;
            return Ok(1);
        }
        let mut rows = query.fetch(connection);
        if call.spec.fetch == Fetch::All {
            execution.note_query(call);
        }
        let mut count = 0;
        while let Some(row) = rows.try_next().await.map_err(fault)?.map(Fetched) {
            let wanted = call.spec.fetch != Fetch::First || count == 0;
            if wanted && call.spec.fetch != Fetch::None {
                job.run(*columns, &row, execution)?;
            }
            if count == 0 {
                execution.note_first_row(call);
                execution.remember(call, &row)?;
            }
            count += u64::from(wanted);
        }
        Ok(count)
    }
}

/// Whether a statement writes rows, judged by its words, because sqlx does not report it.
fn changes(sql: &str) -> bool {
    const CHANGES: [&str; 4] = ["insert", "update", "delete", "replace"];
    let code: Vec<_> = tokens(sql, Dialect::Sqlite).into_iter().filter(|token| !token.is_blank()).collect();
    let is_word = |at: usize, words: &[&str]| code.get(at).is_some_and(|token| words.iter().any(|word| token.is(word)));
    // `replace(…)` is a function.
    let is_change = |at: usize| is_word(at, &CHANGES) && !matches!(code.get(at + 1), Some(Token::Other("(")));
    if is_word(0, &["with"]) { (1..code.len()).any(is_change) } else { is_change(0) }
}

/// The statement with its values. Text is copied, because it is sent to the connection's thread.
fn bound(sql: SqlStr, call: &Call<'_>, execution: &Execution) -> Query<'static, Sqlite, SqliteArguments> {
    let mut query = sqlx::query(sql);
    for slot in call.slots {
        query = match call.values.bound(slot, &execution.yielded) {
            Bound::Null => query.bind(None::<i64>),
            Bound::Integer(value) => query.bind(value),
            Bound::Real(value) => query.bind(value),
            Bound::Text(value) => query.bind(value.to_owned()),
        };
    }
    query
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_writes_is_told_from_what_reads() {
        for sql in ["insert into t values (1)", " UPDATE t SET a=1 RETURNING a", "WITH n AS (SELECT 1) DELETE FROM t"] {
            assert!(changes(sql), "{sql}");
        }
        for sql in ["SELECT 1", "WITH n(i) AS (SELECT 1) SELECT i FROM n", "CREATE TABLE inserts(a)", ""] {
            assert!(!changes(sql), "{sql}");
        }
    }
}
