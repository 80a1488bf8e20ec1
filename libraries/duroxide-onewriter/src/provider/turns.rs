//! Calls of orchestration dispatchers.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::{
    DispatcherCapabilityFilter, ExecutionMetadata, KvEntry, OrchestrationItem, ProviderError,
    ScheduledActivityIdentifier, WorkItem,
};
use duroxide::{Event, EventKind};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::change::{Change, Row};
use crate::core::Core;
use crate::core::ack::Outcome;
use crate::core::body::Body;
use crate::core::early::Note;
use crate::core::instance::{Replays, Retry, target};
use crate::core::moment::Moment;
use crate::core::promises::Scope;
use crate::core::record::History;
use crate::core::token::Claim;
use crate::core::turns::{Found, Turn};
use crate::options::Acks;
use crate::provider::held::Held;
use crate::provider::shared::told;
use crate::provider::wait::Waiting;
use crate::provider::{OneWriter, text};

const FETCH: &str = "fetch_orchestration_item";
const UNKNOWN: &str = "unknown";

/// A turn that is about to be returned.
struct Fetched {
    turn: Turn,
    token: String,
    name: Arc<str>,
    orchestration: Option<String>,
    version: Option<String>,
    execution: u64,
    body: Option<(History, HashMap<String, KvEntry>)>,
    epoch: u64,
    needs_disk: bool,
}

enum Step {
    Fetched(Box<Fetched>),
    Orphans(Claim, Vec<i64>),
    Wait(Waiting),
    LookAgain(Arc<Notify>),
    Nothing,
}

