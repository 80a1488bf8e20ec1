//! Trials that are not valid for the interface `queue`.

use litelab_protocol::{Database, Sharing, Trial};

use super::{draft, empty};
use crate::check::{Found, ensure, passed};
use crate::conversation::refused_at_once;
use crate::draft::count;
use crate::subject::Subject;

pub fn refusals(subject: &Subject<'_>) -> Found {
    let path = empty(subject, "refusals.db")?;
    let good = || draft(subject, &path).role("r", 1, &["enqueue"], count(1)).build();
    let mut cases: Vec<(&str, Trial)> = Vec::new();
    let mut case = |what, change: &dyn Fn(&mut Trial)| {
        let mut trial = good();
        change(&mut trial);
        cases.push((what, trial));
    };
    let sql = |text: &'static str| move |t: &mut Trial| t.transactions[0].statements[0].sql = text.into();
    case("SQL", &sql("SELECT ?1, ?2"));
    case("an operation that there is not", &sql("CALL queue.steal(?1, ?2)"));
    case("another interface", &sql("CALL cache.enqueue(?1, ?2)"));
    case("too few arguments", &|t| {
        let statement = &mut t.transactions[0].statements[0];
        (statement.sql, statement.bind) = ("CALL queue.enqueue(?1)".into(), vec![0]);
    });
    case("rows of an operation that has none", &|t| t.transactions[0].statements[0].required = true);
    case("a database in memory", &|t| {
        t.databases = vec![Database::Memory {
            name: "conformance".into(),
            shared: false,
            setup: Vec::new(),
            teardown: Vec::new(),
        }];
    });
    case("an unknown option", &|t| {
        t.connection.options.insert("no_such_option".into(), true.into());
    });
    let sharings = [Sharing::OwnConnection, Sharing::Pool { connections: 2 }, Sharing::WriterReaders { readers: 1 }];
    if let Some(missing) = sharings.into_iter().find(|a| !subject.has_sharing(a.kind())) {
        case("a sharing it does not have", &move |t| t.sharing = missing);
    }
    for (what, trial) in &cases {
        let failed = refused_at_once(subject, trial).map_err(|e| format!("{what}: {e}"))?;
        ensure!(!failed.reason.contains('\n'), "{what}: its reason has several lines: {:?}", failed.reason);
    }
    passed(format!("{} of {}", cases.len(), cases.len()))
}
