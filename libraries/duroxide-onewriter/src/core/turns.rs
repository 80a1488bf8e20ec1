//! The order in which instances get turns.

use std::cmp::min;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use duroxide::providers::WorkItem;

use crate::core::Core;
use crate::core::instance::{Instance, Lease, Message, Replays, Retry, target};
use crate::core::moment::Moment;
use crate::core::token::Claim;

/// Schedule of instances.
#[derive(Debug, Default)]
pub struct Turns {
    /// Oldest visible message and number of each instance without a lease.
    ready: BTreeSet<(i64, i64)>,
    visible_due: BTreeSet<(i64, i64)>,
    lease_due: BTreeSet<(Instant, i64)>,
}

/// A turn given to a dispatcher.
#[derive(Debug)]
pub struct Turn {
    pub claim: Claim,
    /// Messages in the order of enqueueing.
    pub messages: Vec<Arc<WorkItem>>,
    /// Highest fetch count among the messages.
    pub attempts: u32,
    /// Messages whose fetch count must be durable before the dispatcher receives them.
    pub record: Vec<Retry>,
}

/// Result of a fetch by a dispatcher.
#[derive(Debug)]
pub enum Found {
    Turn(Turn),
    /// Messages that must be dropped, as duroxide requires, and the lease under which that happens.
    Orphans(Claim, Vec<i64>),
    /// No turn is available.
    Nothing,
}

impl Core {
    /// Returns the number of the instance with this name. Creates the instance if needed.
    pub fn instance(&mut self, name: &str) -> i64 {
        if let Some(id) = self.names.get(name) {
            return *id;
        }
        let name: Arc<str> = Arc::from(name);
        self.last_instance += 1;
        self.names.insert(Arc::clone(&name), self.last_instance);
        self.instances.insert(self.last_instance, Instance::new(name));
        self.last_instance
    }

    /// Appends a message to the queue of its instance.
    pub fn enqueue(&mut self, id: i64, message: Message, now: Moment) {
        let Some(target) = target(&message.item) else { return };
        let instance_id = self.names.get(target).copied();
        let instance_id = instance_id.unwrap_or_else(|| self.instance(target));
        let Some(instance) = self.instances.get_mut(&instance_id) else { return };
        let visible = message.visible;
        instance.messages.insert(id, message);
        let is_held = instance.lease.as_ref().is_some_and(|lease| lease.committing || lease.until > now.mono);
        // With many messages for one instance, each is examined once instead of all of them for every new one.
        if is_held || (visible <= now.wall && instance.ready.is_some_and(|ready| ready < id)) {
            return;
        }
        self.schedule(instance_id, now);
    }

    /// Recomputes when the instance is due.
    pub fn schedule(&mut self, id: i64, now: Moment) {
        let Some(instance) = self.instances.get_mut(&id) else { return };
        self.ended.remove(instance);
        let was_ready = instance.ready.take();
        if let Some(message) = was_ready {
            self.turns.ready.remove(&(message, id));
        }
        if let Some(due) = instance.due.take() {
            self.turns.visible_due.remove(&(due, id));
        }
        if let Some(lease) = &instance.lease {
            self.turns.lease_due.remove(&(lease.until, id));
            if lease.committing {
                return;
            }
            if lease.until > now.mono {
                self.turns.lease_due.insert((lease.until, id));
                return;
            }
        }
        let is_pinned = self.ended.is_pinned(&instance.name);
        if instance.messages.is_empty() && instance.record.is_none() && instance.lease.is_none() && !is_pinned {
            let name = Arc::clone(&instance.name);
            self.names.remove(&name);
            self.instances.remove(&id);
            return;
        }
        for (message, Message { visible, .. }) in &instance.messages {
            if *visible <= now.wall {
                instance.ready = instance.ready.or(Some(*message));
            } else {
                instance.due = Some(instance.due.map_or(*visible, |due| min(due, *visible)));
            }
        }
        if let Some(due) = instance.due {
            self.turns.visible_due.insert((due, id));
        }
        if let Some(message) = instance.ready {
            self.turns.ready.insert((message, id));
            if was_ready.is_none() {
                self.wake_for(id);
            }
        }
        self.settle_ended(id);
    }

    /// Wakes a dispatcher that can take the instance.
    fn wake_for(&mut self, id: i64) {
        let Some(instance) = self.instances.get(&id) else { return };
        let woken = self.turn_waiters.wake(|replays| replays.takes(instance));
        self.woken.extend(woken);
    }

    /// Wakes another dispatcher after a woken one has stopped waiting.
    pub fn wake_another_for_turns(&mut self) {
        let ready: Vec<i64> = self.turns.ready.iter().map(|(_, id)| *id).collect();
        for id in ready {
            self.wake_for(id);
        }
    }

