//! Acknowledgements that returned before their commit.

use std::collections::BTreeMap;

/// Scope of a question or of a promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Instance(i64),
    /// All instances, and the queues.
    Everything,
}

/// Open promises by number, each with its scope.
#[derive(Debug, Default)]
pub struct Promises {
    last: u64,
    open: BTreeMap<u64, Scope>,
}

impl Promises {
    /// Opens a promise and returns its number.
    pub fn make(&mut self, of: Scope) -> u64 {
        self.last += 1;
        self.open.insert(self.last, of);
        self.last
    }

    /// Closes a promise after its commit has succeeded or failed.
    pub fn decide(&mut self, number: u64) {
        self.open.remove(&number);
    }

    /// Number of the latest promise.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Whether a promise with a number up to `until` is open in this scope.
    pub fn is_open(&self, of: Scope, until: u64) -> bool {
        let mut open = self.open.range(..=until);
        // A promise about the queues alone does not affect questions about an instance.
        open.any(|(_, scope)| of == Scope::Everything || *scope == of)
    }
}

#[cfg(test)]
mod tests {
    use super::{Promises, Scope};

    #[test]
    fn who_asks_waits_for_what_was_promised_before_and_concerns_the_question() {
        let mut promises = Promises::default();
        let one = promises.make(Scope::Instance(1));
        let queues = promises.make(Scope::Everything);
        let asked = promises.last();
        promises.make(Scope::Instance(2));
        assert!(promises.is_open(Scope::Instance(1), asked) && promises.is_open(Scope::Everything, asked));
        assert!(!promises.is_open(Scope::Instance(2), asked), "it was promised after the question");
        promises.decide(one);
        assert!(!promises.is_open(Scope::Instance(1), asked) && promises.is_open(Scope::Everything, asked));
        promises.decide(queues);
        assert!(!promises.is_open(Scope::Everything, asked));
    }
}
