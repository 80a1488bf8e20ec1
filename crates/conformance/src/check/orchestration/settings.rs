//! Settings of the library's own connections.

use super::{KEEPS_NOTHING, draft, keeps};
use crate::check::queue::empty;
use crate::check::queue::settings::{OWN, agrees, plausible, shown};
use crate::check::{Found, ensure, passed, settings, skipped};
use crate::draft::{count, pragma};
use crate::subject::Subject;

/// Settings that differ from every library's defaults.
const ASKED: [(&str, &str); 3] = [("journal_mode", "WAL"), ("synchronous", "EXTRA"), ("cache_size", "-3456")];

/// Settings without a profile, and under a profile, which must be applied or refused.
pub fn read_back(subject: &Subject<'_>) -> Found {
    if !keeps(subject) {
        return skipped(KEEPS_NOTHING);
    }
    let mut lines = Vec::new();
    for profile in [&[][..], &ASKED] {
        let path = empty(subject, &format!("settings-{}.db", profile.len()))?;
        let mut draft = draft(subject, &path);
        draft.trial.connection.settings = profile.iter().map(|(name, value)| pragma(name, value)).collect();
        let names = OWN.iter().copied().chain(profile.iter().map(|(name, _)| *name));
        draft.trial.connection.read_back = names.map(str::to_owned).collect();
        let trial = draft.role("w", 2, &["quick"], count(2)).build();
        let started = match subject.start(&trial) {
            Ok(started) => started,
            // A refusal with a reason is allowed.
            Err(reason) if !profile.is_empty() => {
                subject.refusal(&trial)?;
                lines.push(format!("a profile is refused: {reason}"));
                continue;
            }
            Err(reason) => return Err(reason),
        };
        settings::connections(&trial, &started.connections)?;
        let connections = started.connections.clone();
        started.close_input()?;
        ensure!(!connections.is_empty(), "it reports no connection");
        for connection in &connections {
            settings::reported(profile, connection)?;
            plausible(connection)?;
            agrees(&path, connection)?;
        }
        let first = connections.first().map(shown).unwrap_or_default();
        lines.push(format!("{} of {} connections", first, connections.len()));
    }
    passed(lines.join("; "))
}
