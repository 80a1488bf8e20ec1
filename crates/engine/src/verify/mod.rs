//! Checks of a trial: settings in effect, counts, content of the database.

mod ceiling;
mod contents;
mod kept;
mod little;
mod nodes;
mod work;

use litelab_model::Variant;
use litelab_protocol::histogram::Histogram;
use litelab_protocol::{ConnectionSettings, Dialect, Load, Role, TransactionResult, TrialResult, Until};

pub use ceiling::ceiling;
pub use contents::{Contents, Files, content_hash, databases};
pub use kept::kept;
use litelab_record::outcome::Flag;
pub use nodes::{lost, nodes};
pub use work::failures;

/// Smallest number of transactions of a trial that is judged: below it, one more at the end changes the rate by over a
/// percent.
const FEWEST: u64 = 100;
/// Shortest window that is judged, in median transactions: below it, the edges are over a tenth of the window.
const FEWEST_IN_A_ROW: f64 = 10.0;

/// Compares the settings in effect on every connection, including server-wide ones, with those of the profile.
///
/// # Errors
/// The first difference.
pub fn settings(variant: &Variant, connections: &[ConnectionSettings]) -> Result<(), String> {
    if connections.is_empty() {
        return Err("the runner reported no connection".into());
    }
    let wanted = variant.settings.iter().filter_map(|setting| Some((setting, setting.expected.as_ref()?)));
    for (setting, expected) in wanted {
        for (i, connection) in connections.iter().enumerate() {
            let here = format!("connection {i} ({}): `{}`", connection.label, setting.name);
            let Some(reported) = connection.settings.get(&setting.name) else {
                return Err(format!("{here} was not read back"));
            };
            if !expected.matches(reported) {
                return Err(format!(
                    "{here} is {reported}, asked for was {} (reads back as {expected})",
                    setting.value
                ));
            }
        }
    }
    Ok(())
}

/// Checks that no row that the runner verified has wrong content.
///
/// # Errors
/// The first transaction that met such rows.
pub fn verified(result: &TrialResult) -> Result<(), String> {
    for o in &result.operations {
        let (verified, mismatches) = (o.counter("verified"), o.counter("mismatches"));
        if mismatches > 0 {
            let name = &o.transaction;
            return Err(format!("transaction `{name}`: {mismatches} of {verified} verified rows have wrong content"));
        }
    }
    Ok(())
}

