//! Orders and combinations of PRAGMAs in which one of them has no effect.
//!
//! Only faults visible in the list itself. Each was found by running the order on SQLite 3.54, and the tests run it
//! again. Harmless orders that look suspicious (`synchronous`, `mmap_size`, `journal_size_limit` or `encoding` before
//! or after `journal_mode = wal`) are tested as well, so that they are not reported.

use crate::setting::Setting;

/// The faults of a profile's PRAGMAs in the order in which they run on a connection to a new database: one line for each
/// PRAGMA that is valid by itself but has no effect at its position.
pub fn check_order(values: &[Setting]) -> Vec<String> {
    let mut faults = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let (name, before) = (&*value.name, &values[..index]);
        let twice = last(before, name).filter(|_| value.expected.is_some());
        faults.extend(
            twice.map(|earlier| {
                format!("{name} is set twice, to {} and then to {}; keep one", earlier.value, value.value)
            }),
        );
        faults.extend(late(value, before));
        faults.extend(idle(value, values));
    }
    faults
}

/// The fault of a PRAGMA that comes after one that writes the first page of a new database, or that forbids writes.
fn late(value: &Setting, before: &[Setting]) -> Option<String> {
    let name = &*value.name;
    let too_late = name == "page_size" || name == "auto_vacuum" && value.value != "none";
    let creator = before.iter().find(|earlier| earlier.name != name && creates_file(earlier));
    if let Some(creator) = creator.filter(|_| too_late) {
        let creator = creator.sql.as_deref().unwrap_or_default().trim_start_matches("PRAGMA ");
        return Some(format!(
            "{name} comes after {creator}, which creates the file and fixes it: no effect; put {name} first"
        ));
    }
    let read_only = before.iter().any(|earlier| earlier.name == "query_only" && earlier.value == "on");
    // journal_mode = wal writes as well, but below the level at which query_only is checked.
    (read_only && creates_file(value) && name != "journal_mode").then(|| {
        format!(
            "{name} comes after query_only = on and fails: attempt to write a readonly database; put query_only last"
        )
    })
}

/// The fault of a PRAGMA that has no effect at any position.
fn idle(value: &Setting, all: &[Setting]) -> Option<String> {
    let name = &*value.name;
    let journal = last(all, "journal_mode").map(|setting| &*setting.value);
    match name {
        "wal_autocheckpoint" | "wal_checkpoint" => journal.filter(|mode| *mode != "wal").map(|journal| {
            format!(
                "{name} has no effect with journal_mode = {journal}: there is no WAL; leave it out, or set journal_mode = wal"
            )
        }),
        "journal_size_limit" => {
            // In exclusive mode a DELETE journal remains, like a PERSIST journal.
            let exclusive = last(all, "locking_mode").is_some_and(|setting| setting.value == "exclusive");
            let leaves_none =
                |mode: &&str| matches!(*mode, "truncate" | "memory" | "off") || *mode == "delete" && !exclusive;
            journal.filter(leaves_none).map(|journal| {
                format!("{name} has no effect with journal_mode = {journal}, which leaves no file; leave it out")
            })
        }
        "incremental_vacuum" => last(all, "auto_vacuum").map(|setting| &*setting.value).filter(|mode| *mode != "incremental").map(|mode| {
            format!("{name} has no effect with auto_vacuum = {mode}; set auto_vacuum = incremental")
        }),
        "defer_foreign_keys" if value.value == "on" => Some(format!(
            "{name} is off again after the first transaction; declare the constraints DEFERRABLE INITIALLY DEFERRED, or \
             set it inside each transaction"
        )),
        "soft_heap_limit" => {
            let (soft, hard) = (number(value)?, number(last(all, "hard_heap_limit")?)?);
            (soft == 0 || soft > hard)
                .then(|| format!("{name} = {soft} is cut to hard_heap_limit = {hard}; set it lower"))
        }
        _ => None,
    }
}

/// Whether a PRAGMA starts a write transaction, which writes the first page of an empty database.
fn creates_file(value: &Setting) -> bool {
    match &*value.name {
        "journal_mode" => value.value == "wal",
        "auto_vacuum" => value.value != "none",
        "application_id" | "schema_version" | "user_version" | "incremental_vacuum" => true,
        _ => false,
    }
}

fn last<'a>(values: &'a [Setting], name: &str) -> Option<&'a Setting> {
    values.iter().rfind(|value| value.name == name)
}

fn number(value: &Setting) -> Option<i64> {
    value.value.parse().ok()
}
