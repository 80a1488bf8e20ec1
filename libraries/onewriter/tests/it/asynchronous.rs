//! Asynchronous writes and reads.

use std::future::Future;
use std::pin::pin;
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::common::{Scratch, add, notes};
use onewriter::Error;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_tasks_share_commits() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let tasks: Vec<_> = (0..200)
        .map(|i| {
            let db = db.clone();
            tokio::spawn(async move { db.write_with_async(add(&i.to_string())).await })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic").expect("written");
    }
    let count =
        db.read_with_async(|c| Ok::<i64, Error>(c.query_row("SELECT count(*) FROM note", [], |row| row.get(0))?));
    assert_eq!(count.await.expect("read"), 200);
    let counters = db.counters();
    assert!(counters.commits < counters.writes, "{counters:?}");
}

/// Polls once, without a runtime.
fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_future_dropped_before_its_turn_does_nothing_and_later_ones_go_on() {
    let scratch = Scratch::new();
    let db = scratch.open_with(scratch.options().max_queue(2));
    let (go, gone) = channel::<()>();
    let (here, arrived) = channel::<()>();
    let holder = std::thread::spawn({
        let db = db.clone();
        move || {
            db.write_with(move |_| {
                here.send(()).expect("the test waits");
                Ok::<_, Error>(gone.recv().is_ok())
            })
        }
    });
    arrived.recv().expect("the holder writes");
    {
        let mut dropped = pin!(db.write_with_async(add("dropped")));
        assert!(poll(dropped.as_mut()).is_pending());
    }
    let mut kept = pin!(db.write_with_async(add("kept")));
    assert!(poll(kept.as_mut()).is_pending());
    assert_eq!(db.counters().queued, 2, "and the queue is full");
    let mut outside = pin!(db.write_with_async(add("outside")));
    assert!(matches!(poll(outside.as_mut()), Poll::Ready(Err(Error::QueueFull))));
    assert!(matches!(db.write_with(add("outside")), Err(Error::QueueFull)));
    go.send(()).expect("the holder waits");
    holder.join().expect("no panic").expect("written");
    pollster::block_on(kept).expect("written");
    db.write_with(add("last")).expect("there is room again");
    assert_eq!(notes(&scratch.path()), ["kept", "last"]);
}

#[tokio::test]
async fn the_runtime_goes_on_while_a_write_waits() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let (go, gone) = std::sync::mpsc::channel();
    let slow = db.write_with_async(move |c| {
        assert!(gone.recv_timeout(Duration::from_secs(60)).is_ok(), "the timer fires while the closure waits");
        add("slow")(c)
    });
    let timer = tokio::time::timeout(Duration::from_millis(10), std::future::pending::<()>());
    let (slow, written) = tokio::join!(slow, async {
        assert!(timer.await.is_err());
        let written = notes(&scratch.path()).len();
        go.send(()).expect("the closure waits");
        written
    });
    assert!(slow.is_ok(), "{slow:?}");
    assert_eq!(written, 0, "the timer fired while the closure waited");
}
