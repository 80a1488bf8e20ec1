//! Messages that turns may have before the disk has decided on them.
//!
//! A turn has no effect but what it acknowledges, and that comes behind its messages in line. So where the disk has what a turn
//! came to, it has what the turn came of; and where it refuses a message, it refuses what came of it
//! ([`Row::MessageDone`](crate::Row::MessageDone)).

use std::sync::Arc;

use duroxide::providers::WorkItem;

use crate::core::Core;
use crate::core::instance::{Message, target};
use crate::core::moment::Moment;
use crate::core::token::Claim;

/// A message on its way to the disk.
#[derive(Debug, Clone)]
pub struct Note {
    /// Its number.
    pub id: i64,
    /// What it says.
    pub item: Arc<WorkItem>,
    /// Milliseconds since 1970.
    pub visible: i64,
}

impl Core {
    /// Lets turns have it already. It stands in line for the disk.
    pub fn show(&mut self, note: Note, now: Moment) {
        self.early.insert(note.id);
        self.enqueue(note.id, Message::new(note.item, note.visible), now);
    }

    /// The same of what work has come to, when this is the last of its instance's, and of what the others have come to:
    /// whoever waits for all of it has one turn for that. As long as there is other work, it is there for turns when it is on
    /// the disk.
    pub fn show_completions(&mut self, claim: Claim, note: Option<Note>, now: Moment) {
        self.work.stand_in_line(claim, note);
        for note in self.work.take_notes(claim.id) {
            self.show(note, now);
        }
    }

    /// The disk has decided on it. Where it has refused it, and a turn has it already, that cannot be acknowledged.
    pub fn settle_note(&mut self, note: Note, kept: bool, now: Moment) {
        let was_shown = self.early.remove(&note.id);
        match (kept, was_shown) {
            (true, false) => self.enqueue(note.id, Message::new(note.item, note.visible), now),
            (false, true) => {
                let Some(id) = target(&note.item).and_then(|name| self.find(name)) else { return };
                self.remove_messages(id, &[note.id]);
                self.schedule(id, now);
            }
            (true, true) | (false, false) => {}
        }
    }
}
