//! Messages that turns may receive before they are durable.
//!
//! A turn has no effect except its acknowledgement, and that is queued for the commit after the messages of the turn.
//! So if the acknowledgement is durable, the messages it depends on are durable too; and if the commit of a message
//! fails, the acknowledgements that depend on it are rejected ([`Row::MessageDone`](crate::Row::MessageDone)).

use std::sync::Arc;

use duroxide::providers::WorkItem;

use crate::core::Core;
use crate::core::instance::{Message, target};
use crate::core::moment::Moment;
use crate::core::token::Claim;

/// A message queued for a commit.
#[derive(Debug, Clone)]
pub struct Note {
    /// Number of the message.
    pub id: i64,
    /// Content of the message.
    pub item: Arc<WorkItem>,
    /// Time from which the message is visible, in milliseconds since 1970.
    pub visible: i64,
}

impl Core {
    /// Makes a message that is queued for a commit available to turns.
    pub fn show(&mut self, note: Note, now: Moment) {
        self.early.insert(note.id);
        self.enqueue(note.id, Message::new(note.item, note.visible), now);
    }

    /// Makes the completion of an activity available to turns, with those of the other activities of the instance, if
    /// it is the last one outstanding: the orchestration then handles all of them in one turn. While other activities
    /// are outstanding, a completion becomes available after its commit.
    pub fn show_completions(&mut self, claim: Claim, note: Option<Note>, now: Moment) {
        self.work.stand_in_line(claim, note);
        for note in self.work.take_notes(claim.id) {
            self.show(note, now);
        }
    }

    /// Records the outcome of the commit of a message. If the commit failed after a turn has received the message, that
    /// turn cannot be acknowledged.
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
