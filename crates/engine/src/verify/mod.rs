//! Checks of a trial: settings in effect, counts, the database itself.

mod contents;
mod nodes;

use litelab_model::Arm;
use litelab_model::pragma::{self, Reported};
use litelab_model::resolve::input;
use litelab_model::setting;
use litelab_protocol::{ConnectionSettings, Dialect, Load, Operation, TrialResult, Until};
use litelab_stats::{LittleOutcome, LittlesLaw};

pub use contents::{Contents, Files, content_hash, databases};
use litelab_record::outcome::Flag;
pub use nodes::{lost, nodes};

/// Little's law holds exactly; what is left is the harness's own work and the histogram's precision.
const LITTLE_TOLERANCE: f64 = 0.05;
/// A trial below this many seconds is dominated by its start.
const SHORT_SECONDS: f64 = 0.05;

/// Compares the settings in effect on every connection with those the profile asked for.
///
/// # Errors
/// The first difference.
pub fn settings(arm: &Arm, connections: &[ConnectionSettings]) -> Result<(), String> {
    if connections.is_empty() {
        return Err("the runner reported no connection".into());
    }
    of_server(arm, connections)?;
    for (name, value) in &arm.pragmas {
        let Ok(wanted) = pragma::parse(name, &input(value)) else { continue };
        if !wanted.pragma().is_setting() {
            continue;
        }
        for (i, connection) in connections.iter().enumerate() {
            let Some(reported) = connection.settings.get(wanted.name()) else {
                return Err(format!("connection {i} ({}): `{}` was not read back", connection.label, wanted.name()));
            };
            let reported = reported_value(reported);
            if !wanted.read_back_matches(&reported) {
                return Err(format!(
                    "connection {i} ({}): `{}` is {reported}, asked for was {} (reads back as {})",
                    connection.label,
                    wanted.name(),
                    wanted.render(),
                    wanted.expected_read_back()
                ));
            }
        }
    }
    Ok(())
}

/// The same for the settings of a server, those that hold for all of it among them.
fn of_server(arm: &Arm, connections: &[ConnectionSettings]) -> Result<(), String> {
    for (name, value) in &arm.settings {
        let wanted = setting::parse(arm.dialect, name, value)?;
        for (i, connection) in connections.iter().enumerate() {
            let here = format!("connection {i} ({})", connection.label);
            let Some(reported) = connection.settings.get(wanted.name()) else {
                return Err(format!("{here}: `{}` was not read back", wanted.name()));
            };
            let reported = reported_value(reported);
            if !wanted.matches(&reported) {
                return Err(format!("{here}: `{}` is {reported}, asked for was {wanted}", wanted.name()));
            }
        }
    }
    Ok(())
}

/// A value as a runner reports it.
pub(crate) fn reported_value(value: &serde_json::Value) -> Reported {
    match value {
        serde_json::Value::Number(n) => match n.as_i64() {
            Some(i) => Reported::Integer(i),
            None => Reported::Text(n.to_string()),
        },
        serde_json::Value::String(s) => Reported::Text(s.clone()),
        serde_json::Value::Bool(b) => Reported::Integer((*b).into()),
        _ => Reported::Nothing(()),
    }
}

