//! Administrative operations on instances and executions.

use std::collections::HashSet;

use duroxide::providers::{DeleteInstanceResult, ProviderError, PruneOptions, PruneResult, QueueDepths, SystemMetrics};

use crate::change::{Change, Row};
use crate::core::Core;
use crate::core::instance::{Instance, Lease};
use crate::core::moment::Moment;
use crate::core::record::{RUNNING, Record};

/// Instances being deleted.
#[derive(Debug)]
pub struct Deletion {
    instances: Vec<i64>,
    messages: Vec<i64>,
    work: Vec<i64>,
    /// Result to return after the commit.
    pub result: DeleteInstanceResult,
}

/// Executions being deleted.
#[derive(Debug)]
pub struct Pruning {
    instance: i64,
    executions: Vec<u64>,
    /// Result to return after the commit.
    pub result: PruneResult,
}

impl Core {
    /// Returns the number and record of the instance with this name.
    pub fn record(&self, name: &str) -> Option<(i64, &Record)> {
        self.any_record(name).filter(|(_, record)| record.is_named())
    }

    /// Like [`Core::record`], but includes names that have executions and no orchestration yet.
    pub fn any_record(&self, name: &str) -> Option<(i64, &Record)> {
        let id = self.find(name)?;
        Some((id, self.get(id)?.record.as_ref()?))
    }

    /// Returns the instances that this one has started.
    pub fn children(&self, name: &str) -> Vec<String> {
        let children = self.children.get(name).into_iter().flatten();
        children.filter_map(|id| self.get(*id)).map(|child| child.name.to_string()).collect()
    }

    /// Counts instances, executions and events.
    pub fn metrics(&self) -> SystemMetrics {
        let mut metrics = SystemMetrics::default();
        for record in self.instances.values().filter_map(|instance| instance.record.as_ref()) {
            metrics.total_executions += count(record.executions.len());
            metrics.total_events += record.executions.values().map(|e| count(e.events)).sum::<u64>();
            if record.is_named() {
                metrics.total_instances += 1;
                metrics.running_instances += u64::from(record.status() == RUNNING);
                metrics.completed_instances += u64::from(record.status() == "Completed");
                metrics.failed_instances += u64::from(record.status() == "Failed");
            }
        }
        metrics
    }

    /// Numbers of messages and activities without a lease.
    pub fn depths(&self) -> QueueDepths {
        let held = |instance: &Instance| instance.lease.as_ref().map_or(0, |l| l.messages.len());
        let messages = self.instances.values().map(|i| i.messages.len().saturating_sub(held(i))).sum();
        QueueDepths { orchestrator_queue: messages, worker_queue: self.work.unleased(), timer_queue: 0 }
    }

    /// First phase of a deletion. Returns `None` while a change of one of the instances is being committed. The names
    /// must be pinned; `stored` are parents in `names` and their children in the store.
    ///
    /// # Errors
    /// If an instance is running and `force` is false, or has a child that is not in `names`.
    pub fn begin_delete(
        &mut self,
        names: &[String],
        force: bool,
        stored: &[(String, String)],
        now: Moment,
    ) -> Result<Option<(Change, Deletion)>, ProviderError> {
        let wrong = |what: String| ProviderError::permanent("delete_instances_atomic", what);
        let all: HashSet<&str> = names.iter().map(String::as_str).collect();
        let mut deletion =
            Deletion { instances: vec![], messages: vec![], work: vec![], result: DeleteInstanceResult::default() };
        for name in &all {
            let stored = stored.iter().filter(|(parent, _)| parent == name).map(|(_, child)| child.clone());
            let children = self.children(name).into_iter().chain(stored);
            if let Some(child) = children.into_iter().find(|child| !all.contains(child.as_str())) {
                return Err(wrong(format!("instance {name} has a child {child} that is not to be deleted")));
            }
            let Some(id) = self.find(name) else { continue };
            let Some(instance) = self.get(id) else { continue };
            if !force && instance.record.as_ref().is_some_and(|r| r.is_named() && r.status() == RUNNING) {
                return Err(wrong(format!("instance {name} is still running: cancel it, or delete it by force")));
            }
            let work = self.work.of_instance(&instance.name);
            let is_committing =
                |id: &i64| self.work.get(*id).is_some_and(|w| w.lease.as_ref().is_some_and(|l| l.committing));
            if instance.lease.as_ref().is_some_and(|lease| lease.committing) || work.iter().any(is_committing) {
                return Ok(None);
            }
            deletion.instances.push(id);
            deletion.messages.extend(instance.messages.keys());
            deletion.work.extend(work);
            for execution in instance.record.iter().flat_map(|record| record.executions.values()) {
                deletion.result.executions_deleted += 1;
                deletion.result.events_deleted += count(execution.events);
            }
            deletion.result.instances_deleted += 1;
        }
        deletion.result.queue_messages_deleted = count(deletion.messages.len() + deletion.work.len());
        let mut change = Change::new(!self.alone);
        for id in &deletion.messages {
            change.row(|| Row::MessageGone { id: *id });
        }
        for id in &deletion.work {
            change.row(|| Row::WorkDone { id: *id });
        }
        for id in &deletion.instances {
            change.row(|| Row::InstanceGone { id: *id });
        }
        for id in deletion.instances.clone() {
            // The new lease invalidates the token of the current holder.
            let lease = self.tokens.claim(id).lease;
            let lease = Lease { lease, until: now.mono, messages: Vec::new(), committing: true };
            self.change_lease(id, now, |held| *held = Some(lease));
        }
        for id in &deletion.work {
            self.seize_work(*id, now);
        }
        Ok(Some((change, deletion)))
    }

