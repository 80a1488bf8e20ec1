//! Executor `dedicated` of a driver whose calls block: threads that own a connection each and take work from one queue,
//! first come, first served, as an application would write it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{Builder, JoinHandle};

use crossbeam_channel::{Receiver, Sender, unbounded};
use litelab_protocol::{Connection, Database};
use tokio::sync::oneshot;

use super::{Library, Reply, Request};
use crate::connections::Setup;
use crate::fault::Fault;
use crate::session::{Open, Settings};
use crate::threads::panicked;

/// One thread for each connection, and their queue.
pub struct DedicatedThreads<S> {
    queue: Sender<Work<S>>,
    threads: Vec<JoinHandle<()>>,
}

type Work<S> = Box<dyn FnOnce(&mut S) + Send>;

fn serve<S>(mut session: S, queue: &Receiver<Work<S>>) {
    for work in queue {
        work(&mut session);
    }
}

impl<S: Open> Library for DedicatedThreads<S> {
    async fn open(
        database: &Database,
        connection: &Connection,
        connections: u32,
        setup: &Setup,
    ) -> Result<(Self, Vec<Settings>), Fault> {
        let (queue, orders) = unbounded();
        let (mut threads, mut settings) = (Vec::new(), Vec::new());
        for _ in 0..connections {
            let mut session = S::open(database, connection)?;
            settings.push(setup.run(&mut session)?);
            let orders = orders.clone();
            let thread = Builder::new().spawn(move || serve(session, &orders));
            threads.push(thread.map_err(|e| Fault::Other(format!("a thread for a connection: {e}")))?);
        }
        Ok((Self { queue, threads }, settings))
    }

    async fn run(&self, request: Request<'static>) -> Result<Reply, Fault> {
        let (answer, answered) = oneshot::channel();
        let work = move |session: &mut S| {
            let done = catch_unwind(AssertUnwindSafe(|| request.run(session)));
            // The receiver is dropped only when the process is about to end.
            let _sent = answer.send(done);
        };
        self.queue.send(Box::new(work)).map_err(|_| Fault::Other("no thread is left for the connection".into()))?;
        match answered.await {
            Ok(done) => done.unwrap_or_else(|panic| Err(panicked(&*panic))),
            Err(_) => Err(Fault::Other("the thread of the connection has ended".into())),
        }
    }

    async fn close(self) -> Result<(), Fault> {
        drop(self.queue);
        self.threads.into_iter().try_for_each(|thread| thread.join().map_err(|panic| panicked(&*panic)))
    }
}
