//! Invalid trials: each must end with `failed` and exit code 1, with a reason.

use std::net::TcpListener;

use litelab_protocol::codes::{CONNECTION_REFUSED, stands_for};
use litelab_protocol::{Database, Dialect, Executor, Trial};

use super::{Found, passed};
use crate::dialect::by;
use crate::draft::{Draft, TABLE, count, insert};
use crate::error::{At, Result, ensure};
use crate::proxy::elsewhere;
use crate::server::Url;
use crate::subject::Subject;

pub fn refusals(subject: &Subject<'_>) -> Found {
    let database = subject.database(TABLE)?;
    let good = || Draft::new(subject).on(&*database).transaction(insert()).only(1, count(1));
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
        // The engine starts the processes, so that a runner cannot distinguish this executor from threads.
        if missing != Executor::Processes {
            case("an executor it does not have", None, &move |t| t.executor = missing);
        }
    }
    if subject.has_database() {
        let wrong = subject.by("SQLITE_ERROR", "syntax_error", "ER_PARSE_ERROR");
        case("wrong SQL", Some(wrong), &|t| t.transactions[0].statements[0].sql = "INSRT INTO t".into());
        let absent = subject.by("SQLITE_ERROR", "undefined_table", "ER_NO_SUCH_TABLE");
        case("a table that is not there", Some(absent), &|t| {
            let sql = &mut t.transactions[0].statements[0].sql;
            *sql = sql.replace("INTO t ", "INTO nowhere ");
        });
        let nowhere = subject.directory.join("no-such-folder").join("x.db").display().to_string();
        let file = Database::File { path: nowhere };
        match subject.server {
            None => {
                case("a folder that is not there", Some("SQLITE_CANTOPEN"), &|t| t.databases = vec![file.clone()]);
                let url = "postgres://litelab@127.0.0.1:1/postgres".to_owned();
                let server = Database::Server { url, schema: "s".into() };
                case("a database on a server", None, &move |t| t.databases = vec![server.clone()]);
            }
            Some(url) => {
                case("a file", None, &|t| t.databases = vec![file.clone()]);
                for (what, code, wrong) in unreachable(subject.dialect(), url)? {
                    case(what, Some(code), &move |t| t.databases = vec![wrong.clone()]);
                }
            }
        }
    }
    for (what, trial, code) in &cases {
        let failed = subject.refusal(trial).at(what)?;
        if let Some(primary) = code {
            let said = failed.code.as_deref().unwrap_or("none");
            ensure!(stands_for(primary, said), "{what}: its code is {said}, not {primary}");
        }
    }
    passed(format!("{} of {}", cases.len(), cases.len()))
}

/// Databases that do not exist or cannot be reached.
fn unreachable(dialect: Dialect, url: &str) -> Result<Vec<(&'static str, &'static str, Database)>> {
    let at = |url: &str, schema: &str| Database::Server { url: url.into(), schema: schema.into() };
    // A port that was free a moment ago, and that the system does not assign again so soon.
    let free = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let parsed = Url::parse(url)?;
    let mut cases = vec![
        ("a port where nobody listens", CONNECTION_REFUSED, at(&elsewhere(url, free), "s")),
        (
            "a schema that is not there",
            by(dialect, "", "undefined_table", "ER_BAD_DB_ERROR"),
            at(url, "litelab_no_such_schema"),
        ),
    ];
    if let Some(password) = parsed.password {
        let wrong = url.replacen(&format!(":{password}@"), ":not-the-password@", 1);
        let code = by(dialect, "", "invalid_password", "ER_ACCESS_DENIED_ERROR");
        cases.push(("a wrong password", code, at(&wrong, "s")));
    }
    if let Some(database) = parsed.database.filter(|_| dialect == Dialect::Postgres) {
        let wrong = url.replacen(&format!("/{database}"), "/litelab_no_such_database", 1);
        cases.push(("a database that is not there", "invalid_catalog_name", at(&wrong, "s")));
    }
    Ok(cases)
}
