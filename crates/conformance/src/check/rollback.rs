//! A failed transaction must leave no changes, and must not block the next one.

use litelab_protocol::{Begin, Statement};

use super::{Found, passed};
use crate::dialect::not_unique;
use crate::draft::{Draft, count, row_params, statement, transaction};
use crate::error::ensure;
use crate::subject::Subject;

pub fn rollback(subject: &Subject<'_>) -> Found {
    for begin in [Begin::Deferred, Begin::Immediate, Begin::Exclusive] {
        let schema = "CREATE TABLE t(id INTEGER PRIMARY KEY, worker INTEGER, value TEXT); \
                      CREATE TABLE u(x INTEGER UNIQUE); INSERT INTO u VALUES (1); \
                      CREATE TABLE good(id INTEGER PRIMARY KEY, worker INTEGER, value TEXT)";
        let database = subject.database(schema)?;
        let bad = vec![
            Statement { repeat: 3, ..statement("INSERT INTO t VALUES (?1, ?2, ?3)", &[0, 1, 2]) },
            statement("INSERT INTO u VALUES (1)", &[]),
            statement("INSERT INTO u VALUES (2)", &[]),
        ];
        let good = vec![statement("INSERT INTO good VALUES (?1, ?2, ?3)", &[0, 1, 2])];
        let trial = Draft::new(subject)
            .on(&*database)
            .transaction(transaction("bad", begin, row_params(), bad))
            .transaction(transaction("good", begin, row_params(), good))
            .role("w", 2, &["bad", "good"], count(12))
            .build();
        let heard = subject.run(&trial)?;
        let name = begin.name();
        for operation in &heard.result.operations {
            let errors = operation.errors.get(not_unique(subject.dialect())).cloned().unwrap_or_default();
            let found = (operation.committed, operation.failed, errors.seen, errors.cured);
            let wanted = if operation.transaction == "bad" { (0, 6, 6, 0) } else { (6, 0, 0, 0) };
            ensure!(
                found == wanted,
                "{name}: `{}` committed, failed, errors seen and cured are {found:?}, not {wanted:?}",
                operation.transaction
            );
            ensure!(operation.service.count() == wanted.0, "{name}: failed transactions are in the service histogram");
        }
        let left = database.integers("SELECT (SELECT count(*) FROM t) + (SELECT count(*) FROM u)")?;
        ensure!(left == [1], "{name}: transactions that failed left {} rows", left[0] - 1);
        let good = database.integer("SELECT count(*) FROM good")?;
        ensure!(good == 6, "{name}: the 6 transactions between them left {good} rows");
    }
    passed("deferred, immediate, exclusive")
}