    /// Schedules the instances that are due on either clock.
    pub fn turns_due(&mut self, now: Moment) {
        while let Some(&(visible, id)) = self.turns.visible_due.first().filter(|(visible, _)| *visible <= now.wall) {
            self.turns.visible_due.remove(&(visible, id));
            self.schedule(id, now);
        }
        while let Some(&(until, id)) = self.turns.lease_due.first().filter(|(until, _)| *until <= now.mono) {
            self.turns.lease_due.remove(&(until, id));
            self.schedule(id, now);
        }
    }

    /// Time at which the next instance is due.
    pub fn next_turn_due(&self, now: Moment) -> Option<Instant> {
        let visible = self.turns.visible_due.first().map(|(visible, _)| now.of_wall(*visible));
        let lease = self.turns.lease_due.first().map(|(until, _)| *until);
        visible.into_iter().chain(lease).min()
    }

    /// Leases the first ready instance to a dispatcher, with all its visible messages.
    pub fn take_turn(&mut self, replays: &Replays, now: Moment, until: Instant) -> Found {
        self.turns_due(now);
        let mut after = (i64::MIN, i64::MIN);
        loop {
            let next = self
                .turns
                .ready
                .range(after..)
                .find(|(_, id)| self.instances.get(id).is_some_and(|instance| replays.takes(instance)));
            let Some(&(message, id)) = next else { return Found::Nothing };
            match self.take(id, now, until) {
                Some(found) => return found,
                // Messages for a name without an instance get no turn until another message arrives.
                None => self.park(id),
            }
            after = (message, id);
        }
    }

    fn park(&mut self, id: i64) {
        let Some(instance) = self.instances.get_mut(&id) else { return };
        if let Some(message) = instance.ready.take() {
            self.turns.ready.remove(&(message, id));
        }
    }

    fn take(&mut self, id: i64, now: Moment, until: Instant) -> Option<Found> {
        let claim = self.tokens.claim(id);
        let instance = self.instances.get_mut(&id)?;
        let is_known = instance.record.is_some();
        let visible = || instance.messages.values().filter(|message| message.visible <= now.wall);
        if visible().next().is_none() {
            // The wall clock was set back.
            self.schedule(id, now);
            return None;
        }
        let starts = |message: &Message| {
            matches!(*message.item, WorkItem::StartOrchestration { .. } | WorkItem::ContinueAsNew { .. })
        };
        let is_orphan = !is_known && !visible().any(starts);
        // A start is hidden for a while after a dispatcher that did not know its orchestration.
        let will_start = instance.messages.values().any(starts);
        if is_orphan && (will_start || !visible().all(|message| matches!(*message.item, WorkItem::QueueMessage { .. })))
        {
            return None;
        }
        if let Some(lease) = &instance.lease {
            self.turns.lease_due.remove(&(lease.until, id));
        }
        let mut turn = Turn { claim, messages: Vec::new(), attempts: 0, record: Vec::new() };
        let mut taken = Vec::new();
        for (number, message) in instance.messages.iter_mut().filter(|(_, message)| message.visible <= now.wall) {
            taken.push(*number);
            if is_orphan {
                continue;
            }
            message.attempts += 1;
            turn.attempts = turn.attempts.max(message.attempts);
            turn.messages.push(Arc::clone(&message.item));
            if (message.attempts > 1 || message.recovered) && message.attempts != message.recorded {
                turn.record.push(Retry { id: *number, visible: message.visible, attempts: message.attempts });
            }
        }
        instance.lease = Some(Lease { lease: claim.lease, until, messages: taken.clone(), committing: is_orphan });
        self.schedule(id, now);
        Some(if is_orphan { Found::Orphans(claim, taken) } else { Found::Turn(turn) })
    }

    /// Starts the time of a lease again when its holder receives the turn: what the disk took is not part of it.
    pub fn begin_turn(&mut self, claim: Claim, now: Moment, time: Duration) {
        self.change_lease(claim.id, now, |lease| {
            if let Some(lease) = lease.as_mut().filter(|lease| lease.lease == claim.lease) {
                (lease.committing, lease.until) = (false, now.lease(time));
            }
        });
    }

    /// Records that the fetch counts are stored.
    pub fn turn_recorded(&mut self, claim: Claim, record: &[Retry]) {
        let Some(instance) = self.instances.get_mut(&claim.id) else { return };
        for Retry { id, attempts, .. } in record {
            if let Some(message) = instance.messages.get_mut(id) {
                message.recorded = *attempts;
            }
        }
    }

    /// Ends a lease and makes the instance available again.
    pub fn release_turn(&mut self, claim: Claim, now: Moment) {
        let Some(instance) = self.instances.get_mut(&claim.id) else { return };
        if instance.lease(claim).is_some() {
            self.change_lease(claim.id, now, |lease| *lease = None);
        }
    }

    /// Ends the lease of a fetch that its caller has not received: it was no attempt.
    pub fn give_back_turn(&mut self, claim: Claim, now: Moment) {
        let Some(instance) = self.instances.get_mut(&claim.id) else { return };
        let Some(taken) = instance.lease(claim).map(|lease| lease.messages.clone()) else { return };
        for id in taken {
            if let Some(message) = instance.messages.get_mut(&id) {
                message.attempts = message.attempts.saturating_sub(1);
            }
        }
        self.release_turn(claim, now);
    }

