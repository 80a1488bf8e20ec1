//! What duroxide says of locks and of its own pauses, heard as `tracing` events: nothing else tells of errors that it met
//! and tried again.

use std::collections::BTreeMap;
use std::fmt::{Debug, Write};
use std::sync::{Mutex, OnceLock, PoisonError};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry;

/// SQLite's own number for a lock that is held, where the text names none.
const BUSY: i32 = 5;
/// An error of which the text says no more.
const ERROR: i32 = 1;

/// What was heard since the last [`begin`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Errors after which duroxide tried again, by extended result code.
    pub retried: BTreeMap<i32, u64>,
    /// Pauses before it did.
    pub pauses: u64,
    /// Milliseconds of those.
    pub paused_ms: u64,
}

static HEARD: Mutex<Option<Heard>> = Mutex::new(None);

/// Listens from now on. The process has one subscriber: duroxide would install one of its own, which prints to standard
/// output, where the protocol's lines are.
pub fn listen() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        // It fails where there is one already, and then that one prints.
        let _set = tracing::subscriber::set_global_default(registry().with(Ear));
    });
}

/// Counts from zero.
pub fn begin() {
    *HEARD.lock().unwrap_or_else(PoisonError::into_inner) = Some(Heard::default());
}

/// What was heard since then.
pub fn heard() -> Heard {
    HEARD.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default()
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
            // Evidence of what went wrong, if something did.
            eprintln!("{} {}", event.metadata().level(), said.text);
        }
    }
}

/// The message and fields of an event.
#[derive(Default)]
struct Said {
    text: String,
    /// Field `backoff_ms`.
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
        // Writing to a String does not fail.
        let _written = write!(self.text, "{}={value:?} ", field.name());
    }
}

impl Heard {
    /// Whether it was an error after which duroxide tries again: one of fetching, with its pause in the text; of
    /// acknowledging an orchestration, with its pause in a field; of acknowledging an activity, which is given back.
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
        self.pauses += u64::from(pause.is_some());
        self.paused_ms += pause.unwrap_or_default();
        true
    }
}

/// The extended result code that an error of sqlx names, `(code: 517)`.
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
        // That the whole orchestration failed is heard from its status.
        let last = "message=Failed to ack_orchestration_item after max retries attempts=5 error=(code: 5) locked";
        assert!(!heard.take_in(&said(last, None)));
        assert!(!heard.take_in(&said("message=Aborting dispatchers and waiting for task cleanup", None)));
        assert_eq!(heard, Heard { retried: BTreeMap::from([(517, 1), (5, 2)]), pauses: 2, paused_ms: 420 });
    }

    #[test]
    fn a_code_is_what_the_text_says() {
        assert_eq!(["(code: 261) x", "database is locked", "no"].map(code), [261, 5, 1]);
    }
}