/// Checks that a result does not contradict itself or the trial.
///
/// # Errors
/// The first contradiction.
pub fn counts(arm: &Arm, result: &TrialResult) -> Result<(), String> {
    for o in &result.operations {
        let name = format!("{}/{}", o.role, o.transaction);
        let ensure = |ok: bool, what: String| if ok { Ok(()) } else { Err(format!("{name}: {what}")) };
        ensure(
            o.service.count() == o.measured,
            format!("{} transactions measured, {} in the service histogram", o.measured, o.service.count()),
        )?;
        ensure(o.measured <= o.committed, format!("{} measured of {} committed", o.measured, o.committed))?;
        for (what, histogram) in [("response", &o.response), ("lag", &o.lag), ("wait", &o.wait)] {
            if let Some(h) = histogram {
                ensure(
                    h.count() == o.measured,
                    format!("{} measured, {} in the {what} histogram", o.measured, h.count()),
                )?;
            }
        }
        for (code, count) in &o.errors {
            ensure(count.cured <= count.seen, format!("{code}: {} cured of {} seen", count.cured, count.seen))?;
            ensure(
                litelab_protocol::codes::is_known(arm.dialect, code),
                match arm.dialect {
                    Dialect::Sqlite => format!("`{code}` is no SQLite result code"),
                    server => format!("`{code}` is no error of {server}"),
                },
            )?;
        }
        let seen: u64 = o.errors.values().map(|e| e.seen).sum();
        ensure(o.failed <= seen, format!("{} transactions failed, but {seen} errors were seen", o.failed))?;
    }
    let (by_worker, by_operation) = (
        result.workers.iter().map(|w| w.committed).sum::<u64>(),
        result.operations.iter().map(|o| o.committed).sum::<u64>(),
    );
    if by_worker != by_operation {
        return Err(format!("workers committed {by_worker} transactions, transactions add up to {by_operation}"));
    }
    for role in &arm.trial.roles {
        let workers = result.workers.iter().filter(|w| w.role == role.name).count();
        let killed = arm.kill.as_ref().map_or(0, |kill| kill.workers_of(&role.name));
        let expected = (role.workers - killed) as usize * arm.databases as usize;
        if workers != expected {
            return Err(format!("role `{}` has {expected} workers, {workers} were reported", role.name));
        }
        if let Until::Count { transactions } = role.until {
            let done: u64 = operations(result, &role.name).map(|o| o.committed + o.empty + o.failed).sum();
            let wanted = transactions * u64::from(arm.databases);
            if done != wanted {
                return Err(format!("role `{}` was to do {wanted} transactions and did {done}", role.name));
            }
        }
    }
    Ok(())
}

/// Errors after which numbers say nothing about the database, however many transactions went through before.
const STORAGE: [&str; 5] = ["SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_NOMEM"];
/// The same of the servers.
const STORAGE_OF_SERVERS: [&str; 7] = [
    "disk_full",
    "out_of_memory",
    "io_error",
    "data_corrupted",
    "ER_DISK_FULL",
    "ER_OUTOFMEMORY",
    "ER_RECORD_FILE_FULL",
];

/// Checks that disk and memory held out.
///
/// # Errors
/// The first such error, with the remedy.
pub fn storage(result: &TrialResult) -> Result<(), String> {
    for o in &result.operations {
        let met = o.errors.iter().find(|(code, _)| {
            STORAGE_OF_SERVERS.contains(&code.as_str())
                || STORAGE.iter().any(|s| litelab_protocol::codes::stands_for(s, code))
        });
        if let Some((code, count)) = met {
            let remedy =
                if code == "SQLITE_FULL" { ": free some space, or choose another directory with --dir" } else { "" };
            return Err(format!("{}/{}: {code} was returned {} times{remedy}", o.role, o.transaction, count.seen));
        }
    }
    Ok(())
}

fn operations<'a>(result: &'a TrialResult, role: &'a str) -> impl Iterator<Item = &'a Operation> {
    result.operations.iter().filter(move |o| o.role == role)
}

