//! What looks on while the workers work: the ticks and, for workers that are threads, the host probe, in a process of
//! their own.
//!
//! In a thread they would change what they look at. glibc's locks and the kernel's look-up of file descriptors take a
//! longer way in a process that has a second thread, which makes a point read some 5 % slower. So the runner forks
//! before it has opened anything: parent and child share nothing but the counters and a socket.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use litelab_protocol::histogram::Histogram;
use litelab_protocol::{Line, Probe, Trial};
use nix::errno::Errno;
use nix::sys::select::{FdSet, pselect};
use nix::sys::time::TimeSpec;
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork};

use crate::clock::Clock;
use crate::fault::Fault;
use crate::probe::Prober;
use crate::record::Board;
use crate::say;

/// The parent's end. Dropping it ends the child, which then says no more.
pub struct Watch {
    child: Pid,
    socket: UnixStream,
    /// Both processes know this moment, and so what nanoseconds since then mean.
    epoch: Instant,
}

/// The last message to the child: the workers are done.
const DONE: u8 = 1;

impl Watch {
    /// Forks; to be called while the process has one thread, and no database is open. `probe_ms` is the interval of the
    /// host probe, 0 for none: where there is a runtime, the probe belongs into it.
    pub fn begin(trial: &Trial, board: &Board, probe_ms: u64) -> Result<Self, Fault> {
        let epoch = Instant::now();
        let (ours, theirs) = UnixStream::pair().map_err(Fault::other)?;
        // SAFETY: there is one thread, so the child may do whatever the parent may.
        match unsafe { fork() }.map_err(|e| Fault::Other(format!("fork: {e}")))? {
            ForkResult::Parent { child } => Ok(Self { child, socket: ours, epoch }),
            ForkResult::Child => {
                drop(ours);
                // What went wrong is seen at the other end: an answer that is none.
                let _ended = catch_unwind(AssertUnwindSafe(|| look_on(trial, board, probe_ms, epoch, &theirs)));
                // SAFETY: ends this process without running the parent's destructors.
                unsafe { nix::libc::_exit(0) }
            }
        }
    }

    /// It is `go` now.
    pub fn start(&self, clock: Clock) -> Result<(), Fault> {
        let go = clock.go().duration_since(self.epoch).as_nanos() as u64;
        (&self.socket).write_all(&go.to_le_bytes()).map_err(Fault::other)
    }

    /// The workers are done: waits for the last tick, and returns what the probe saw.
    pub fn finish(mut self) -> Result<Option<Probe>, Fault> {
        self.socket.write_all(&[DONE]).map_err(Fault::other)?;
        let mut answer = Vec::new();
        self.socket.read_to_end(&mut answer).map_err(Fault::other)?;
        serde_json::from_slice(&answer).map_err(|e| Fault::Other(format!("the host probe gave no answer: {e}")))
    }

    /// Nothing is said by the child after this, and no probe is wanted. More than once does no more.
    pub fn leave(&self) {
        // The child ends when it reads the end of this, at once.
        let _shut = self.socket.shutdown(Shutdown::Both);
        let _ended = waitpid(self.child, None);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.leave();
    }
}

/// The child: ticks and probes from `go` until the parent says that it is done, or is no more.
fn look_on(trial: &Trial, board: &Board, probe_ms: u64, epoch: Instant, mut parent: &UnixStream) -> Result<(), Fault> {
    let mut go = [0; 8];
    parent.read_exact(&mut go).map_err(Fault::other)?;
    let clock = Clock::at(epoch + Duration::from_nanos(u64::from_le_bytes(go)));
    let warm = trial.warmup_ms.saturating_mul(1_000_000);
    let mut prober = (probe_ms > 0).then(|| Prober::new(probe_ms, warm));
    let every = trial.tick_ms.max(1).saturating_mul(1_000_000);
    let (mut due, mut last) = (every, Vec::new());
    let mut tick = |now: u64, prober: &mut Option<Prober>| {
        let lag = match prober {
            Some(prober) => Some(prober.take_longest()),
            // It is in the runtime.
            None => (trial.probe_ms > 0).then(|| board.beat().take(now, trial.probe_ms.saturating_mul(1_000_000))),
        };
        say(&Line::Tick(board.tick(trial, now / 1_000_000, lag, &mut last)))
    };
    loop {
        let next = prober.as_ref().map_or(due, |prober| due.min(prober.due()));
        if readable_before(parent, clock, next)? {
            break;
        }
        let now = clock.now();
        if let Some(prober) = &mut prober {
            prober.note(now);
        }
        if now >= due {
            // A core that does not listen any more is no reason to end the trial here.
            let _told = tick(now, &mut prober);
            due = (now / every + 1) * every;
        }
    }
    let mut message = [0];
    parent.read_exact(&mut message).map_err(Fault::other)?;
    // The rest, so that all ticks add up to the result.
    let _told = tick(clock.now(), &mut prober);
    let lateness: Option<Histogram> = prober.map(|prober| prober.into_lateness(clock.now()));
    let probe = lateness.map(|lateness| Probe { lateness, pool_wait: None, utilization: None, scheduler: None });
    parent.write_all(&serde_json::to_vec(&probe).map_err(Fault::other)?).map_err(Fault::other)
}

/// Waits until `due`. True as soon as the parent has said something, or is no more.
fn readable_before(parent: &UnixStream, clock: Clock, due: u64) -> Result<bool, Fault> {
    let mut sockets = FdSet::new();
    sockets.insert(parent.as_fd());
    let left = TimeSpec::from_duration(Duration::from_nanos(due.saturating_sub(clock.now())));
    match pselect(None, &mut sockets, None, None, &left, None) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::EINTR) => Ok(false),
        Err(error) => Err(Fault::Other(format!("pselect: {error}"))),
    }
}