    /// Second phase of a deletion, after the commit.
    pub fn finish_delete(&mut self, deletion: &Deletion, now: Moment) {
        for id in &deletion.work {
            self.work.remove(*id);
        }
        for id in &deletion.instances {
            self.drop_body(*id);
            self.remove_messages(*id, &deletion.messages);
            let Some(instance) = self.instances.get_mut(id) else { continue };
            let parent = instance.record.take().and_then(|record| record.parent);
            // Data read during the deletion is stale. Messages that arrived for the name during the deletion stay and
            // wait for a start.
            instance.epoch += 1;
            if let Some(parent) = parent {
                self.remove_child(&parent, *id);
            }
        }
        for id in &deletion.instances {
            self.change_lease(*id, now, |lease| *lease = None);
        }
        self.settle();
    }

    /// Second phase of a deletion, after a failed commit.
    pub fn refuse_delete(&mut self, deletion: &Deletion, now: Moment) {
        for id in &deletion.work {
            self.unseize_work(*id, now);
        }
        for id in &deletion.instances {
            self.change_lease(*id, now, |lease| *lease = None);
        }
        self.settle();
    }

    /// First phase of a pruning.
    ///
    /// # Errors
    /// If the instance does not exist.
    pub fn begin_prune(&self, name: &str, options: &PruneOptions) -> Result<(Change, Pruning), ProviderError> {
        let (instance, record) = self
            .record(name)
            .ok_or_else(|| ProviderError::permanent("prune_executions", format!("instance {name} not found")))?;
        let keep = usize::try_from(options.keep_last.unwrap_or(0)).unwrap_or(usize::MAX);
        let mut change = Change::new(!self.alone);
        let mut result = PruneResult { instances_processed: 1, ..PruneResult::default() };
        let mut executions = Vec::new();
        for (execution, heading) in record.executions.iter().rev().skip(keep) {
            let before = options.completed_before.is_none_or(|before| {
                heading.completed.and_then(|at| u64::try_from(at).ok()).is_some_and(|at| at < before)
            });
            if *execution != record.current && heading.status != RUNNING && before {
                change.row(|| Row::ExecutionGone { instance, execution: *execution });
                result.executions_deleted += 1;
                result.events_deleted += count(heading.events);
                executions.push(*execution);
            }
        }
        Ok((change, Pruning { instance, executions, result }))
    }

    /// Second phase of a pruning, after the commit.
    pub fn finish_prune(&mut self, pruning: &Pruning) {
        let record = self.instances.get_mut(&pruning.instance).and_then(|instance| instance.record.as_mut());
        if let Some(record) = record {
            record.executions.retain(|execution, _| !pruning.executions.contains(execution));
        }
    }
}

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