/// What is to be said beside the numbers of a result that is right.
#[must_use]
pub fn flags(arm: &Arm, result: &TrialResult, late_share: f64) -> Vec<Flag> {
    let mut flags = Vec::new();
    let seconds = result.measured_ns as f64 / 1e9;
    if seconds < SHORT_SECONDS {
        flags.push(Flag::Short { seconds });
    }
    if let Some(difference) = little(arm, result) {
        flags.push(Flag::LittlesLaw { difference });
    }
    for role in &arm.trial.roles {
        if let Load::Open { rate, .. } = role.load {
            let unserved: u64 = operations(result, &role.name).map(|o| o.unserved).sum();
            let done: u64 = operations(result, &role.name).map(|o| o.committed + o.empty + o.failed).sum();
            // Arrivals of workers that were killed are no one's.
            let killed = arm.kill.as_ref().map_or(0, |kill| kill.workers_of(&role.name));
            let alive = f64::from(role.workers.saturating_sub(killed)) / f64::from(role.workers.max(1));
            let offered = match role.until {
                // The schedule is the role's, whatever the number of databases.
                Until::Time { ms } => rate * alive * ms as f64 / 1e3,
                _ => (done + unserved) as f64,
            };
            let achieved = done as f64 / offered.max(1.0);
            // The arrivals themselves vary: three standard deviations of a Poisson count are no overload.
            let noise = 3.0 / offered.max(1.0).sqrt();
            if unserved > 0 && achieved < 0.98 - noise {
                flags.push(Flag::Overloaded { role: role.name.clone(), achieved, unserved });
            }
        }
    }
    let (failed, of) =
        result.operations.iter().fold((0, 0), |(f, all), o| (f + o.failed, all + o.failed + o.committed + o.empty));
    if failed > 0 {
        flags.push(Flag::Failures { failed, of });
    }
    if late_share > 0.1 {
        flags.push(Flag::LateSamples { share: late_share });
    }
    flags
}

/// Little's law in a closed loop, `L = X·R`: the relative difference where it is beyond the tolerance.
///
/// X and R come from counts and histograms (R with the time between transactions); L, the mean number of workers at
/// work, from the workers' own sums of time. A runner that loses or invents operations or latencies contradicts its
/// workers. And a worker that runs until a given time has been at work until then, so that sums which are too small
/// contradict the clock on the wall.
fn little(arm: &Arm, result: &TrialResult) -> Option<f64> {
    let seconds = result.measured_ns as f64 / 1e9;
    let (done, failed) =
        result.operations.iter().fold((0, 0), |(done, failed), o| (done + o.measured, failed + o.failed + o.empty));
    // The service histogram holds successes only, so a trial with many failures or empties has no R to check by; with a
    // few, each of which may have taken seconds, there may be less time in it than there was, but never more.
    if done < 100 || failed * 20 > done || seconds < SHORT_SECONDS {
        return None;
    }
    let inside: f64 = result.operations.iter().filter_map(|o| Some(o.service.mean()? * o.measured as f64)).sum();
    let outside: f64 = result.workers.iter().map(|w| w.outside_ns as f64).sum();
    let at_work: f64 = result.workers.iter().map(|w| (w.inside_ns + w.outside_ns) as f64).sum();
    let law = LittlesLaw {
        in_flight: at_work / 1e9 / seconds,
        per_second: done as f64 / seconds,
        mean_seconds: (inside + outside) / 1e9 / done as f64,
    };
    match law.check(LITTLE_TOLERANCE) {
        Ok(LittleOutcome::Unaccounted { .. }) if failed > 0 => absent(arm, result),
        Ok(LittleOutcome::Unaccounted { discrepancy } | LittleOutcome::Overcounted { discrepancy }) => {
            Some(discrepancy)
        }
        // No time at work at all is no domain of the law.
        Err(_) => Some(-1.0),
        Ok(_) => absent(arm, result),
    }
}

/// Share of the wall-clock time that workers of roles ending by time did not account for, where it is beyond the
/// tolerance; likewise, above 0, time that was more than there was.
fn absent(arm: &Arm, result: &TrialResult) -> Option<f64> {
    let mut due = 0.0;
    let mut spent = 0.0;
    for role in &arm.trial.roles {
        let Until::Time { ms } = role.until else { continue };
        for worker in result.workers.iter().filter(|w| w.role == role.name) {
            due += ms.saturating_sub(arm.trial.warmup_ms) as f64 * 1e6;
            spent += (worker.inside_ns + worker.outside_ns) as f64;
        }
    }
    let most = result.measured_ns as f64 * result.workers.len() as f64;
    let all: f64 = result.workers.iter().map(|w| (w.inside_ns + w.outside_ns) as f64).sum();
    match (spent / due - 1.0, all / most - 1.0) {
        (missing, _) if due > 0.0 && missing < -LITTLE_TOLERANCE => Some(missing),
        (_, over) if most > 0.0 && over > LITTLE_TOLERANCE => Some(over),
        _ => None,
    }
}
