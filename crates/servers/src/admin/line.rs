//! A connection on its own thread, so that no caller waits forever for a silent server.
//!
//! If a server is stopped, or its machine is lost, its connections stay open and the kernel accepts what is sent.
//! Neither driver has a deadline that distinguishes this from a long statement. The caller therefore checks from time
//! to time whether the server answers a new connection. An abandoned thread ends when the kernel closes its connection,
//! or with the program.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::connect::{Connection, connect};
use super::{Admin, Url};
use crate::ServersError;

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// Number of attempts to connect to a server that may be busy.
const PROBES: usize = 2;
/// Longest wait for a connection to close.
const FAREWELL: Duration = Duration::from_secs(1);

/// Handle of a connection, for the thread that uses it.
pub(super) struct ConnectionHandle {
    /// URL of the connected host alone.
    url: Url,
    timeout: Duration,
    /// `None` once the server is lost.
    jobs: Option<Sender<Job>>,
    ended: Receiver<()>,
}

impl ConnectionHandle {
    /// Connects to the first host of a URL that answers within `timeout`. After a later silence of twice that time,
    /// [`Self::ask`] checks whether the server is alive.
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

    /// Runs a job on the connection and waits for its result as long as the server is alive.
    pub fn ask<T: Send + 'static>(
        &mut self,
        job: impl FnOnce(&mut Connection) -> Result<T, ServersError> + Send + 'static,
    ) -> Result<T, ServersError> {
        let gone = || ServersError::Lost("it was given up before".into());
        let (answer, answers) = channel();
        let job = Box::new(move |connection: &mut Connection| {
            // No receiver is left after the caller has given up.
            let _heard = answer.send(job(connection));
        });
        self.jobs.as_ref().ok_or_else(gone)?.send(job).map_err(|_| gone())?;
        let begun = Instant::now();
        loop {
            match answers.recv_timeout(2 * self.timeout) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Timeout) if begun.elapsed() < Admin::LONGEST && self.lives() => {}
                Err(e) => {
                    self.jobs = None;
                    let silent = format!("no answer within {:.0} s", begun.elapsed().as_secs_f64());
                    let why = if e == RecvTimeoutError::Timeout { silent } else { "its thread ended".into() };
                    return Err(ServersError::Lost(why));
                }
            }
        }
    }

    /// Whether the server answers a new connection, if only with a refusal.
    fn lives(&self) -> bool {
        let silent = |outcome| matches!(outcome, Err(ServersError::Unreachable { .. }));
        (0..PROBES).any(|_| !silent(connect(&self.url, self.timeout).map(drop)))
    }
}

impl Drop for ConnectionHandle {
    /// Waits until the connection is closed, so that the server has seen its end, unless the server does not answer.
    fn drop(&mut self) {
        if self.jobs.take().is_some() {
            let _ended = self.ended.recv_timeout(FAREWELL);
        }
    }
}
