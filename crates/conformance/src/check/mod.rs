//! The checks. Each is independent of the others, takes some tens to some hundreds of milliseconds, and describes a
//! failure in one line.

mod begin;
mod connection;
mod deadlock;
mod effects;
mod errors;
mod fetch;
mod inspect;
mod library;
mod memory;
mod open_load;
mod order;
mod prepare;
mod progress;
mod refusals;
mod retry;
mod rollback;
mod settings;
mod sharing;
mod stall;
mod time;
mod values;
mod window;
mod yields;

pub mod describe;
pub mod orchestration;
pub mod queue;

use litelab_protocol::DriverDescription;

pub use orchestration::CHECKS as ORCHESTRATION_CHECKS;
pub use queue::CHECKS as QUEUE_CHECKS;

use crate::error::Result;
use crate::report::CheckVerdict;
use crate::subject::Subject;

/// Result of a check: passed with a summary of the observation, or skipped for a reason. The error describes a failure.
pub type Found = Result<(CheckVerdict, String)>;

/// One check.
pub struct Check {
    /// Name, in lower-case words with hyphens.
    pub name: &'static str,
    /// The requirement that the check tests.
    pub about: &'static str,
    needs: Needs,
    run: fn(&Subject<'_>) -> Found,
}

/// What a driver must have for a check.
enum Needs {
    Nothing,
    /// A database that the suite can inspect.
    Database,
    /// A database in a file. The text is the reason why the check does not apply to servers.
    File(&'static str),
    /// A library that stores its work in an SQLite file.
    Storage,
}

impl Check {
    /// A check of every driver.
    const fn any(name: &'static str, about: &'static str, run: fn(&Subject<'_>) -> Found) -> Self {
        Self { name, about, needs: Needs::Nothing, run }
    }

    /// A check of drivers that call a database.
    const fn database(name: &'static str, about: &'static str, run: fn(&Subject<'_>) -> Found) -> Self {
        Self { name, about, needs: Needs::Database, run }
    }

    /// Makes the check, if it applies to the driver.
    pub(crate) fn make(&self, subject: &Subject<'_>) -> Found {
        match self.needs {
            Needs::Database | Needs::File(_) if !subject.has_database() => skipped("it calls no database"),
            Needs::File(reason) if !subject.dialect().is_sqlite() => skipped(reason),
            Needs::Storage if subject.driver.sqlite.is_none() => skipped(library::KEEPS_NOTHING),
            _ => (self.run)(subject),
        }
    }
}

/// All checks of a driver that runs SQL, in the order in which they run. The first one is the minimum: if it fails, the
/// others are not run.
pub const CHECKS: &[Check] = &[
    Check::any("answers", "it opens, waits, runs ten transactions and ends", begin::answers),
    Check::any("waits-for-go", "without `go` it runs nothing, and ends with its input", begin::waits_for_go),
    Check::any("ends-alone", "it does not outlive the core", begin::ends_alone),
    Check::any("refusals", "what it cannot do ends in `failed` and exit code 1", refusals::refusals),
    Check::database("values", "every source draws the value of the reference, in its type", values::values),
    Check::database("operations", "rows are drawn by operation, repetition and tuple, each once", values::operations),
    Check::database("content", "a load has the hash of the reference's", values::content),
    Check::database("read-back", "it reports the settings asked for, on every connection", settings::read_back),
    Check::database("settings-by-sql", "SQL on its connections sees those settings, too", settings::by_sql),
    Check::database("settings-at-end", "at the end it reports what is then set, on every connection", settings::at_end),
    Check::database("settings-by-effect", "the settings do what they should", effects::effects),
    Check::any("sharing", "every sharing and executor: counts are the rows in the file, none twice", sharing::sharing),
    Check::database(
        "app-lock",
        "where writers share a lock or connection none of them is ever busy",
        sharing::exclusion,
    ),
    Check::any("databases", "every database gets all roles", sharing::databases),
    Check::any("order", "steps go in turn, or by the weights and the draws of the reference", order::order),
    Check::any("until-role", "a role ends with the other one", order::until_role),
    Check::any("time-limit", "a role ends by its time, and all its time is accounted for", time::limit),
    Check::any("think", "pauses between transactions are made", time::think),
    Check::any("warm-up", "what starts in the warm-up is run and not measured", time::warm_up),
    Check::any("window", "throughput counts what ends in the window, latency what begins there", window::window),
    Check::database("drain", "what hangs beyond the drain is reported with its age, and not waited for", window::drain),
    Check::any("open-load", "arrivals are those of the schedule", open_load::arrivals),
    Check::any("late-starts", "no late start is skipped; response counts from the schedule", open_load::late_starts),
    Check::database(
        "empty",
        "a transaction without the row it needs ends there, committed and counted apart",
        yields::empty,
    ),
    Check::database("yields", "a yielded value is bound later, unless its transaction was rolled back", yields::yields),
    Check {
        needs: Needs::File("a server decides itself when it plans"),
        ..Check::any("prepare", "a statement is compiled once for a connection, or at each execution", prepare::prepare)
    },
    Check::database("fetch", "as many rows are fetched as asked for, and timed", fetch::fetch),
    Check::database("verify", "wrong content is found", fetch::verify),
    Check::database("rollback", "a transaction that fails leaves nothing", rollback::rollback),
    Check::database("error-names", "errors have their extended names", errors::names),
    Check::database("retry", "errors are retried as told, with the same values", retry::retry),
    Check {
        needs: Needs::File("a server has its databases where it has them"),
        ..Check::any("memory", "databases in memory are set up, shared and dumped", memory::memory)
    },
    Check::any("ticks", "it reports progress while it waits, and never too much", progress::ticks),
    Check::any("probe", "the host probe runs when asked for, and only then", progress::probe),
    Check::any("stall", "a call that holds the loop or runtime shows in the probe at its length", stall::stall),
    Check {
        needs: Needs::File("it is asked of files"),
        ..Check::any("inspect", "it opens as an application would and reports what took effect", inspect::inspect)
    },
    Check {
        needs: Needs::File("it is asked of files"),
        ..Check::any(
            "inspect-dsn",
            "a data source name opens, and an upgrade is tried on two connections",
            inspect::data_source_name,
        )
    },
];

/// Additional checks of a driver of a server.
pub const SERVER_CHECKS: &[Check] = &[
    Check::any("deadlock", "who waits for each other is told so, and tries again as told", deadlock::deadlock),
    Check::any(
        "connection-lost",
        "a transaction that loses its connection is named, and the next has another",
        connection::lost,
    ),
    Check::any("connection-gone", "a server that is gone or says nothing hangs nobody", connection::gone),
];

/// The checks of a driver. A driver that has an interface in place of SQL gets the checks of that interface.
pub fn of(driver: &DriverDescription) -> Vec<&'static Check> {
    match driver.interface.as_ref().map(|interface| interface.name.as_str()) {
        Some("queue") => QUEUE_CHECKS.iter().collect(),
        Some("orchestration") => ORCHESTRATION_CHECKS.iter().collect(),
        // No other interface is defined; a driver that names another one gets the checks for SQL.
        _ if driver.dialect.is_sqlite() => CHECKS.iter().collect(),
        _ => CHECKS.iter().chain(SERVER_CHECKS).collect(),
    }
}

/// The result of a check that passed.
fn passed(detail: impl Into<String>) -> Found {
    Ok((CheckVerdict::Passed, detail.into()))
}

/// The result of a check that does not apply.
fn skipped(reason: impl Into<String>) -> Found {
    Ok((CheckVerdict::Skipped, reason.into()))
}
