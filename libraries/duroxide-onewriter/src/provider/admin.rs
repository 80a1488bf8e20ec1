//! Administrative operations of the provider.

use async_trait::async_trait;
use duroxide::Event;
use duroxide::providers::{
    DeleteInstanceResult, ExecutionInfo, InstanceFilter, InstanceInfo, ProviderAdmin, ProviderError, PruneOptions,
    PruneResult, QueueDepths, SystemMetrics,
};

use crate::core::Core;
use crate::core::listing::Selection;
use crate::core::record::Record;
use crate::provider::OneWriter;
use crate::provider::shared::told;

impl OneWriter {
    /// Returns the output of an execution: from memory if the store keeps nothing, otherwise from the store.
    async fn output(
        &self,
        operation: &str,
        id: i64,
        execution: u64,
        kept: Option<String>,
    ) -> Result<Option<String>, ProviderError> {
        if !self.shared.store.keeps() {
            return Ok(kept);
        }
        self.shared.store.output(id, execution).await.map_err(|error| told(operation, error))
    }

    /// Lists instances: from memory if the store keeps nothing, otherwise from the store.
    async fn list(&self, operation: &str, selection: Selection) -> Result<Vec<String>, ProviderError> {
        self.catch_up(operation).await?;
        if !self.shared.store.keeps() {
            return Ok(self.shared.with(|core, _| core.list(&selection)));
        }
        self.shared.store.list(selection).await.map_err(|error| told(operation, error))
    }

    fn record<T>(
        &self,
        operation: &str,
        instance: &str,
        of: impl FnOnce(i64, &Record) -> T,
    ) -> Result<T, ProviderError> {
        self.shared.with(|core, _| {
            let found = core.record(instance).map(|(id, record)| of(id, record));
            found.ok_or_else(|| ProviderError::permanent(operation, format!("instance {instance} not found")))
        })
    }
}

#[async_trait]
impl ProviderAdmin for OneWriter {
    async fn list_instances(&self) -> Result<Vec<String>, ProviderError> {
        self.list("list_instances", Selection::of(|_| true)).await
    }

    async fn list_instances_by_status(&self, status: &str) -> Result<Vec<String>, ProviderError> {
        let status = status.to_owned();
        self.list("list_instances_by_status", Selection::of(move |summary| summary.status == status)).await
    }

    async fn list_executions(&self, instance: &str) -> Result<Vec<u64>, ProviderError> {
        let _pins = self.instance("list_executions", instance).await?;
        Ok(self.shared.with(|core, _| {
            core.any_record(instance).map_or_else(Vec::new, |(_, record)| record.executions.keys().copied().collect())
        }))
    }

    async fn read_history_with_execution_id(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        self.history("read_history_with_execution_id", instance, Some(execution_id)).await
    }

    async fn read_history(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
        self.history("read_history", instance, None).await
    }

    async fn latest_execution_id(&self, instance: &str) -> Result<u64, ProviderError> {
        let _pins = self.instance("latest_execution_id", instance).await?;
        Ok(self.shared.with(|core, _| core.any_record(instance).map_or(1, |(_, record)| record.last_execution())))
    }

    async fn get_instance_info(&self, instance: &str) -> Result<InstanceInfo, ProviderError> {
        const INFO: &str = "get_instance_info";
        let _pins = self.instance(INFO, instance).await?;
        let (id, kept, mut info) = self.record(INFO, instance, |id, record| {
            let latest = record.latest();
            let updated = latest.map_or(record.created, |latest| latest.completed.unwrap_or(latest.started));
            let info = InstanceInfo {
                instance_id: instance.to_owned(),
                orchestration_name: record.orchestration.clone().unwrap_or_default(),
                orchestration_version: record.version.clone().unwrap_or_else(|| "unknown".into()),
                current_execution_id: record.current,
                status: record.status().to_owned(),
                output: None,
                created_at: time(record.created),
                updated_at: time(updated),
                parent_instance_id: record.parent.as_deref().map(str::to_owned),
            };
            (id, latest.and_then(|latest| latest.kept.output.clone()), info)
        })?;
        info.output = self.output(INFO, id, info.current_execution_id, kept).await?;
        Ok(info)
    }

    async fn get_execution_info(&self, instance: &str, execution_id: u64) -> Result<ExecutionInfo, ProviderError> {
        const INFO: &str = "get_execution_info";
        let _pins = self.instance(INFO, instance).await?;
        let found = self.shared.with(|core, _| {
            let (id, record) = core.any_record(instance)?;
            let execution = record.executions.get(&execution_id)?;
            let info = ExecutionInfo {
                execution_id,
                status: execution.status.clone(),
                output: None,
                started_at: time(execution.started),
                completed_at: execution.completed.map(time),
                event_count: execution.events,
            };
            Some((id, execution.kept.output.clone(), info))
        });
        let (id, kept, mut info) = found.ok_or_else(|| {
            ProviderError::permanent(INFO, format!("execution {execution_id} of instance {instance} not found"))
        })?;
        info.output = self.output(INFO, id, execution_id, kept).await?;
        Ok(info)
    }

