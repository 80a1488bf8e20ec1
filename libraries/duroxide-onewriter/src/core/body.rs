//! The cache of histories and values.

use std::collections::BTreeMap;

use crate::core::Core;
use crate::core::record::History;
use crate::core::values::Values;

/// History of the current execution, and values of the instance.
#[derive(Debug, Clone)]
pub struct Body {
    /// Execution that the history belongs to.
    pub execution: u64,
    /// Events in the order of their IDs.
    pub history: History,
    /// Values of the instance.
    pub values: Values,
    /// Size of the serialised history in bytes.
    bytes: usize,
    /// Time of the last use, on the clock of `Cache::order`.
    used: u64,
    /// Share of this body in `Cache::bytes`.
    counted: usize,
}

impl Body {
    /// Creates a body from loaded data, or an empty one for a new execution.
    pub fn new(execution: u64, history: History, bytes: usize, values: Values) -> Self {
        Self { execution, history, values, bytes, used: 0, counted: 0 }
    }
}

/// The bodies in memory, in the order of their last use.
#[derive(Debug)]
pub struct Cache {
    /// Capacity in bytes. `None` if the store keeps nothing, so that memory must hold everything.
    most: Option<usize>,
    bytes: usize,
    clock: u64,
    order: BTreeMap<u64, i64>,
}

/// Approximate memory of an empty history: vectors, maps, allocations.
const OVERHEAD: usize = 512;

impl Cache {
    pub fn new(most: Option<usize>) -> Self {
        Self { most, bytes: 0, clock: 0, order: BTreeMap::new() }
    }

    fn remove(&mut self, body: &Body) {
        self.order.remove(&body.used);
        self.bytes = self.bytes.saturating_sub(body.counted);
    }

    fn insert(&mut self, id: i64, body: &mut Body) {
        self.clock += 1;
        body.used = self.clock;
        body.counted = OVERHEAD + body.bytes + body.values.bytes();
        self.bytes += body.counted;
        self.order.insert(body.used, id);
    }
}

impl Core {
    /// Returns the body of the instance if it is in memory, and marks it as used.
    pub fn body(&mut self, id: i64) -> Option<&mut Body> {
        let body = self.instances.get_mut(&id)?.body.as_mut()?;
        if self.cache.most.is_some() {
            self.cache.order.remove(&body.used);
            self.cache.clock += 1;
            body.used = self.cache.clock;
            self.cache.order.insert(body.used, id);
        }
        Some(body)
    }

    /// Puts a body into memory and replaces an existing one.
    pub fn put_body(&mut self, id: i64, mut body: Body) {
        self.drop_body(id);
        let Some(instance) = self.instances.get_mut(&id) else { return };
        self.cache.insert(id, &mut body);
        instance.body = Some(body);
        self.evict();
    }

    /// Puts a loaded body into memory, unless history or values have changed since `epoch`.
    pub fn install(&mut self, id: i64, epoch: u64, body: Body) {
        let Some(instance) = self.instances.get(&id) else { return };
        let is_current = instance.record.as_ref().is_some_and(|record| record.current == body.execution);
        if is_current && instance.epoch == epoch && instance.body.is_none() {
            self.put_body(id, body);
        }
    }

    /// Changes the body if it is in memory. `bytes` is the growth of its serialised history.
    pub fn change_body(&mut self, id: i64, bytes: usize, change: impl FnOnce(&mut Body)) {
        let Some(instance) = self.instances.get_mut(&id) else { return };
        instance.epoch += 1;
        let Some(mut body) = instance.body.take() else { return };
        change(&mut body);
        body.bytes += bytes;
        self.cache.remove(&body);
        self.cache.insert(id, &mut body);
        if let Some(instance) = self.instances.get_mut(&id) {
            instance.body = Some(body);
        }
        self.evict();
    }

    /// Removes a body from memory.
    pub fn drop_body(&mut self, id: i64) -> Option<Body> {
        let body = self.instances.get_mut(&id)?.body.take()?;
        self.cache.remove(&body);
        Some(body)
    }

    /// Removes every body without a lease, unless memory must hold everything.
    pub fn drop_bodies(&mut self) {
        if self.cache.most.is_some() {
            self.evict_to(0);
        }
    }

    /// Counted bytes of histories and values in memory.
    pub fn cached(&self) -> usize {
        self.cache.bytes
    }

    /// Removes the least recently used bodies until the cache is within its capacity.
    pub fn evict(&mut self) {
        if let Some(most) = self.cache.most.filter(|most| self.cache.bytes > *most) {
            self.evict_to(most);
        }
    }

    fn evict_to(&mut self, most: usize) {
        let mut after = 0;
        while self.cache.bytes > most {
            let Some((&used, &id)) = self.cache.order.range(after + 1..).next() else { return };
            after = used;
            // A body under a lease is about to be needed again.
            if self.instances.get(&id).is_some_and(|instance| instance.lease.is_none()) {
                self.drop_body(id);
            }
        }
    }
}