impl OneWriter {
    pub(super) async fn fetch_turn(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> Result<Option<(OrchestrationItem, String, u32)>, ProviderError> {
        let replays = Replays::of(filter);
        let deadline = self.deadline(poll_timeout);
        let mut asked = None;
        loop {
            let waits = deadline.is_some_and(|deadline| Instant::now() < deadline);
            let step = self.shared.with(|core, now| {
                core.usable(FETCH)?;
                Ok::<_, ProviderError>(match core.take_turn(&replays, now, now.lease(lock_timeout)) {
                    Found::Turn(turn) => {
                        fetched(core, turn, now).map_or(Step::Nothing, |fetched| Step::Fetched(Box::new(fetched)))
                    }
                    Found::Orphans(claim, messages) => Step::Orphans(claim, messages),
                    Found::Nothing if waits => Step::Wait(Waiting::for_turns(&self.shared, core, replays.clone())),
                    Found::Nothing => core.when_to_look_again(&mut asked).map_or(Step::Nothing, Step::LookAgain),
                })
            })?;
            match step {
                Step::Fetched(fetched) => return self.complete(*fetched, lock_timeout).await.map(Some),
                Step::Orphans(claim, messages) => self.drop_orphans(claim, messages).await?,
                Step::Wait(waiting) => waiting.until(deadline).await,
                Step::LookAgain(settled) => settled.notified().await,
                Step::Nothing => return Ok(None),
            }
        }
    }

    /// Loads what is not in memory, and writes the fetch count if it must be durable.
    async fn complete(
        &self,
        fetched: Fetched,
        lock_timeout: Duration,
    ) -> Result<(OrchestrationItem, String, u32), ProviderError> {
        let Fetched { turn, token, name, orchestration, version, execution, body, epoch, needs_disk } = fetched;
        let claim = turn.claim;
        let held = needs_disk.then(|| Held::new(&self.shared, claim, Core::give_back_turn));
        if !turn.record.is_empty() && needs_disk {
            let mut change = Change::new(true);
            for Retry { id, visible, attempts } in &turn.record {
                change.row(|| Row::MessageRetry { id: *id, visible: *visible, attempts: *attempts });
            }
            self.shared.store.commit(change).await.map_err(|error| told(FETCH, error))?;
            self.shared.with(|core, _| core.turn_recorded(claim, &turn.record));
        }
        let mut item = OrchestrationItem {
            instance: name.to_string(),
            orchestration_name: String::new(),
            execution_id: execution,
            version: String::new(),
            history: Vec::new(),
            messages: turn.messages.iter().map(|item| (**item).clone()).collect(),
            history_error: None,
            kv_snapshot: HashMap::new(),
        };
        let body = match body {
            Some(body) => Ok(body),
            None => self.load_turn(claim, execution, epoch).await?,
        };
        match body {
            Ok((history, values)) => {
                item.history = history.iter().map(|event| (**event).clone()).collect();
                item.kv_snapshot = values;
            }
            Err(what) => item.history_error = Some(format!("the history is not understood: {what}")),
        }
        let named = || started(&item.history).or_else(|| starting(&item.messages)).unwrap_or_default();
        (item.orchestration_name, item.version) = match orchestration {
            Some(orchestration) => (orchestration, version.unwrap_or_else(|| UNKNOWN.into())),
            None => named(),
        };
        if let Some(held) = held {
            self.shared.with(|core, now| core.begin_turn(claim, now, lock_timeout));
            held.hand_over();
        }
        Ok((item, token, turn.attempts))
    }

    async fn load_turn(
        &self,
        claim: Claim,
        execution: u64,
        epoch: u64,
    ) -> Result<Result<(History, HashMap<String, KvEntry>), String>, ProviderError> {
        let loaded = self.shared.store.load(claim.id, execution).await.map_err(|error| told(FETCH, error))?;
        let (history, bytes) = match loaded.history {
            Ok(history) => history,
            Err(what) => return Ok(Err(what)),
        };
        let settled = loaded.values.settled.clone();
        let body = Body::new(execution, history.clone(), bytes, loaded.values);
        self.shared.with(|core, _| core.install(claim.id, epoch, body));
        Ok(Ok((history, settled)))
    }

    async fn drop_orphans(&self, claim: Claim, messages: Vec<i64>) -> Result<(), ProviderError> {
        let mut change = Change::new(self.shared.store.keeps());
        for id in &messages {
            change.row(|| Row::MessageGone { id: *id });
        }
        let then = move |core: &mut Core, now, kept| {
            if kept { core.finish_orphans(claim, &messages, now) } else { core.refuse_abandon(claim, now) }
        };
        self.shared.commit(FETCH, change, then).await
    }

    #[expect(clippy::too_many_arguments, reason = "duroxide's interface")]
    pub(super) async fn ack_turn(
        &self,
        token: &str,
        execution: u64,
        events: Vec<Event>,
        work: Vec<WorkItem>,
        messages: Vec<WorkItem>,
        metadata: ExecutionMetadata,
        cancelled: Vec<ScheduledActivityIdentifier>,
    ) -> Result<(), ProviderError> {
        const ACK: &str = "ack_orchestration_item";
        let keeps = self.shared.store.keeps();
        let targets: Vec<String> = messages.iter().filter_map(target).map(str::to_owned).collect();
        // Serialise before taking the lock.
        let items = |items: Vec<WorkItem>| {
            let texts = items.into_iter().map(|item| text(ACK, keeps, &item).map(|json| (Arc::new(item), json)));
            texts.collect::<Result<Vec<_>, _>>()
        };
        let events = events.into_iter().map(|event| text(ACK, keeps, &event).map(|json| (Arc::new(event), json)));
        let events = events.collect::<Result<Vec<_>, _>>()?;
        let outcome =
            Outcome { execution, events, work: items(work)?, messages: items(messages)?, metadata, cancelled };
        let pins = self.shared.pin(ACK, targets.iter().map(String::as_str)).await?;
        let place = self.place().await;
        let is_told = place.is_some();
        let (change, ack, promise) = self.shared.with(|core, now| {
            core.usable(ACK)?;
            let (change, ack) = core.begin_ack(token, outcome, now)?;
            let promise = is_told.then(|| core.promise(Scope::Instance(ack.instance())));
            Ok::<_, ProviderError>((change, ack, promise))
        })?;
        let then = move |core: &mut Core, now, kept| {
            let _until_here = pins;
            match (kept, is_told) {
                (true, _) => core.finish_ack(ack, now),
                (false, false) => core.refuse_ack(&ack, now),
                (false, true) => core.undo_ack(&ack, now),
            }
            core.decide(promise);
        };
        self.acknowledge(ACK, change, |_, _| {}, then, place).await
    }

    pub(super) async fn abandon_turn(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        const ABANDON: &str = "abandon_orchestration_item";
        let (claim, change, retries) = self.shared.with(|core, now| {
            core.usable(ABANDON)?;
            core.begin_abandon(token, delay, ignore_attempt, now)
        })?;
        let then = move |core: &mut Core, now, kept| {
            if kept { core.finish_abandon(claim, &retries, now) } else { core.refuse_abandon(claim, now) }
        };
        self.shared.commit(ABANDON, change, then).await
    }

    pub(super) async fn enqueue_message(&self, item: WorkItem, delay: Option<Duration>) -> Result<(), ProviderError> {
        const ENQUEUE: &str = "enqueue_for_orchestrator";
        let Some(instance) = target(&item) else {
            return Err(ProviderError::permanent(ENQUEUE, "not a message for an orchestration"));
        };
        let pins = self.shared.pin(ENQUEUE, [instance]).await?;
        let keeps = self.shared.store.keeps();
        let json = text(ENQUEUE, keeps, &item)?;
        let mut change = Change::new(keeps);
        let is_shown = self.acks == Acks::Ordered;
        let (note, promise) = self.shared.with(|core, now| {
            core.usable(ENQUEUE)?;
            let (id, visible) = (core.next_message(), now.visible(delay));
            change.row(|| Row::Message { id, visible, item: json });
            let promise = is_shown.then(|| core.promise(Scope::Everything));
            Ok::<_, ProviderError>((Note { id, item: Arc::new(item), visible }, promise))
        })?;
        let in_line = is_shown.then(|| note.clone());
        let then = move |core: &mut Core, now, kept| {
            let _until_here = pins;
            core.settle_note(note, kept, now);
            core.decide(promise);
        };
        let in_line = |core: &mut Core, now| in_line.into_iter().for_each(|note| core.show(note, now));
        self.shared.commit_shown(ENQUEUE, change, in_line, then).await
    }
}

/// Collects the parts of the turn that are in memory.
fn fetched(core: &mut Core, turn: Turn, now: Moment) -> Option<Fetched> {
    let claim = turn.claim;
    let token = core.tokens().token(claim);
    let body = core.body(claim.id).map(|body| (body.execution, body.history.clone(), body.values.settled.clone()));
    let instance = core.get(claim.id)?;
    let record = instance.record.as_ref();
    let execution = record.map_or(1, |record| record.current);
    let body = match body {
        Some((of, history, values)) if of == execution => Some((history, values)),
        // A new instance has no history.
        _ if record.is_none() => Some(Default::default()),
        _ => None,
    };
    let epoch = instance.epoch;
    let (name, named) =
        (Arc::clone(&instance.name), record.map(|record| (record.orchestration.clone(), record.version.clone())));
    let (orchestration, version) = named.unwrap_or_default();
    let needs_disk = !core.is_alone() && (body.is_none() || !turn.record.is_empty());
    if needs_disk {
        core.begin_fetching();
        core.mark_turn(claim, true, now);
    }
    Some(Fetched { turn, token, name, orchestration, version, execution, body, epoch, needs_disk })
}

/// Name and version of the orchestration in a history.
fn started(history: &[Event]) -> Option<(String, String)> {
    history.iter().find_map(|event| match &event.kind {
        EventKind::OrchestrationStarted { name, version, .. } => Some((name.clone(), version.clone())),
        _ => None,
    })
}

/// Name and version of the orchestration that the messages start.
fn starting(messages: &[WorkItem]) -> Option<(String, String)> {
    messages.iter().find_map(|message| match message {
        WorkItem::StartOrchestration { orchestration, version, .. }
        | WorkItem::ContinueAsNew { orchestration, version, .. } => {
            Some((orchestration.clone(), version.clone().unwrap_or_else(|| UNKNOWN.into())))
        }
        _ => None,
    })
}