    async fn get_system_metrics(&self) -> Result<SystemMetrics, ProviderError> {
        self.catch_up("get_system_metrics").await?;
        if !self.shared.store.keeps() {
            return Ok(self.shared.with(|core, _| core.metrics()));
        }
        self.shared.store.metrics().await.map_err(|error| told("get_system_metrics", error))
    }

    async fn get_queue_depths(&self) -> Result<QueueDepths, ProviderError> {
        self.catch_up("get_queue_depths").await?;
        Ok(self.shared.with(|core, _| core.depths()))
    }

    async fn list_children(&self, instance_id: &str) -> Result<Vec<String>, ProviderError> {
        self.catch_up("list_children").await?;
        if !self.shared.store.keeps() {
            return Ok(self.shared.with(|core, _| core.children(instance_id)));
        }
        self.shared.store.children(instance_id).await.map_err(|error| told("list_children", error))
    }

    async fn get_parent_id(&self, instance_id: &str) -> Result<Option<String>, ProviderError> {
        let _pins = self.instance("get_parent_id", instance_id).await?;
        self.record("get_parent_id", instance_id, |_, record| record.parent.as_deref().map(str::to_owned))
    }

    async fn delete_instances_atomic(
        &self,
        ids: &[String],
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        const DELETE: &str = "delete_instances_atomic";
        self.catch_up(DELETE).await?;
        let _pins = self.shared.pin(DELETE, ids.iter().map(String::as_str)).await?;
        let (change, deletion) = loop {
            let evicted = self.shared.with(|core, _| core.evicted_children());
            let mut stored = Vec::new();
            for name in ids {
                let children = self.shared.store.children(name).await.map_err(|error| told(DELETE, error))?;
                stored.extend(children.into_iter().map(|child| (name.clone(), child)));
            }
            let begun = self.shared.with(|core, now| {
                core.usable(DELETE)?;
                if core.evicted_children() != evicted {
                    return Ok(Err(None));
                }
                let begun = core.begin_delete(ids, force, &stored, now)?;
                Ok::<_, ProviderError>(begun.ok_or_else(|| Some(core.when_settled())))
            })?;
            match begun {
                Ok(begun) => break begun,
                Err(Some(settled)) => settled.notified().await,
                // A child may have left memory after the store was read.
                Err(None) => {}
            }
        };
        let result = deletion.result.clone();
        let then = move |core: &mut Core, now, kept| {
            if kept { core.finish_delete(&deletion, now) } else { core.refuse_delete(&deletion, now) }
        };
        self.shared.commit(DELETE, change, then).await?;
        Ok(result)
    }

    async fn delete_instance_bulk(&self, filter: InstanceFilter) -> Result<DeleteInstanceResult, ProviderError> {
        let mut total = DeleteInstanceResult::default();
        for root in self.list("delete_instance_bulk", Selection::deletable(&filter)).await? {
            let tree = self.get_instance_tree(&root).await?;
            let deleted = self.delete_instances_atomic(&tree.all_ids, true).await?;
            total.instances_deleted += deleted.instances_deleted;
            total.executions_deleted += deleted.executions_deleted;
            total.events_deleted += deleted.events_deleted;
            total.queue_messages_deleted += deleted.queue_messages_deleted;
        }
        Ok(total)
    }

    async fn prune_executions(&self, instance_id: &str, options: PruneOptions) -> Result<PruneResult, ProviderError> {
        const PRUNE: &str = "prune_executions";
        let _pins = self.instance(PRUNE, instance_id).await?;
        let (change, pruning) = self.shared.with(|core, _| {
            core.usable(PRUNE)?;
            core.begin_prune(instance_id, &options)
        })?;
        let result = pruning.result.clone();
        let then = move |core: &mut Core, _, kept| {
            if kept {
                core.finish_prune(&pruning);
            }
        };
        self.shared.commit(PRUNE, change, then).await?;
        Ok(result)
    }

    async fn prune_executions_bulk(
        &self,
        filter: InstanceFilter,
        options: PruneOptions,
    ) -> Result<PruneResult, ProviderError> {
        let mut total = PruneResult::default();
        for instance in self.list("prune_executions_bulk", Selection::prunable(&filter)).await? {
            let pruned = self.prune_executions(&instance, options.clone()).await?;
            total.instances_processed += pruned.instances_processed;
            total.executions_deleted += pruned.executions_deleted;
            total.events_deleted += pruned.events_deleted;
        }
        Ok(total)
    }
}

fn time(wall: i64) -> u64 {
    u64::try_from(wall).unwrap_or_default()
}
