//! What is looked at more than once.

use std::time::Duration;

/// How often, at most.
const TRIES: u32 = 6;
/// Before the second try; before each further one twice as long as before the one before, for a burst of load to pass: six
/// seconds in all.
const PAUSE: Duration = Duration::from_millis(200);

/// What is wrong.
#[derive(Debug)]
pub enum Wrong {
    /// No load of the machine explains it.
    Surely(String),
    /// A busy machine does the same now and then.
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

/// Looks until nothing is wrong; the closure is told how many tries there were before. A busy machine makes a runner late
/// or slow by itself, but not each time; a runner that is wrong is wrong each time. What no load explains is wrong at once.
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

/// Ends a try with what a busy machine may have done.
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
