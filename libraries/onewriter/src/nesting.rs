//! The databases that this thread must not wait for: it holds their writer, or runs a closure for a caller that does.

use std::cell::RefCell;

thread_local! {
    static HELD: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Databases held by this thread, by the addresses of their counters. Empty without an allocation for most callers.
pub fn here() -> Box<[usize]> {
    HELD.with_borrow(|held| held.as_slice().into())
}

/// Whether this thread holds the database.
pub fn is_held(database: usize) -> bool {
    HELD.with_borrow(|held| held.contains(&database))
}

/// Marks these databases as held until the guard is dropped.
pub fn hold(databases: &[usize]) -> Held {
    HELD.with_borrow_mut(|held| {
        let before = held.len();
        held.extend_from_slice(databases);
        Held { before }
    })
}

/// Guard of [`hold`]; guards are dropped in reverse order.
pub struct Held {
    before: usize,
}

impl Drop for Held {
    fn drop(&mut self) {
        HELD.with_borrow_mut(|held| held.truncate(self.before));
    }
}
