//! Values in the order of their binding, drawn ahead in chunks.

use std::ops::Range;
use std::sync::mpsc::{channel, sync_channel};
use std::thread::Scope;

use litelab_protocol::Statement;
use litelab_protocol::draw::{Drawer, Drawn};
use rusqlite::types::{ToSqlOutput, ValueRef};

/// Largest number of rows of one statement.
const MOST_ROWS: u64 = 2_000;
/// Largest size in bytes of one statement's values, so that they stay in the second-level cache between the threads.
const MOST_BYTES: usize = 512 * 1024;
/// SQLite's default `SQLITE_MAX_VARIABLE_NUMBER` (<https://sqlite.org/limits.html#max_variable_number>).
const MOST_PARAMETERS: usize = 32_766;
/// Number of chunks that are drawn ahead, to bridge the pauses of a checkpoint.
const AHEAD: usize = 2;

/// Source of values.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) statements: &'a [Statement],
    pub(super) drawer: &'a Drawer,
}

impl<'a> Source<'a> {
    /// Draws the values of some rows into `chunk`.
    pub(super) fn draw(self, rows: Range<u64>, mut chunk: Chunk) -> Chunk {
        chunk.values.clear();
        chunk.text.clear();
        for row in rows {
            let now = self.drawer.now();
            for statement in self.statements {
                let tuples = u64::from(statement.repeat) * u64::from(statement.tuples);
                for tuple in row * tuples..(row + 1) * tuples {
                    for &param in &statement.bind {
                        chunk.values.push(self.drawer.draw_into(param as usize, tuple, now, &mut chunk.text));
                    }
                }
            }
        }
        chunk
    }

    /// Number of rows in a chunk, and the largest number of rows in a statement.
    pub(super) fn rows_of_a_chunk(self) -> u64 {
        let one = self.draw(0..1, Chunk::default());
        let bytes = size_of_val(one.values.as_slice()) + one.text.len();
        let of = |most: usize, each: usize| (most / each.max(1)) as u64;
        MOST_ROWS.min(of(MOST_BYTES, bytes)).min(of(MOST_PARAMETERS, one.values.len())).max(1)
    }

    /// Draws the values of all rows in chunks, in a thread. Chunks are reused, so that any number of rows takes the
    /// same memory.
    pub(super) fn produced<'scope>(self, scope: &'scope Scope<'scope, 'a>, rows: u64, chunk: u64) -> Values<'scope> {
        let (full, filled) = sync_channel(AHEAD);
        let (used, empty) = channel::<Chunk>();
        scope.spawn(move || {
            for first in (0..rows).step_by(chunk as usize) {
                let some = first..(first + chunk).min(rows);
                if full.send(self.draw(some, empty.try_recv().unwrap_or_default())).is_err() {
                    return;
                }
            }
        });
        let refill = move |chunk| {
            // The producer has drawn its last chunk, or it has panicked, which makes the scope panic as well.
            let _gone = used.send(chunk);
            filled.recv().unwrap_or_default()
        };
        Values { chunk: Chunk::default(), next: 0, refill: Box::new(refill) }
    }
}

/// Values in the order of their binding.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    values: Vec<Drawn>,
    text: String,
}

/// Values of consecutive chunks.
pub(super) struct Values<'a> {
    chunk: Chunk,
    next: usize,
    /// Takes back a used chunk and returns the next one.
    refill: Box<dyn FnMut(Chunk) -> Chunk + 'a>,
}

impl Values<'_> {
    pub(super) fn of(chunk: Chunk) -> Self {
        Self { chunk, next: 0, refill: Box::new(|_| Chunk::default()) }
    }

    /// Binds one value to each parameter of the statement, and executes it.
    pub(super) fn execute(&mut self, statement: &mut rusqlite::Statement<'_>) -> rusqlite::Result<()> {
        for position in 1..=statement.parameter_count() {
            if self.next == self.chunk.values.len() {
                self.chunk = (self.refill)(std::mem::take(&mut self.chunk));
                self.next = 0;
            }
            let value = match self.chunk.values.get(self.next).copied() {
                None | Some(Drawn::Null | Drawn::Yielded(_)) => ValueRef::Null,
                Some(Drawn::Integer(integer)) => ValueRef::Integer(integer),
                Some(Drawn::Real(real)) => ValueRef::Real(real),
                Some(Drawn::Text { from, to }) => ValueRef::Text(&self.chunk.text.as_bytes()[from..to]),
            };
            statement.raw_bind_parameter(position, ToSqlOutput::Borrowed(value))?;
            self.next += 1;
        }
        // Returned rows are discarded.
        let mut rows = statement.raw_query();
        while rows.next()?.is_some() {}
        Ok(())
    }
}