    /// Changes the lease and reschedules the instance.
    pub fn change_lease(&mut self, id: i64, now: Moment, change: impl FnOnce(&mut Option<Lease>)) {
        let Some(instance) = self.instances.get_mut(&id) else { return };
        if let Some(before) = &instance.lease {
            self.turns.lease_due.remove(&(before.until, id));
        }
        change(&mut instance.lease);
        self.schedule(id, now);
    }

    /// Removes processed messages.
    pub fn remove_messages(&mut self, id: i64, messages: &[i64]) {
        let Some(instance) = self.instances.get_mut(&id) else { return };
        for message in messages {
            instance.messages.remove(message);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use duroxide::providers::WorkItem;

    use super::{Found, Turn};
    use crate::core::Core;
    use crate::core::instance::{Message, Replays};
    use crate::core::moment::Moment;
    use crate::core::recovered::Recovered;

    const LEASE: Duration = Duration::from_secs(5);

    fn core(now: Moment) -> Core {
        Core::new(Recovered::default(), None, 0, now)
    }

    fn start(core: &mut Core, instance: &str, visible: i64, now: Moment) {
        let item = WorkItem::StartOrchestration {
            instance: instance.into(),
            orchestration: "Orchestration".into(),
            input: String::new(),
            version: None,
            parent_instance: None,
            parent_id: None,
            parent_execution_id: None,
            execution_id: 1,
        };
        let id = core.next_message();
        core.enqueue(id, Message::new(Arc::new(item), visible), now);
    }

    fn take(core: &mut Core, now: Moment) -> Option<Turn> {
        match core.take_turn(&Replays::All, now, now.lease(LEASE)) {
            Found::Turn(turn) => Some(turn),
            Found::Orphans(..) => panic!("there are none"),
            Found::Nothing => None,
        }
    }

    fn later(now: Moment, time: Duration, wall: i64) -> Moment {
        Moment { wall: now.wall + wall, mono: now.mono + time }
    }

    #[test]
    fn the_oldest_message_decides_whose_turn_it_is() {
        let now = Moment::now();
        let mut core = core(now);
        for instance in ["one", "two", "one"] {
            start(&mut core, instance, now.wall, now);
        }
        let (first, second) = (take(&mut core, now).unwrap(), take(&mut core, now).unwrap());
        assert_eq!((first.messages.len(), second.messages.len()), (2, 1));
        assert!(take(&mut core, now).is_none());
    }

    #[test]
    fn a_lease_ends_by_the_clock_that_nobody_sets() {
        let now = Moment::now();
        let mut core = core(now);
        start(&mut core, "one", now.wall, now);
        assert_eq!(take(&mut core, now).unwrap().attempts, 1);
        let set_forward = later(now, Duration::from_secs(1), 86_400_000);
        assert!(take(&mut core, set_forward).is_none());
        let set_back = later(now, LEASE, -1);
        assert!(take(&mut core, set_back).is_none(), "it is free, and its message is not visible yet");
        assert_eq!(take(&mut core, later(now, LEASE, 0)).unwrap().attempts, 2);
    }

    #[test]
    fn a_lease_begins_when_the_disk_is_done() {
        let now = Moment::now();
        let mut core = core(now);
        start(&mut core, "one", now.wall, now);
        let turn = take(&mut core, now).unwrap();
        core.mark_turn(turn.claim, true, now);
        let slow = later(now, 3 * LEASE, 0);
        assert!(take(&mut core, slow).is_none(), "nobody else may have it");
        core.begin_turn(turn.claim, slow, LEASE);
        assert!(take(&mut core, later(now, 4 * LEASE - Duration::from_nanos(1), 0)).is_none());
        assert_eq!(take(&mut core, later(now, 4 * LEASE, 0)).unwrap().attempts, 2);
    }

    #[test]
    fn a_clock_that_is_set_back_loses_nothing() {
        let now = Moment::now();
        let mut core = core(now);
        start(&mut core, "one", now.wall, now);
        assert!(take(&mut core, later(now, Duration::ZERO, -1_000)).is_none());
        assert!(take(&mut core, later(now, Duration::from_secs(1), 0)).is_some());
    }

    #[test]
    fn what_comes_while_somebody_has_the_instance_is_the_next_turn() {
        let now = Moment::now();
        let mut core = core(now);
        start(&mut core, "one", now.wall, now);
        let turn = take(&mut core, now).unwrap();
        start(&mut core, "one", now.wall, now);
        assert!(take(&mut core, now).is_none());
        core.remove_messages(turn.claim.id, &[1]);
        core.release_turn(turn.claim, now);
        let next = take(&mut core, now).unwrap();
        assert_eq!((next.messages.len(), next.attempts), (1, 1));
    }
}
