//! Acknowledgements of which the caller was told before the disk has decided.

use std::collections::BTreeMap;

/// Whom a question concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One instance.
    Instance(i64),
    /// All of them, and the queues.
    Everything,
}

/// Those that are open, by number, each with what it changes.
#[derive(Debug, Default)]
pub struct Promises {
    last: u64,
    open: BTreeMap<u64, Scope>,
}

impl Promises {
    /// Another one, of which the caller is told now. Its number.
    pub fn make(&mut self, of: Scope) -> u64 {
        self.last += 1;
        self.open.insert(self.last, of);
        self.last
    }

    /// The disk has decided it, either way.
    pub fn decide(&mut self, number: u64) {
        self.open.remove(&number);
    }

    /// The number of the latest so far.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Whether one of the first `until` that concerns the question is open.
    pub fn is_open(&self, of: Scope, until: u64) -> bool {
        let mut open = self.open.range(..=until);
        // What concerns the queues alone changes nothing that is asked of an instance.
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
