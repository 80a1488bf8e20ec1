//! Lock errors and pauses that duroxide logs as `tracing` events. No other interface reports errors after which
//! duroxide retried.

use std::collections::BTreeMap;
use std::fmt::{Debug, Write};
use std::sync::{Mutex, OnceLock, PoisonError};

use litelab_protocol::histogram::Histogram;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry;

/// SQLITE_BUSY, for a message about a lock that names no code.
const BUSY: i32 = 5;
/// SQLITE_ERROR, for any other message without a code.
const ERROR: i32 = 1;

/// Counts since the first [`begin`] or the last [`heard`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heard {
    /// Errors after which duroxide retried, by extended result code.
    pub retried: BTreeMap<i32, u64>,
    /// Pauses before a retry, in nanoseconds.
    pub pauses: Histogram,
}

static HEARD: Mutex<Option<Heard>> = Mutex::new(None);

/// Installs the subscriber of this process. Without it duroxide would install its own, which prints to standard output,
/// where the lines of the protocol are written.
pub fn listen() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        // Fails if a subscriber is already installed, which then prints the events itself.
        let _set = tracing::subscriber::set_global_default(registry().with(Ear));
    });
}

/// Begins to count, at the first call: each database of a trial makes one.
pub fn begin() {
    HEARD.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
}

/// Takes the counts since the first [`begin`] or the last call. The process has one log for all its databases: the first to ask
/// gets the counts of all, so that none is counted twice.
pub fn heard() -> Heard {
    HEARD.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(std::mem::take).unwrap_or_default()
}

struct Ear;

impl<S: Subscriber> Layer<S> for Ear {
    fn enabled(&self, metadata: &tracing::Metadata<'_>, _: Context<'_, S>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut said = Said::default();
        event.record(&mut said);
        let mut heard = HEARD.lock().unwrap_or_else(PoisonError::into_inner);
        let understood = heard.as_mut().is_some_and(|heard| heard.take_in(&said));
        drop(heard);
        if !understood {
            // Goes to the log of the runner, as evidence of a failure.
            eprintln!("{} {}", event.metadata().level(), said.text);
        }
    }
}

/// Message and fields of an event.
#[derive(Default)]
struct Said {
    text: String,
    /// The field `backoff_ms`.
    backoff_ms: Option<u64>,
}

impl Visit for Said {
    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "backoff_ms" {
            self.backoff_ms = Some(value);
        }
        self.record_debug(field, &value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a String cannot fail.
        let _written = write!(self.text, "{}={value:?} ", field.name());
    }
}

impl Heard {
    /// Counts an event and returns true if it reports an error after which duroxide retries: an error of a fetch, with
    /// the pause in the text; of the acknowledgement of an orchestration, with the pause in a field; or of the
    /// acknowledgement of an activity, which is then abandoned.
    fn take_in(&mut self, said: &Said) -> bool {
        let text = &said.text;
        let fetching = number_after(text, "backing off ").filter(|_| text.contains("(retryable, attempt"));
        let acknowledging = said.backoff_ms.filter(|_| text.contains("failed; retrying"));
        let given_back = text.contains("atomic ack failed, abandoning work item");
        let pause = fetching.or(acknowledging);
        if pause.is_none() && !given_back {
            return false;
        }
        *self.retried.entry(code(text)).or_default() += 1;
        if let Some(ms) = pause {
            self.pauses.record(ms.saturating_mul(1_000_000));
        }
        true
    }
}

/// The extended result code in the text of an sqlx error, such as `(code: 517)`.
pub fn code(text: &str) -> i32 {
    let named = number_after(text, "(code: ").and_then(|code| i32::try_from(code).ok());
    named.unwrap_or(if text.contains("locked") { BUSY } else { ERROR })
}

fn number_after(text: &str, words: &str) -> Option<u64> {
    let (_, rest) = text.split_once(words)?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str, backoff_ms: Option<u64>) -> Said {
        Said { text: text.into(), backoff_ms }
    }

    #[test]
    fn errors_are_counted_by_code_with_their_pauses() {
        let mut heard = Heard::default();
        let fetch = "message=Error fetching work item (retryable, attempt 2): ProviderError { message: \"Database locked: \
                     error returned from database: (code: 517) database is locked\" }, backing off 400ms ";
        assert!(heard.take_in(&said(fetch, None)));
        let ack = "message=ack_orchestration_item failed; retrying attempts=1 backoff_ms=20 error=(code: 5) locked";
        assert!(heard.take_in(&said(ack, Some(20))));
        assert!(
            heard.take_in(&said(
                "message=worker: atomic ack failed, abandoning work item error=database is locked",
                None
            ))
        );
        // The failure of the whole orchestration is counted from its status.
        let last = "message=Failed to ack_orchestration_item after max retries attempts=5 error=(code: 5) locked";
        assert!(!heard.take_in(&said(last, None)));
        assert!(!heard.take_in(&said("message=Aborting dispatchers and waiting for task cleanup", None)));
        let mut pauses = Histogram::new();
        [400_000_000, 20_000_000].iter().for_each(|nanos| pauses.record(*nanos));
        assert_eq!(heard, Heard { retried: BTreeMap::from([(517, 1), (5, 2)]), pauses });
    }

    #[test]
    fn counts_of_a_process_are_taken_once() {
        begin();
        let seen = Heard { retried: BTreeMap::from([(5, 2)]), ..Heard::default() };
        *HEARD.lock().expect("no test panics with it") = Some(seen.clone());
        assert_eq!((heard(), heard()), (seen, Heard::default()), "the second database has none of them");
    }

    #[test]
    fn a_code_is_what_the_text_says() {
        assert_eq!(["(code: 261) x", "database is locked", "no"].map(code), [261, 5, 1]);
    }
}
