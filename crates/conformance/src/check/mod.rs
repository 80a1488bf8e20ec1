//! The checks. Each is independent of the others, takes some tens to some hundreds of milliseconds, and describes a
//! failure in one line.

// Defined before the modules, because some of them use it.
macro_rules! check {
    ($name:literal, $about:literal, $run:path) => {
        Check { name: $name, about: $about, run: $run }
    };
}

mod begin;
mod connection;
mod deadlock;
mod effects;
mod errors;
mod fetch;
mod inspect;
mod memory;
mod open_load;
mod order;
mod progress;
mod refusals;
mod retry;
mod rollback;
mod server_effects;
mod settings;
mod sharing;
mod stall;
mod time;
mod tries;
mod values;
mod window;
mod yields;

pub mod describe;
pub mod orchestration;
pub mod queue;

use litelab_protocol::DriverDescription;

pub use orchestration::CHECKS as ORCHESTRATION_CHECKS;
pub use queue::CHECKS as QUEUE_CHECKS;

use crate::subject::Subject;

/// Result of a check that did not fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The check passed; a summary of the observation.
    Passed(String),
    /// The check does not apply; the reason.
    Skipped(String),
}

/// Result of a check, or the description of a failure.
pub type Found = Result<Finding, String>;

/// One check.
pub struct Check {
    /// Name, in lower-case words with hyphens.
    pub name: &'static str,
    /// The requirement that the check tests.
    pub about: &'static str,
    pub(crate) run: fn(&Subject<'_>) -> Found,
}

/// All checks of a driver that runs SQL, in the order in which they run. The first one is the minimum: if it fails, the
/// others are not run.
pub const CHECKS: &[Check] = &[
    check!("answers", "it opens, waits, runs ten transactions and ends", begin::answers),
    check!("waits-for-go", "without `go` it runs nothing, and ends with its input", begin::waits_for_go),
    check!("ends-alone", "it does not outlive the core", begin::ends_alone),
    check!("refusals", "what it cannot do ends in `failed` and exit code 1", refusals::refusals),
    check!("values", "every source draws the value of the reference, in its type", values::values),
    check!("operations", "rows are drawn by operation, repetition and tuple, each once", values::operations),
    check!("content", "a load has the hash of the reference's", values::content),
    check!("read-back", "it reports the settings asked for, on every connection", settings::read_back),
    check!("settings-by-sql", "SQL on its connections sees those settings, too", settings::by_sql),
    check!("settings-at-end", "at the end it reports what is then set, on every connection", settings::at_end),
    check!("settings-by-effect", "the settings do what they should", effects::effects),
    check!("sharing", "every sharing and executor: counts are the rows in the file, none twice", sharing::sharing),
    check!("app-lock", "where writers share a lock or connection none of them is ever busy", sharing::exclusion),
    check!("databases", "every database gets all roles", sharing::databases),
    check!("order", "steps go in turn, or by the weights and the draws of the reference", order::order),
    check!("until-role", "a role ends with the other one", order::until_role),
    check!("time-limit", "a role ends by its time, and all its time is accounted for", time::limit),
    check!("think", "pauses between transactions are made", time::think),
    check!("warm-up", "what starts in the warm-up is run and not measured", time::warm_up),
    check!("window", "throughput counts what ends in the window, latency what begins there", window::window),
    check!("drain", "what hangs beyond the drain is reported with its age, and not waited for", window::drain),
    check!("open-load", "arrivals are those of the schedule", open_load::arrivals),
    check!("late-starts", "no late start is skipped; response counts from the schedule", open_load::late_starts),
    check!("empty", "a transaction without the row it needs ends there, committed and counted apart", yields::empty),
    check!("yields", "a yielded value is bound later", yields::yields),
    check!("fetch", "as many rows are fetched as asked for, and timed", fetch::fetch),
    check!("verify", "wrong content is found", fetch::verify),
    check!("rollback", "a transaction that fails leaves nothing", rollback::rollback),
    check!("error-names", "errors have their extended names", errors::names),
    check!("retry", "errors are retried as told, with the same values", retry::retry),
    check!("memory", "databases in memory are set up, shared and dumped", memory::memory),
    check!("ticks", "it reports progress while it waits, and never too much", progress::ticks),
    check!("probe", "the host probe runs when asked for, and only then", progress::probe),
    check!("stall", "a call that holds the loop or runtime shows in the probe at its length", stall::stall),
    check!("inspect", "it opens as an application would and reports what took effect", inspect::inspect),
];

/// Additional checks of a driver of a server.
pub const SERVER_CHECKS: &[Check] = &[
    check!("deadlock", "who waits for each other is told so, and tries again as told", deadlock::deadlock),
    check!(
        "connection-lost",
        "a transaction that loses its connection is named, and the next has another",
        connection::lost
    ),
    check!("connection-gone", "a server that is gone or says nothing hangs nobody", connection::gone),
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

/// Ends a check with a failure unless the condition holds.
macro_rules! ensure {
    ($ok:expr, $($what:tt)+) => {
        if !$ok {
            return Err(format!($($what)+).into());
        }
    };
}
pub(crate) use ensure;
pub(crate) use tries::{timely, tries};

pub use tries::Wrong;

/// The result of a check that passed.
fn passed(detail: impl Into<String>) -> Found {
    Ok(Finding::Passed(detail.into()))
}

/// The result of a check that does not apply.
fn skipped(reason: impl Into<String>) -> Found {
    Ok(Finding::Skipped(reason.into()))
}

/// Reason why checks of databases do not apply to the driver `noop`.
const NO_DATABASE: &str = "it calls no database";
