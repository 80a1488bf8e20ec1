//! The fate of a task that was claimed.

use std::time::{Duration, Instant};

use litelab_protocol::Load;

use super::{draft, filled, payloads};
use crate::check::library::content::Content;
use crate::check::{Found, passed, skipped};
use crate::draft::count;
use crate::error::{Result, ensure};
use crate::subject::Subject;

/// Pauses between a claim and its completion, in milliseconds. On a busy machine the suite may miss the first one.
const PAUSES: [u64; 3] = [300, 1_200, 4_000];

/// Completing a task must change the file, unless the claim already removed the task, and the task must not be claimed
/// again.
pub fn completes(subject: &Subject<'_>) -> Found {
    let mut seen = Ending::Unchanged;
    for pause in PAUSES {
        seen = ending(subject, pause)?;
        if seen != Ending::Unchanged {
            break;
        }
    }
    match seen {
        Ending::Removed => passed("the claim removes it, and completing it does nothing"),
        Ending::Changed => passed("completing it changes the file"),
        Ending::Unchanged => Err("a task was claimed and then completed, and that left the file as it was".into()),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// The payload is no longer in the file after the claim.
    Removed,
    /// The file differs before and after completing.
    Changed,
    Unchanged,
}

/// Reads the file between the claim and the completion of its only task, and after it.
fn ending(subject: &Subject<'_>, pause_ms: u64) -> Result<Ending> {
    let file = filled(subject, 1)?;
    let mut trial = draft(subject, &file).role("c", 1, &["claim", "complete"], count(2)).build();
    trial.roles[0].load = Load::Closed { think_us: pause_ms * 1_000 };
    let untouched = Content::read(&file)?;
    let mut started = subject.start(&trial)?;
    started.go();
    let begun = Instant::now();
    let mut claimed = untouched.clone();
    while claimed == untouched && begun.elapsed() < Duration::from_millis(pause_ms) {
        std::thread::sleep(Duration::from_millis(5));
        claimed = Content::read(&file)?;
    }
    let heard = subject.finish(&trial, started)?;
    let counts = (heard.done("claim"), heard.done("complete"));
    ensure!(counts == ((1, 0), (1, 0)), "its only task was claimed and completed, and it counts {counts:?}");
    let again = draft(subject, &file).role("c", 1, &["claim"], count(1)).build();
    let found = subject.run(&again)?.done("claim");
    ensure!(found == (0, 1), "its only task was completed, and claimed and claimed in vain is then {found:?}");
    let payload = payloads(&trial, 0..1).remove(0);
    Ok(if claimed.rows_with(&payload) == 0 {
        Ending::Removed
    } else if claimed == Content::read(&file)? {
        Ending::Unchanged
    } else {
        Ending::Changed
    })
}

/// The only task is claimed, given back, claimed again and completed.
pub fn fails(subject: &Subject<'_>) -> Found {
    let file = filled(subject, 1)?;
    let steps = ["claim", "fail", "claim", "complete", "claim"];
    let trial = draft(subject, &file).role("c", 1, &steps, count(5)).build();
    let mut started = match subject.start(&trial) {
        Ok(started) => started,
        Err(reason) => {
            // The refusal is only accepted if the same driver starts without `fail`.
            let without = draft(subject, &file).role("c", 1, &["claim"], count(1)).build();
            subject.start(&without)?.close_input()?;
            return skipped(reason.to_string());
        }
    };
    started.go();
    let heard = subject.finish(&trial, started)?;
    let counts = ["claim", "fail", "complete"].map(|name| heard.done(name));
    ensure!(
        counts == [(2, 1), (1, 0), (1, 0)],
        "its only task was claimed, given back, claimed, completed and looked for: claims, `fail` and `complete`, each \
         with those in vain, were {counts:?}"
    );
    passed("given back, and claimed again")
}
