//! Calls of activity workers.

use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::{ProviderError, SessionFetchConfig, TagFilter, WorkItem};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::change::{Change, Row};
use crate::core::Core;
use crate::core::instance::target;
use crate::core::promises::Scope;
use crate::core::work::Work;
use crate::core::workers::{Taken, Takes};
use crate::provider::held::Held;
use crate::provider::shared::told;
use crate::provider::wait::Waiting;
use crate::provider::{OneWriter, text};

const FETCH: &str = "fetch_work_item";

enum Step {
    Taken(Taken, String),
    Wait(Waiting),
    LookAgain(Arc<Notify>),
    Nothing,
}

impl OneWriter {
    pub(super) async fn fetch_work(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        session: Option<&SessionFetchConfig>,
        tags: &TagFilter,
    ) -> Result<Option<(WorkItem, String, u32)>, ProviderError> {
        let takes = Takes { tags: tags.clone(), session: session.cloned() };
        let deadline = self.deadline(poll_timeout);
        let mut asked = None;
        loop {
            let waits = deadline.is_some_and(|deadline| Instant::now() < deadline);
            let step = self.shared.with(|core, now| {
                core.usable(FETCH)?;
                Ok::<_, ProviderError>(match core.take_work(&takes, now, lock_timeout) {
                    Some(taken) => {
                        if taken.record {
                            core.begin_fetching();
                        }
                        let token = core.tokens().token(taken.claim);
                        Step::Taken(taken, token)
                    }
                    None if waits => Step::Wait(Waiting::for_work(&self.shared, core, takes.clone())),
                    None => core.when_to_look_again(&mut asked).map_or(Step::Nothing, Step::LookAgain),
                })
            })?;
            match step {
                Step::Taken(taken, token) => {
                    return self.complete_work(taken, token, &takes, lock_timeout).await.map(Some);
                }
                Step::Wait(waiting) => waiting.until(deadline).await,
                Step::LookAgain(settled) => settled.notified().await,
                Step::Nothing => return Ok(None),
            }
        }
    }

    /// Writes the fetch count if it must be durable.
    async fn complete_work(
        &self,
        taken: Taken,
        token: String,
        takes: &Takes,
        lock_timeout: Duration,
    ) -> Result<(WorkItem, String, u32), ProviderError> {
        let (claim, visible, attempts) = (taken.claim, taken.visible, taken.attempts);
        if taken.record {
            let held = Held::new(&self.shared, claim, Core::give_back_work);
            let mut change = Change::new(true);
            change.row(|| Row::WorkRetry { id: claim.id, visible, attempts });
            self.shared.store.commit(change).await.map_err(|error| told(FETCH, error))?;
            self.shared.with(|core, now| core.begin_work(claim, takes, now, lock_timeout));
            held.hand_over();
        }
        Ok(((*taken.item).clone(), token, attempts))
    }

    pub(super) async fn ack_work(&self, token: &str, completion: Option<WorkItem>) -> Result<(), ProviderError> {
        const ACK: &str = "ack_work_item";
        let is_completion =
            |item: &WorkItem| matches!(item, WorkItem::ActivityCompleted { .. } | WorkItem::ActivityFailed { .. });
        if completion.as_ref().is_some_and(|item| !is_completion(item)) {
            return Err(ProviderError::permanent(ACK, "not what an activity comes to"));
        }
        let keeps = self.shared.store.keeps();
        let pins = self.shared.pin(ACK, completion.as_ref().and_then(target)).await?;
        let completion = completion.map(|item| text(ACK, keeps, &item).map(|json| (item, json))).transpose()?;
        let place = self.place().await;
        let is_told = place.is_some();
        let (claim, change, fate, promise) = self.shared.with(|core, now| {
            core.usable(ACK)?;
            let (claim, change, fate) = core.begin_ack_work(token, completion, now)?;
            let promise = is_told.then(|| core.promise(Scope::Everything));
            Ok::<_, ProviderError>((claim, change, fate, promise))
        })?;
        let note = fate.note();
        let in_line = move |core: &mut Core, now| core.show_completions(claim, note, now);
        let then = move |core: &mut Core, now, kept| {
            let _until_here = pins;
            match (kept, is_told) {
                (true, _) => core.finish_work(claim, fate, now),
                (false, false) => core.refuse_work(claim, now),
                (false, true) => core.undo_work(claim, fate, now),
            }
            core.decide(promise);
        };
        self.acknowledge(ACK, change, in_line, then, place).await
    }

    pub(super) async fn abandon_work(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        const ABANDON: &str = "abandon_work_item";
        let begun = self.shared.with(|core, now| {
            core.usable(ABANDON)?;
            core.begin_abandon_work(token, delay, ignore_attempt, now)
        })?;
        let (claim, change, fate) = begun;
        let then = move |core: &mut Core, now, kept| {
            if kept { core.finish_work(claim, fate, now) } else { core.refuse_work(claim, now) }
        };
        self.shared.commit(ABANDON, change, then).await
    }

    pub(super) async fn enqueue_work(&self, item: WorkItem) -> Result<(), ProviderError> {
        const ENQUEUE: &str = "enqueue_for_worker";
        let keeps = self.shared.store.keeps();
        let json = text(ENQUEUE, keeps, &item)?;
        let mut change = Change::new(keeps);
        let (id, work) = self.shared.with(|core, now| {
            core.usable(ENQUEUE)?;
            let work = Work::new(Arc::new(item), now.wall);
            let work = work.ok_or_else(|| ProviderError::permanent(ENQUEUE, "not an activity"))?;
            let id = core.next_work();
            change.row(|| Row::Work { id, visible: now.wall, item: json });
            Ok::<_, ProviderError>((id, work))
        })?;
        let then = move |core: &mut Core, now, kept| {
            if kept {
                core.insert_work(id, work, now);
            }
        };
        self.shared.commit(ENQUEUE, change, then).await
    }
}
