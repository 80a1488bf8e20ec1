//! Checks that are repeated, because a busy machine may cause the failure.

use std::time::Duration;

/// Maximum number of tries.
const TRIES: u32 = 6;
/// Pause before the second try. It doubles for each further try, six seconds in total, so that a burst of load can
/// pass.
const PAUSE: Duration = Duration::from_millis(200);

/// A failure of one try.
#[derive(Debug)]
pub enum Wrong {
    /// No load of the machine can cause this failure.
    Surely(String),
    /// A busy machine causes this failure now and then.
    Perhaps(String),
}

impl From<String> for Wrong {
    fn from(what: String) -> Self {
        Self::Surely(what)
    }
}

impl From<&str> for Wrong {
    fn from(what: &str) -> Self {
        Self::Surely(what.to_owned())
    }
}

/// Repeats a check until it passes. `look` receives the number of earlier tries.
///
/// A busy machine can make a runner late or slow, but not on every try; a defective runner fails on every try. A
/// failure that no load explains ends the check at once.
pub fn tries<T>(mut look: impl FnMut(u32) -> Result<T, Wrong>) -> Result<T, String> {
    let mut last = String::new();
    for tried in 0..TRIES {
        if tried > 0 {
            std::thread::sleep(PAUSE * (1 << (tried - 1)));
        }
        match look(tried) {
            Ok(seen) => return Ok(seen),
            Err(Wrong::Surely(what)) => return Err(what),
            Err(Wrong::Perhaps(what)) => last = what,
        }
    }
    Err(format!("{last}, in the last of {TRIES} tries"))
}

/// Ends a try with a failure that a busy machine may cause.
macro_rules! timely {
    ($ok:expr, $($what:tt)+) => {
        if !$ok {
            return Err($crate::check::Wrong::Perhaps(format!($($what)+)));
        }
    };
}
pub(crate) use timely;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_each_time_is_wrong_and_what_is_surely_wrong_is_so_at_once() {
        let mut looked = 0;
        let mut look = |until: u32| {
            looked = 0;
            tries(|tried| {
                looked += 1;
                if tried < until { Err(Wrong::Perhaps(format!("late {tried}"))) } else { Ok(tried) }
            })
        };
        assert_eq!((look(0), look(TRIES - 1)), (Ok(0), Ok(TRIES - 1)));
        assert_eq!(look(TRIES), Err("late 5, in the last of 6 tries".to_owned()));
        assert_eq!(looked, TRIES);
        let mut surely = 0;
        let found: Result<(), String> = tries(|_| {
            surely += 1;
            Err("lost".into())
        });
        assert_eq!((found, surely), (Err("lost".to_owned()), 1));
    }
}
