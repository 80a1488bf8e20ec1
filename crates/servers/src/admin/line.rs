//! A connection on a thread of its own: nobody waits for ever for a server that says nothing.
//!
//! A server that is stopped, or whose machine is gone, keeps its connections: the kernel takes what is sent to it. Neither
//! driver has a deadline that tells this from a statement that takes long, so whoever asks looks after a while whether the
//! server answers anybody at all. A thread that is given up ends when the kernel gives its connection up, or with the program.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::Url;
use super::connect::{Connection, connect};
use crate::ServersError;

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// A statement of the core's own that takes longer than this has lost its server, whatever that says to others.
pub(super) const LONGEST: Duration = Duration::from_secs(600);
/// How often a server that may be busy is asked whether it lives.
const PROBES: usize = 2;
/// How long the end of a connection is waited for.
const FAREWELL: Duration = Duration::from_secs(1);

/// The one end of a conversation with a server.
pub(super) struct Line {
    /// The host that the connection is to, alone.
    url: Url,
    timeout: Duration,
    /// None once the server is lost.
    jobs: Option<Sender<Job>>,
    ended: Receiver<()>,
}

impl Line {
    /// Connects to the first host of a url that answers within `timeout`. Later silence of twice as long is looked into.
    pub fn open(url: &Url, timeout: Duration) -> Result<Self, ServersError> {
        let (mut connection, url) = connect(url, timeout)?;
        let (jobs, todo) = channel::<Job>();
        let (end, ended) = channel();
        std::thread::spawn(move || {
            todo.into_iter().for_each(|job| job(&mut connection));
            drop(connection);
            let _nobody_waits = end.send(());
        });
        Ok(Self { url, timeout, jobs: Some(jobs), ended })
    }

    /// Asks, and waits for the answer as long as the server lives.
    pub fn ask<T: Send + 'static>(
        &mut self,
        job: impl FnOnce(&mut Connection) -> Result<T, ServersError> + Send + 'static,
    ) -> Result<T, ServersError> {
        let gone = || ServersError::Lost("it was given up before".into());
        let (answer, answers) = channel();
        let job = Box::new(move |connection: &mut Connection| {
            // Whoever has given up hears nothing.
            let _heard = answer.send(job(connection));
        });
        self.jobs.as_ref().ok_or_else(gone)?.send(job).map_err(|_| gone())?;
        let begun = Instant::now();
        loop {
            match answers.recv_timeout(2 * self.timeout) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Timeout) if begun.elapsed() < LONGEST && self.lives() => {}
                Err(e) => {
                    self.jobs = None;
                    let silent = format!("no answer within {:.0} s", begun.elapsed().as_secs_f64());
                    let why = if e == RecvTimeoutError::Timeout { silent } else { "its thread ended".into() };
                    return Err(ServersError::Lost(why));
                }
            }
        }
    }

    /// Whether the server says anything to a new connection, be it that it wants no more of them.
    fn lives(&self) -> bool {
        let silent = |outcome| matches!(outcome, Err(ServersError::Unreachable { .. }));
        (0..PROBES).any(|_| !silent(connect(&self.url, self.timeout).map(drop)))
    }
}

impl Drop for Line {
    /// The server has seen the connection's end when this returns, unless it is one that does not answer.
    fn drop(&mut self) {
        if self.jobs.take().is_some() {
            let _ended = self.ended.recv_timeout(FAREWELL);
        }
    }
}
