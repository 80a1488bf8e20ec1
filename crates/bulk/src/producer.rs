//! Draws and hashes rows ahead of the inserting thread.
//!
//! A few buffers go round: full ones to the inserter, empty ones back. They are made once, so a generation of any
//! size takes the same memory, and neither side runs far ahead of the other.

use crate::row::{self, Row};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

/// Rows in a buffer, and so at most in one INSERT: 160 KiB stay in the second-level cache while both threads use
/// them, and 3 parameters a row stay below SQLite's 32,766 (<https://sqlite.org/limits.html#max_variable_number>).
pub(crate) const BUFFER_ROWS: u64 = 2048;

/// Buffers in the round: one being filled, one being inserted, two to even out the pauses of a checkpoint.
const BUFFERS: usize = 4;

/// How rows are cut into batches, buffers and statements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    rows: u64,
    /// Rows of a batch, the unit that is committed.
    pub(crate) batch: u64,
    /// Rows of a statement: a whole batch, or an even part of one that fits no buffer.
    pub(crate) statement: u64,
}

impl Layout {
    pub(crate) fn new(rows: u64, batch: u64) -> Self {
        let batch = batch.min(rows);
        let statement = batch.div_ceil(batch.div_ceil(BUFFER_ROWS));
        Self { rows, batch, statement }
    }

    /// Whether one statement is one batch, so that it can commit itself.
    pub(crate) fn statement_is_batch(&self) -> bool {
        self.statement == self.batch
    }

    /// Rows of the buffer that begins at row `start`: whole batches, or a part of one.
    fn buffer(&self, start: u64) -> u64 {
        let wanted = if self.statement_is_batch() {
            BUFFER_ROWS / self.batch * self.batch
        } else {
            self.statement.min(self.batch - start % self.batch)
        };
        wanted.min(self.rows - start)
    }
}

/// The inserter's end of the round.
pub(crate) struct Buffers {
    full: Receiver<Vec<Row>>,
    empty: Sender<Vec<Row>>,
}

/// The producer's end.
pub(crate) struct Producer {
    layout: Layout,
    seed: u64,
    full: SyncSender<Vec<Row>>,
    empty: Receiver<Vec<Row>>,
}

/// Makes the buffers and both ends.
pub(crate) fn ends(layout: Layout, seed: u64) -> (Producer, Buffers) {
    let (full_in, full_out) = sync_channel(BUFFERS);
    let (empty_in, empty_out) = channel();
    for _ in 0..BUFFERS {
        // Cannot fail: the receiver is in this scope.
        let _ = empty_in.send(Vec::with_capacity(BUFFER_ROWS as usize));
    }
    (Producer { layout, seed, full: full_in, empty: empty_out }, Buffers { full: full_out, empty: empty_in })
}

impl Producer {
    /// Fills buffers until all rows are made or the inserter is gone.
    pub(crate) fn run(self) {
        let stream = row::stream(self.seed);
        let mut start = 0;
        while start < self.layout.rows {
            let Ok(mut buffer) = self.empty.recv() else { return };
            let end = start + self.layout.buffer(start);
            buffer.clear();
            buffer.extend((start..end).map(|index| Row::draw(&stream, index)));
            if self.full.send(buffer).is_err() {
                return;
            }
            start = end;
        }
    }
}

impl Buffers {
    /// The next full buffer; `None` after the last.
    pub(crate) fn next(&self) -> Option<Vec<Row>> {
        self.full.recv().ok()
    }

    /// Gives a buffer back.
    pub(crate) fn recycle(&self, buffer: Vec<Row>) {
        // A producer that has made its last row takes no more.
        let _ = self.empty.send(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffers(rows: u64, batch: u64) -> Vec<u64> {
        let layout = Layout::new(rows, batch);
        let mut lengths = Vec::new();
        let mut start = 0;
        while start < rows {
            lengths.push(layout.buffer(start));
            start += layout.buffer(start);
        }
        assert_eq!(start, rows);
        lengths
    }

    #[test]
    fn small_batches_share_a_buffer_whole() {
        assert_eq!(buffers(5000, 1000), [2000, 2000, 1000]);
        assert_eq!(buffers(4100, 1), [2048, 2048, 4]);
        assert_eq!(buffers(2500, 1500), [1500, 1000]);
        assert_eq!(buffers(10, 2048), [10]);
    }

    #[test]
    fn a_large_batch_is_cut_evenly_and_no_buffer_spans_two() {
        assert_eq!(buffers(10_000, 5000), [1667, 1667, 1666, 1667, 1667, 1666]);
        assert_eq!(buffers(6000, 5000), [1667, 1667, 1666, 1000]);
        assert_eq!(buffers(3000, 1_000_000), [1500, 1500]);
    }

    #[test]
    fn the_round_gives_every_row_in_order() {
        let (producer, buffers) = ends(Layout::new(20_000, 300), 5);
        let stream = row::stream(5);
        let mut seen = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| producer.run());
            while let Some(buffer) = buffers.next() {
                for row in &buffer {
                    assert_eq!(*row, Row::draw(&stream, seen));
                    seen += 1;
                }
                buffers.recycle(buffer);
            }
        });
        assert_eq!(seen, 20_000);
    }

    #[test]
    fn the_producer_ends_when_the_inserter_is_gone() {
        let (producer, buffers) = ends(Layout::new(u64::MAX, 1000), 1);
        let thread = std::thread::spawn(|| producer.run());
        drop(buffers);
        thread.join().expect("ends by itself");
    }
}
