//! Access `group-commit` in an asynchronous host program. `dedicated` awaits the layer, whose writer has a thread of its own;
//! `offload` calls it in the runtime's pool of blocking threads, `inline` on the runtime's own.

use std::io::BufRead;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use litelab_protocol::{Executor, Line, Trial};

use crate::fault::Fault;
use crate::group::{self, Group, Next};
use crate::lookout::{Left, end_now};
use crate::runtime::{self, Program};
use crate::say;
use crate::tasks::{Hands, Way};
use crate::transaction::Execution;
use crate::trial::ready_and_go;

/// A task's way to the layer; `INLINE` never waits for anything that is awaited.
struct Joined<G, const INLINE: bool> {
    group: Arc<G>,
    executor: Executor,
}

impl<G: Group, const INLINE: bool> Joined<G, INLINE> {
    /// One try of this transaction, wherever the executor runs it.
    async fn once(&self, hands: Arc<Mutex<Box<Hands>>>, transaction: usize, writes: bool) -> Result<Execution, Fault> {
        let group = &self.group;
        let work = move |session: &mut G::Session<'_>| {
            // Poisoned by a panic, which ends the trial by itself.
            hands.lock().unwrap_or_else(PoisonError::into_inner).once(session)
        };
        match self.executor {
            Executor::Dedicated if writes => group.write_async(transaction, work).await,
            Executor::Dedicated => group.read_async(work).await,
            Executor::Offload => {
                let group = group.clone();
                let call = move || if writes { group.write(transaction, work) } else { group.read(work) };
                tokio::task::spawn_blocking(call).await.map_err(runtime::broken).flatten()
            }
            _ if writes => group.write(transaction, work),
            _ => group.read(work),
        }
    }
}

impl<G: Group, const INLINE: bool> Way for Joined<G, INLINE> {
    const NEVER_WAITS: bool = INLINE;

    async fn execute(self, hands: Box<Hands>) -> Result<(Self, Box<Hands>, Execution), Fault> {
        let (transaction, writes) = (hands.transaction(), hands.writes());
        // The layer may drop a closure that it cannot run, and the hands must not go with it.
        let kept = Arc::new(Mutex::new(hands));
        let open = || kept.lock().unwrap_or_else(PoisonError::into_inner);
        open().begin();
        let execution = loop {
            let tried = self.once(kept.clone(), transaction, writes).await;
            let next = open().judge(tried)?;
            match next {
                Next::Ended(execution) => break execution,
                Next::Again { nanos } => tokio::time::sleep(Duration::from_nanos(nanos)).await,
            }
        };
        let hands =
            Arc::into_inner(kept).ok_or_else(|| Fault::Other("the layer keeps a closure it has answered".into()))?;
        Ok((self, hands.into_inner().unwrap_or_else(PoisonError::into_inner), execution))
    }
}

/// The trial through one layer.
pub fn run<G: Group, const INLINE: bool>(trial: &Trial, input: &mut dyn BufRead) -> Result<(), Fault> {
    let program = Program::begin(trial)?;
    let (trial, stage) = (program.trial, program.stage);
    let (groups, connections) = group::open::<G>(trial)?;
    let groups: Vec<Arc<G>> = groups.into_iter().map(Arc::new).collect();
    let way = |database: usize| Joined::<G, INLINE> { group: groups[database].clone(), executor: trial.executor };
    let workers = stage.workers(way)?;
    if !ready_and_go(connections, input)? {
        return Ok(());
    }
    let Left { done, probe, hangs } = program.work(workers);
    let mut result = stage.result(probe);
    if hangs {
        end_now(result);
    }
    drop(done);
    drop(program.runtime);
    result.connections = group::settings_of_all(trial, groups.iter().map(|group| &**group))?;
    for group in groups {
        // Its workers have ended.
        if let Some(group) = Arc::into_inner(group) {
            group.close()?;
        }
    }
    say(&Line::Result(Box::new(result)))
}
