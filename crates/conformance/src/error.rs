//! The failure of a check, and the repetition of checks that a busy machine may fail.

use std::fmt::Display;
use std::time::Duration;

/// Why a check failed. The text is one sentence about the runner, or the error of the suite's own access to the database.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// No load of the machine can cause this failure.
    #[error("{0}")]
    Failed(String),
    /// A busy machine causes this failure now and then.
    #[error("{0}")]
    Untimely(String),
    /// The suite could not read or write the database file.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// The suite could not use a server.
    #[cfg(feature = "servers")]
    #[error(transparent)]
    Server(#[from] litelab_servers::ServersError),
    /// The suite could not use a file, process or socket.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A message is not JSON of the expected form.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// Result of a step of a check.
pub type Result<T = (), E = CheckError> = std::result::Result<T, E>;

impl From<String> for CheckError {
    fn from(what: String) -> Self {
        Self::Failed(what)
    }
}

impl From<&str> for CheckError {
    fn from(what: &str) -> Self {
        Self::Failed(what.to_owned())
    }
}

/// Puts the place of a failure before its sentence.
pub trait At<T> {
    fn at(self, place: impl Display) -> Result<T>;
}

impl<T, E: Into<CheckError>> At<T> for Result<T, E> {
    fn at(self, place: impl Display) -> Result<T> {
        self.map_err(|e| match e.into() {
            CheckError::Untimely(what) => CheckError::Untimely(format!("{place}: {what}")),
            other => CheckError::Failed(format!("{place}: {other}")),
        })
    }
}

/// Ends a check with a failure unless the condition holds.
macro_rules! ensure {
    ($ok:expr, $($what:tt)+) => {
        if !$ok {
            return Err($crate::error::CheckError::Failed(format!($($what)+)));
        }
    };
}
pub(crate) use ensure;

/// Ends a try of a check with a failure that a busy machine may cause.
macro_rules! timely {
    ($ok:expr, $($what:tt)+) => {
        if !$ok {
            return Err($crate::error::CheckError::Untimely(format!($($what)+)));
        }
    };
}
pub(crate) use timely;

/// Maximum number of tries.
const TRIES: u32 = 6;
/// Pause before the second try. It doubles for each further try, six seconds in total, so that a burst of load can
/// pass.
const PAUSE: Duration = Duration::from_millis(200);

/// Repeats a check, or a part of it, until it passes. `look` receives the number of earlier tries.
///
/// A busy machine can make a runner late or slow, but not on every try; a defective runner fails on every try. A
/// failure that no load explains ends the check at once.
pub fn tries<T>(mut look: impl FnMut(u32) -> Result<T>) -> Result<T> {
    let mut last = String::new();
    for tried in 0..TRIES {
        if tried > 0 {
            std::thread::sleep(PAUSE * (1 << (tried - 1)));
        }
        match look(tried) {
            Err(CheckError::Untimely(what)) => last = what,
            ended => return ended,
        }
    }
    Err(CheckError::Failed(format!("{last}, in the last of {TRIES} tries")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_each_time_is_wrong_and_what_is_surely_wrong_is_so_at_once() {
        let mut looked = 0;
        let mut look = |until: u32| {
            looked = 0;
            let found = tries(|tried| {
                looked += 1;
                timely!(tried >= until, "late {tried}");
                Ok(tried)
            });
            found.map_err(|e| e.to_string())
        };
        assert_eq!((look(0), look(TRIES - 1)), (Ok(0), Ok(TRIES - 1)));
        assert_eq!(look(TRIES), Err("late 5, in the last of 6 tries".to_owned()));
        assert_eq!(looked, TRIES);
        let mut surely = 0;
        let found: Result<()> = tries(|_| {
            surely += 1;
            Err("lost".into())
        });
        assert_eq!((found.map_err(|e| e.to_string()), surely), (Err("lost".to_owned()), 1));
    }
}
