//! Eviction of ended instances, which are read from the store again on demand.
//!
//! An instance without a lease and without messages, whose latest execution has ended, is needed by no scheduling. The
//! most recently ended ones stay in memory. A call that names an instance pins the name: it stays in memory, or is read
//! into it, until the call ends. So a name that is pinned and not in memory is not in the store either.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::core::Core;
use crate::core::instance::Instance;
use crate::core::moment::Moment;
use crate::core::record::{RUNNING, Record};

/// Ended instances in memory, in the order in which they ended or were last used.
#[derive(Debug)]
pub struct Ended {
    /// Number of instances that stay in memory. `None` if memory is the only copy.
    most: Option<usize>,
    /// Whether the store may contain instances that are not in memory.
    elsewhere: bool,
    clock: u64,
    order: BTreeMap<u64, i64>,
    /// Number of calls that use each name.
    pins: HashMap<Arc<str>, usize>,
    /// Number of evictions of instances with a parent.
    children: u64,
}

impl Ended {
    pub fn new(most: Option<usize>, elsewhere: bool) -> Self {
        Self { most, elsewhere, clock: 0, order: BTreeMap::new(), pins: HashMap::new(), children: 0 }
    }

    /// Whether a call uses the name.
    pub fn is_pinned(&self, name: &str) -> bool {
        self.pins.contains_key(name)
    }

    /// Removes an instance that is in use again.
    pub fn remove(&mut self, instance: &mut Instance) {
        if let Some(place) = instance.ended.take() {
            self.order.remove(&place);
        }
    }
}

impl Core {
    /// Pins a name. Returns whether its instance must be read from the store.
    pub fn pin(&mut self, name: &Arc<str>) -> bool {
        *self.ended.pins.entry(Arc::clone(name)).or_default() += 1;
        self.ended.elsewhere && !self.names.contains_key(name)
    }

    /// Releases a name.
    pub fn unpin(&mut self, name: &Arc<str>, now: Moment) {
        let Some(pins) = self.ended.pins.get_mut(name) else { return };
        *pins -= 1;
        if *pins == 0 {
            self.ended.pins.remove(name);
            // An instance with messages is neither evicted nor removed, and scheduling would look at all of them.
            if let Some(id) = self.find(name).filter(|id| self.get(*id).is_some_and(|i| i.messages.is_empty())) {
                self.schedule(id, now);
            }
        }
    }

    /// Puts an instance from the store into memory, unless another call has done so. The name must be pinned.
    pub fn restore(&mut self, id: i64, name: Arc<str>, record: Record) {
        if self.names.contains_key(&name) {
            return;
        }
        self.names.insert(Arc::clone(&name), id);
        if let Some(parent) = record.parent.clone().filter(|_| record.is_named()) {
            self.children.entry(parent).or_default().insert(id);
        }
        let mut instance = Instance::new(name);
        instance.record = Some(record);
        self.instances.insert(id, instance);
    }

    /// Places the instance behind the others if it has ended and is not in use, and evicts the first ones.
    pub fn settle_ended(&mut self, id: i64) {
        let Some(most) = self.ended.most else { return };
        let Some(instance) = self.instances.get_mut(&id) else { return };
        let is_over = instance.record.as_ref().is_some_and(|record| record.status() != RUNNING);
        if !is_over || !instance.messages.is_empty() || self.ended.is_pinned(&instance.name) {
            return;
        }
        self.ended.clock += 1;
        instance.ended = Some(self.ended.clock);
        self.ended.order.insert(self.ended.clock, id);
        while self.ended.order.len() > most {
            let Some((_, id)) = self.ended.order.pop_first() else { return };
            self.forget(id);
        }
    }

    fn forget(&mut self, id: i64) {
        let Some(instance) = self.instances.get_mut(&id) else { return };
        instance.ended = None;
        if self.ended.is_pinned(&instance.name) {
            return;
        }
        self.ended.elsewhere = true;
        self.drop_body(id);
        let Some(instance) = self.instances.remove(&id) else { return };
        self.names.remove(&instance.name);
        if let Some(parent) = instance.record.and_then(|record| record.parent) {
            self.ended.children += 1;
            self.remove_child(&parent, id);
        }
    }

    /// Removes an instance from the children of its parent.
    pub fn remove_child(&mut self, parent: &Arc<str>, id: i64) {
        if let Some(children) = self.children.get_mut(parent) {
            children.remove(&id);
            if children.is_empty() {
                self.children.remove(parent);
            }
        }
    }

    /// Number of evictions of instances with a parent. While it does not change, children are in memory, or were in the
    /// store before.
    pub fn evicted_children(&self) -> u64 {
        self.ended.children
    }

    /// Number of instances in memory.
    pub fn in_memory(&self) -> usize {
        self.instances.len()
    }
}
