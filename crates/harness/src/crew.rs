//! Threads that own a connection each and take work from one queue, first come first served: what `dedicated` is for a
//! driver that blocks. An application that writes it itself writes this.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{Builder, JoinHandle};

use crossbeam_channel::{Receiver, Sender, unbounded};
use litelab_protocol::{Connection, Database};
use tokio::sync::oneshot;

use crate::fault::Fault;
use crate::hosted::Hosted;
use crate::session::Open;
use crate::threads::panicked;

/// One thread for each connection, and the queue.
pub struct Crew<S> {
    queue: Sender<Work<S>>,
    threads: Vec<JoinHandle<()>>,
}

type Work<S> = Box<dyn FnOnce(&mut S) + Send>;

fn work<S>(mut session: S, queue: &Receiver<Work<S>>) {
    for work in queue {
        work(&mut session);
    }
}

impl<S: Open> Hosted for Crew<S> {
    type Session<'a> = S;

    async fn open<R, F>(
        database: &Database,
        connection: &Connection,
        connections: u32,
        ready: F,
    ) -> Result<(Self, Vec<R>), Fault>
    where
        R: Send + 'static,
        F: for<'a> Fn(&mut S) -> Result<R, Fault> + Clone + Send + Sync + 'static,
    {
        let (queue, orders) = unbounded();
        let (mut threads, mut answers) = (Vec::new(), Vec::new());
        for _ in 0..connections {
            let mut session = S::open(database, connection)?;
            answers.push(ready(&mut session)?);
            let orders = orders.clone();
            let thread = Builder::new().spawn(move || work(session, &orders));
            threads.push(thread.map_err(|e| Fault::Other(format!("a thread for a connection: {e}")))?);
        }
        Ok((Self { queue, threads }, answers))
    }

    async fn call<R, W>(&self, work: W) -> Result<R, Fault>
    where
        R: Send + 'static,
        W: for<'a> FnOnce(&mut S) -> R + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let work = move |session: &mut S| {
            let done = catch_unwind(AssertUnwindSafe(|| work(session)));
            // Whoever asked is gone only when the process is about to end.
            let _sent = answer.send(done);
        };
        self.queue.send(Box::new(work)).map_err(|_| Fault::Other("no thread is left for the connection".into()))?;
        match answered.await {
            Ok(done) => done.map_err(|panic| panicked(&*panic)),
            Err(_) => Err(Fault::Other("the thread of the connection has ended".into())),
        }
    }

    async fn close(self) -> Result<(), Fault> {
        drop(self.queue);
        self.threads.into_iter().try_for_each(|thread| thread.join().map_err(|panic| panicked(&*panic)))
    }
}