/// Checks that a result is consistent with itself and with the trial.
///
/// # Errors
/// The first contradiction.
pub fn counts(variant: &Variant, result: &TrialResult) -> Result<(), String> {
    for o in &result.operations {
        let name = format!("{}/{}", o.role, o.transaction);
        let ensure = |ok: bool, what: String| if ok { Ok(()) } else { Err(format!("{name}: {what}")) };
        ensure(
            o.service.count() == o.measured,
            format!("{} transactions measured, {} in the service histogram", o.measured, o.service.count()),
        )?;
        ensure(o.measured <= o.committed, format!("{} measured of {} committed", o.measured, o.committed))?;
        ensure(o.ended <= o.committed, format!("{} ended in the window of {} committed", o.ended, o.committed))?;
        for what in ["response", "lag", "wait"] {
            if let Some(h) = o.timers.get(what) {
                ensure(
                    h.count() == o.measured,
                    format!("{} measured, {} in the {what} histogram", o.measured, h.count()),
                )?;
            }
        }
        for (code, count) in &o.errors {
            ensure(count.cured <= count.seen, format!("{code}: {} cured of {} seen", count.cured, count.seen))?;
            ensure(
                litelab_protocol::codes::is_known(variant.dialect, code),
                match variant.dialect {
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
    let (by_worker, by_operation) =
        (result.workers.iter().map(|w| w.ended).sum::<u64>(), result.operations.iter().map(|o| o.ended).sum::<u64>());
    if by_worker != by_operation {
        return Err(format!(
            "workers ended {by_worker} transactions in the window, transactions add up to {by_operation}"
        ));
    }
    for role in &variant.trial.roles {
        let workers = result.workers.iter().filter(|w| w.role == role.name).count();
        let killed = variant.kill.as_ref().map_or(0, |kill| kill.workers_of(&role.name));
        let expected = (role.workers - killed) as usize * variant.databases as usize;
        if workers != expected {
            return Err(format!("role `{}` has {expected} workers, {workers} were reported", role.name));
        }
        if let Until::Count { transactions } = role.until {
            let done: u64 = operations(result, &role.name).map(|o| o.committed + o.empty + o.failed).sum();
            let wanted = transactions * u64::from(variant.databases);
            if done != wanted {
                return Err(format!("role `{}` was to do {wanted} transactions and did {done}", role.name));
            }
        }
    }
    Ok(())
}

/// Error codes that invalidate a trial, however many transactions succeeded before.
const STORAGE: [&str; 5] = ["SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_NOMEM"];
/// The same error codes of PostgreSQL, MySQL and MariaDB.
const STORAGE_OF_SERVERS: [&str; 7] = [
    "disk_full",
    "out_of_memory",
    "io_error",
    "data_corrupted",
    "ER_DISK_FULL",
    "ER_OUTOFMEMORY",
    "ER_RECORD_FILE_FULL",
];

/// Checks that no transaction met an error of the disk or of memory.
///
/// # Errors
/// The first such error, with its remedy.
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

fn operations<'a>(result: &'a TrialResult, role: &'a str) -> impl Iterator<Item = &'a TransactionResult> {
    result.operations.iter().filter(move |o| o.role == role)
}

/// Flags to print next to the numbers of a valid result.
#[must_use]
pub fn flags(variant: &Variant, result: &TrialResult, late_share: f64) -> Vec<Flag> {
    let mut flags: Vec<Flag> = short(variant, result).into_iter().collect();
    if let Some(difference) = little::little(variant, result) {
        flags.push(Flag::LittlesLaw { difference });
    }
    let unfinished = result.operations.iter().map(|o| o.unfinished.len() as u64).sum();
    if unfinished > 0 {
        flags.push(Flag::Unfinished { count: unfinished });
    }
    for role in &variant.trial.roles {
        if let Load::Open { rate, .. } = role.load {
            let unserved: u64 = operations(result, &role.name).map(|o| o.unserved).sum();
            let done: u64 = operations(result, &role.name).map(|o| o.committed + o.empty + o.failed).sum();
            // Arrivals of killed workers are not served by any other worker.
            let killed = variant.kill.as_ref().map_or(0, |kill| kill.workers_of(&role.name));
            let alive = f64::from(role.workers.saturating_sub(killed)) / f64::from(role.workers.max(1));
            let offered = match role.until {
                // The schedule belongs to the role, independent of the number of databases.
                Until::Time { ms } => rate * alive * ms as f64 / 1e3,
                _ => (done + unserved) as f64,
            };
            let achieved = done as f64 / offered.max(1.0);
            // The number of arrivals varies: within three standard deviations of a Poisson count there is no overload.
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
    flags.extend(work::idle(variant, result));
    if late_share > 0.1 {
        flags.push(Flag::LateSamples { share: late_share });
    }
    flags
}

/// Whether a role ends after a time, or with a role that does.
fn is_timed(roles: &[Role], name: &str) -> bool {
    let mut name = name;
    // At most one step for each role: a circle ends, too.
    for _ in roles {
        match roles.iter().find(|role| role.name == name).map(|role| &role.until) {
            Some(Until::Role { name: other }) => name = other,
            until => return matches!(until, Some(Until::Time { .. })),
        }
    }
    false
}

/// The flag of a trial that is too short to judge. Roles that end by count, or with one that does, are exempt: their
/// length is intended.
fn short(variant: &Variant, result: &TrialResult) -> Option<Flag> {
    let timed = |name: &str| is_timed(&variant.trial.roles, name);
    let operations = || result.operations.iter().filter(|o| timed(&o.role));
    operations().next()?;
    let ended = operations().map(|o| o.ended).sum();
    let mut service = Histogram::new();
    operations().for_each(|o| service.merge(&o.service));
    let median = service.quantile(0.5).map(|ns| ns as f64 / 1e9);
    let window = result.workers.iter().filter(|w| timed(&w.role)).map(|w| w.inside_ns + w.outside_ns).max();
    let seconds = window.unwrap_or_default() as f64 / 1e9;
    let is_short = ended < FEWEST || median.is_none_or(|median| seconds < FEWEST_IN_A_ROW * median);
    is_short.then_some(Flag::Short { seconds, ended, median })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verified_row_with_wrong_content_fails_the_trial() {
        let result = |mismatches: u64| {
            let counters = [("verified".to_owned(), 8), ("mismatches".to_owned(), mismatches)].into();
            let operation = TransactionResult { transaction: "scan".into(), counters, ..TransactionResult::default() };
            TrialResult { operations: vec![TransactionResult::default(), operation], ..TrialResult::default() }
        };
        assert_eq!(verified(&result(0)), Ok(()));
        let wrong = "transaction `scan`: 2 of 8 verified rows have wrong content";
        assert_eq!(verified(&result(2)), Err(wrong.to_owned()));
    }

    #[test]
    fn a_role_that_ends_with_another_is_timed_if_that_one_is() {
        let role = |name: &str, until: Until| Role {
            name: name.into(),
            workers: 1,
            first_worker: 0,
            first_in_role: 0,
            workers_in_role: 1,
            order: litelab_protocol::Order::Cycle,
            steps: Vec::new(),
            load: Load::Closed { think_us: 0 },
            until,
        };
        let with = |name: &str| Until::Role { name: name.into() };
        let roles = [
            role("counted", Until::Count { transactions: 9 }),
            role("timed", Until::Time { ms: 9 }),
            role("with-counted", with("counted")),
            role("with-timed", with("timed")),
            role("third", with("with-timed")),
            role("circle", with("circle")),
        ];
        let timed = roles.iter().filter(|role| is_timed(&roles, &role.name)).map(|role| role.name.as_str());
        assert_eq!(timed.collect::<Vec<_>>(), ["timed", "with-timed", "third"]);
    }
}
