//! Reads of histories, values and statistics, from memory or from the store.

use std::sync::Arc;

use duroxide::providers::ProviderError;
use duroxide::{Event, EventKind, SystemStats};

use crate::change::{Change, Row};
use crate::core::Core;
use crate::core::body::Body;
use crate::core::record::History;
use crate::core::values::Values;
use crate::provider::shared::told;
use crate::provider::{OneWriter, text};
use crate::store::Loaded;

/// Location of an object.
enum Place<T> {
    Here(T),
    /// Instance, execution and epoch.
    Stored(i64, u64, u64),
    Nowhere,
}

impl OneWriter {
    /// Returns the history of an execution, empty if there is none. Default: the latest execution.
    pub(super) async fn history(
        &self,
        operation: &'static str,
        instance: &str,
        execution: Option<u64>,
    ) -> Result<Vec<Event>, ProviderError> {
        let _pins = self.instance(operation, instance).await?;
        let place = self.shared.with(|core, _| {
            place(
                core,
                instance,
                execution,
                |body| body.history.clone(),
                |core, id, execution| {
                    let record = core.get(id).and_then(|instance| instance.record.as_ref());
                    record.and_then(|record| record.executions.get(&execution)).map(|e| e.kept.history.clone())
                },
            )
        });
        // Copied after the lock has been released.
        let events = match place {
            Place::Here(events) => events,
            Place::Nowhere => History::new(),
            Place::Stored(id, execution, epoch) => {
                let loaded = self.load(operation, id, execution, epoch).await?;
                let not_understood = |what| ProviderError::permanent(operation, format!("not understood: {what}"));
                loaded.history.map_err(not_understood)?.0
            }
        };
        Ok(events.iter().map(|event| (**event).clone()).collect())
    }

    /// Applies `of` to the values of the instance, or to no values if there is no such instance.
    pub(super) async fn values<T>(
        &self,
        operation: &'static str,
        instance: &str,
        of: impl Fn(&Values) -> T + Send,
    ) -> Result<T, ProviderError> {
        let _pins = self.instance(operation, instance).await?;
        let place = self.shared.with(|core, _| place(core, instance, None, |body| of(&body.values), |_, _, _| None));
        match place {
            Place::Here(found) => Ok(found),
            Place::Nowhere => Ok(of(&Values::default())),
            Place::Stored(id, execution, epoch) => Ok(of(&self.load(operation, id, execution, epoch).await?.values)),
        }
    }

    /// Reads from the store, and caches the result if it is the latest execution and nothing has changed since `epoch`.
    async fn load(&self, operation: &str, id: i64, execution: u64, epoch: u64) -> Result<Loaded, ProviderError> {
        let loaded = self.shared.store.load(id, execution).await.map_err(|error| told(operation, error))?;
        if let Ok((history, bytes)) = &loaded.history {
            let body = Body::new(execution, history.clone(), *bytes, loaded.values.clone());
            self.shared.with(|core, _| core.install(id, epoch, body));
        }
        Ok(loaded)
    }

    pub(super) async fn stats(&self, instance: &str) -> Result<Option<SystemStats>, ProviderError> {
        const STATS: &str = "get_instance_stats";
        let _pins = self.instance(STATS, instance).await?;
        if self.shared.with(|core, _| core.record(instance).is_none()) {
            return Ok(None);
        }
        let history = self.history(STATS, instance, None).await?;
        let values = self.values(STATS, instance, Values::all).await?;
        let sizes = history.iter().map(|event| text(STATS, true, event).map(|text| text.len()));
        let carried = history.first().map(|event| match &event.kind {
            EventKind::OrchestrationStarted { carry_forward_events: Some(events), .. } => events.len(),
            _ => 0,
        });
        let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        Ok(Some(SystemStats {
            history_event_count: count(history.len()),
            history_size_bytes: count(sizes.sum::<Result<usize, _>>()?),
            queue_pending_count: count(carried.unwrap_or(0)),
            kv_user_key_count: count(values.len()),
            kv_total_value_bytes: count(values.values().map(String::len).sum()),
        }))
    }

    pub(super) async fn append_history(
        &self,
        instance: &str,
        execution: u64,
        events: Vec<Event>,
    ) -> Result<(), ProviderError> {
        const APPEND: &str = "append_with_execution";
        let pins = self.instance(APPEND, instance).await?;
        let keeps = self.shared.store.keeps();
        let events = events.into_iter().map(|event| text(APPEND, keeps, &event).map(|text| (Arc::new(event), text)));
        let events = events.collect::<Result<Vec<_>, _>>()?;
        let bytes = events.iter().map(|(_, text)| text.len()).sum();
        let (events, texts): (History, Vec<String>) = events.into_iter().unzip();
        let mut change = Change::new(keeps);
        let id = self.shared.with(|core, _| {
            core.usable(APPEND)?;
            core.check_append(instance, execution, &events)
        })?;
        for (event, data) in events.iter().zip(texts) {
            change.row(|| Row::Event { instance: id, execution, event: event.event_id(), data });
        }
        let then = move |core: &mut Core, _, kept| {
            let _until_here = pins;
            if kept {
                core.append(id, execution, events, bytes);
            }
        };
        self.shared.commit(APPEND, change, then).await
    }
}

/// Locates an object of an execution: in the body, elsewhere in memory, or in the store.
fn place<T>(
    core: &mut Core,
    name: &str,
    execution: Option<u64>,
    of_body: impl FnOnce(&Body) -> T,
    kept: impl FnOnce(&Core, i64, u64) -> Option<T>,
) -> Place<T> {
    let Some(id) = core.find(name) else { return Place::Nowhere };
    let Some((record, epoch)) = core.get(id).and_then(|i| Some((i.record.as_ref()?, i.epoch))) else {
        return Place::Nowhere;
    };
    let execution = execution.unwrap_or_else(|| record.last_execution());
    if let Some(body) = core.body(id).filter(|body| body.execution == execution) {
        return Place::Here(of_body(body));
    }
    if core.is_alone() {
        return kept(core, id, execution).map_or(Place::Nowhere, Place::Here);
    }
    Place::Stored(id, execution, epoch)
}
