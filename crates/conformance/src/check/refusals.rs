//! Trials that cannot be run: each must end in `failed` with exit code 1, and not in silence.

use litelab_protocol::{Database, Executor, Trial};

use super::{Found, ensure, passed};
use crate::draft::{Draft, TABLE, count, insert};
use crate::subject::Subject;

pub fn refusals(subject: &Subject<'_>) -> Found {
    let path = subject.database("refusals.db", TABLE)?;
    let good = || Draft::new(subject).on(&path).transaction(insert()).role("r", 1, &["insert"], count(1)).build();
    let mut cases: Vec<(&str, Trial, Option<&str>)> = Vec::new();
    let mut case = |what, code, change: &dyn Fn(&mut Trial)| {
        let mut trial = good();
        change(&mut trial);
        cases.push((what, trial, code));
    };
    case("an unknown driver", None, &|t| t.driver = "no-such-driver".into());
    case("protocol 99", None, &|t| t.protocol = 99);
    case("an unknown option", None, &|t| {
        t.connection.options.insert("no_such_option".into(), true.into());
    });
    case("a step without its transaction", None, &|t| t.roles[0].steps[0].transaction = 7);
    if let Some(missing) = Executor::ALL.into_iter().find(|e| !subject.driver.executors.contains(e)) {
        // The core starts processes, so that one a runner cannot tell from threads.
        if missing != Executor::Processes {
            case("an executor it does not have", None, &move |t| t.executor = missing);
        }
    }
    if subject.has_database() {
        case("wrong SQL", Some("SQLITE_ERROR"), &|t| t.transactions[0].statements[0].sql = "INSRT INTO t".into());
        case("a table that is not there", Some("SQLITE_ERROR"), &|t| {
            t.transactions[0].statements[0].sql = "INSERT INTO nowhere VALUES (?1, ?2, ?3)".into();
        });
        let nowhere = subject.directory.join("no-such-folder").join("x.db").display().to_string();
        case("a folder that is not there", Some("SQLITE_CANTOPEN"), &move |t| {
            t.databases = vec![Database::File { path: nowhere.clone() }];
        });
    }
    for (what, trial, code) in &cases {
        let failed = subject.refusal(trial).map_err(|e| format!("{what}: {e}"))?;
        if let Some(primary) = code {
            let said = failed.code.as_deref().unwrap_or("none");
            ensure!(litelab_protocol::codes::stands_for(primary, said), "{what}: its code is {said}, not {primary}");
        }
    }
    passed(format!("{} of {}", cases.len(), cases.len()))
}
