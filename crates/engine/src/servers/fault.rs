//! Kill and restart of a server's node during a trial.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use litelab_model::Variant;
use litelab_model::condition::KillPlan;
use litelab_servers::{Instance, Options};

use super::Servers;
use super::target::{Target, set};

/// Interval at which a restart in progress is polled.
const POLL: Duration = Duration::from_millis(20);

/// State of the node to be killed. Dropping it returns the instance to the run, in any state.
pub(crate) struct NodeFault<'s> {
    target: &'s Target,
    /// Index of the node, from 0.
    node: usize,
    after: Duration,
    /// Time of the restart, measured from `go`.
    back: Option<Duration>,
    go: Instant,
    stage: Stage,
    killed: Option<Duration>,
    started: Option<Duration>,
}

enum Stage {
    /// The node has not been killed yet.
    Before,
    Down,
    /// The node is starting in a thread, which takes seconds; lines of the runner are read meanwhile.
    Coming {
        start: JoinHandle<Started>,
        stop: Arc<AtomicBool>,
    },
    /// The node has rejoined its server.
    Back(Instant),
    Failed(String),
}

/// Result of the thread that starts a node.
struct Started {
    instance: Instance,
    /// Time at which the node had rejoined.
    outcome: Result<Instant, String>,
}

impl<'s> NodeFault<'s> {
    /// The kill planned by a variant; `None` if it plans none.
    pub(crate) fn of(variant: &Variant, servers: Option<&'s Servers>) -> Result<Option<Self>, String> {
        let Some(KillPlan::Node { node, after_ms, back_ms }) = &variant.kill else { return Ok(None) };
        let target = servers.ok_or("the run has no servers")?.target(variant)?;
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

    /// Sets the time of `go`.
    pub(crate) fn begin(&mut self, go: Instant) {
        self.go = go;
    }

    /// Performs the steps that are due. Call it several times a second.
    pub(crate) fn poll(&mut self) {
        let elapsed = self.go.elapsed();
        match &self.stage {
            Stage::Before if elapsed >= self.after => self.kill(),
            Stage::Down if self.back.is_some_and(|back| elapsed >= back) => self.start(),
            Stage::Coming { start, .. } if start.is_finished() => self.arrive(),
            _ => {}
        }
    }

    /// Waits after the trial until the node has rejoined, and returns the gauges of [`Measurement::gauges`] but `lost`.
    /// Calls `keep_going` meanwhile; `false` aborts the restart.
    ///
    /// # Errors
    /// If the node was not killed, or did not rejoin.
    pub(crate) fn finish(&mut self, keep_going: &mut dyn FnMut() -> bool) -> Result<BTreeMap<String, f64>, String> {
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
        match (&self.stage, self.killed, self.started) {
            (Stage::Back(at), Some(killed), Some(started)) => {
                let rejoin = at.duration_since(self.go).saturating_sub(started);
                let times = [("killed_ns", killed), ("started_ns", started), ("rejoin_ns", rejoin)];
                Ok(times.map(|(name, time)| (name.to_owned(), time.as_nanos() as f64)).into())
            }
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
            let outcome = instance.restart(node, &options).map_err(|e| e.to_string());
            let outcome = outcome.map(|()| Instant::now()).and_then(|at| {
                if instance.url() != url {
                    return Err("another program took its port while it was down".into());
                }
                set(&instance.node_url(node), &settings).map(|()| at)
            });
            if outcome.is_err() {
                // A node that has not rejoined would block the next start and the shutdown. It may have ended already.
                let _gone = instance.kill(node);
            }
            Started { instance, outcome }
        });
        self.stage = Stage::Coming { start, stop };
    }

    /// Takes the instance back from a completed start.
    fn arrive(&mut self) {
        let Stage::Coming { start, .. } = std::mem::replace(&mut self.stage, Stage::Down) else { return };
        self.stage = match start.join() {
            Ok(Started { instance, outcome }) => {
                self.target.put(instance);
                outcome.map_or_else(Stage::Failed, Stage::Back)
            }
            // The panic dropped the instance, which stops it.
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
