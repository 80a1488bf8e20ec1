//! A node of a server that a trial kills, and brings back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use litelab_model::Arm;
use litelab_model::condition::KillPlan;
use litelab_record::outcome::Fault;
use litelab_servers::{Instance, Options};

use super::Servers;
use super::target::{Target, set};

/// How often the end of a start is looked for.
const POLL: Duration = Duration::from_millis(20);

/// What becomes of the node. Dropping it gives the instance back to the run, whatever state it is in.
pub(crate) struct NodeFault<'s> {
    target: &'s Target,
    /// From 0.
    node: usize,
    after: Duration,
    /// From `go`.
    back: Option<Duration>,
    go: Instant,
    stage: Stage,
    killed: Option<Duration>,
    started: Option<Duration>,
}

enum Stage {
    /// It lives still.
    Before,
    Down,
    /// It is being started: that takes seconds, in which the runner is listened to.
    Coming {
        start: JoinHandle<Started>,
        stop: Arc<AtomicBool>,
    },
    /// It is part of its server again.
    Back(Instant),
    Failed(String),
}

/// What the thread that starts a node leaves.
struct Started {
    instance: Instance,
    /// When it was there.
    outcome: Result<Instant, String>,
}

impl<'s> NodeFault<'s> {
    /// That of an arm, if it has one.
    pub(crate) fn of(arm: &Arm, servers: Option<&'s Servers>) -> Result<Option<Self>, String> {
        let Some(KillPlan::Node { node, after_ms, back_ms }) = &arm.kill else { return Ok(None) };
        let target = servers.ok_or("the run has no servers")?.target(arm)?;
        let after = Duration::from_millis(*after_ms);
        Ok(Some(Self {
            target,
            node: node.saturating_sub(1) as usize,
            after,
            back: back_ms.map(|ms| after + Duration::from_millis(ms)),
            go: Instant::now(),
            stage: Stage::Before,
            killed: None,
            started: None,
        }))
    }

    /// The moment of `go`.
    pub(crate) fn begin(&mut self, go: Instant) {
        self.go = go;
    }

    /// Does what is due. To be called a few times a second.
    pub(crate) fn poll(&mut self) {
        let elapsed = self.go.elapsed();
        match &self.stage {
            Stage::Before if elapsed >= self.after => self.kill(),
            Stage::Down if self.back.is_some_and(|back| elapsed >= back) => self.start(),
            Stage::Coming { start, .. } if start.is_finished() => self.arrive(),
            _ => {}
        }
    }

    /// After the trial: waits until the node is back. `keep_going` is called meanwhile; false gives the start up.
    ///
    /// # Errors
    /// A node that was not killed, or did not come back.
    pub(crate) fn finish(&mut self, keep_going: &mut dyn FnMut() -> bool) -> Result<Fault, String> {
        if matches!(self.stage, Stage::Down) {
            self.start();
        }
        while let Stage::Coming { start, stop } = &self.stage {
            if start.is_finished() {
                self.arrive();
            } else {
                if !keep_going() {
                    stop.store(true, Ordering::Relaxed);
                }
                std::thread::sleep(POLL);
            }
        }
        let node = self.node + 1;
        let millis = |duration: Duration| duration.as_millis() as u64;
        match (&self.stage, self.killed, self.started) {
            (Stage::Back(at), Some(killed), Some(started)) => Ok(Fault {
                node: node as u32,
                killed_ms: millis(killed),
                started_ms: millis(started),
                back_ms: millis(at.duration_since(self.go)),
                lost: None,
            }),
            (Stage::Failed(why), ..) => Err(format!("node {node}: {why}")),
            _ => Err(format!("node {node} was to be killed while the runner worked, and it had ended before")),
        }
    }

    fn kill(&mut self) {
        let Some(mut instance) = self.target.take() else {
            self.stage = Stage::Failed("it is the user's own server, which litelab does not kill".into());
            return;
        };
        let done = instance.kill(self.node);
        self.target.put(instance);
        self.killed = Some(self.go.elapsed());
        self.stage = done.map_or_else(|e| Stage::Failed(e.to_string()), |()| Stage::Down);
    }

    fn start(&mut self) {
        let Some(mut instance) = self.target.take() else { return };
        let (node, settings, url) = (self.node, self.target.settings(), self.target.url().to_owned());
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        self.started = Some(self.go.elapsed());
        let start = std::thread::spawn(move || {
            let options = Options { stop: Some(&told), ..Options::default() };
            let outcome = instance.restart_with(node, &options).map_err(|e| e.to_string());
            let outcome = outcome.map(|()| Instant::now()).and_then(|at| {
                if instance.url() != url {
                    return Err("another program took its port while it was down".into());
                }
                set(&instance.node_url(node), &settings).map(|()| at)
            });
            if outcome.is_err() {
                // What is not part of its server is in the way of the next start, and of the end. It may be gone already.
                let _gone = instance.kill(node);
            }
            Started { instance, outcome }
        });
        self.stage = Stage::Coming { start, stop };
    }

    /// Takes over what a start that is over has left.
    fn arrive(&mut self) {
        let Stage::Coming { start, .. } = std::mem::replace(&mut self.stage, Stage::Down) else { return };
        self.stage = match start.join() {
            Ok(Started { instance, outcome }) => {
                self.target.put(instance);
                outcome.map_or_else(Stage::Failed, Stage::Back)
            }
            // The instance is gone with the thread, and stopped.
            Err(_) => Stage::Failed("its start panicked".into()),
        };
    }
}

impl Drop for NodeFault<'_> {
    fn drop(&mut self) {
        if let Stage::Coming { stop, .. } = &self.stage {
            stop.store(true, Ordering::Relaxed);
            self.arrive();
        }
    }
}
