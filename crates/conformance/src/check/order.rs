//! The order of steps, and roles that end with another role.

use litelab_protocol::generator::{Stream, below};
use litelab_protocol::{Executor, Load, Order, Transaction, Until};

use super::{Found, passed, skipped};
use crate::draft::{Draft, TABLE, count, insert, read, slow_insert};
use crate::error::{ensure, timely};
use crate::subject::Subject;

pub fn order(subject: &Subject<'_>) -> Found {
    let database = subject.database(TABLE)?;
    let draft = || Draft::new(subject).transaction(insert()).transaction(read());
    let trial = draft().on(&*database).role("r", 1, &["insert", "insert", "read"], count(8)).build();
    let heard = subject.run(&trial)?;
    let (inserts, reads) = (heard.done("insert").0, heard.done("read").0);
    ensure!(
        (inserts, reads) == (6, 2),
        "in turn, 8 of insert, insert, read are 6 and 2, and it did {inserts} and {reads}"
    );

    let database = subject.database(TABLE)?;
    let all = 90;
    let mut trial = draft().on(&*database).role("mix", 2, &["insert", "read"], count(all)).build();
    trial.seed = 77;
    trial.roles[0].order = Order::Weighted;
    for (step, weight) in trial.roles[0].steps.iter_mut().zip([3, 7]) {
        step.weight = weight;
    }
    // Worker k runs the numbers k, k + 2, …, and each number has its own row of the stream: together the workers draw
    // rows 0 to 89.
    let stream = Stream::new(trial.seed, "mix.step");
    let due = (0..all).filter(|&number| below(stream.word(number), 10) < 3).count() as u64;
    let heard = subject.run(&trial)?;
    let (inserts, reads) = (heard.done("insert").0, heard.done("read").0);
    ensure!(
        (inserts, reads) == (due, all - due),
        "by weight, {due} and {} of {all} are due, and it did {inserts} and {reads}",
        all - due
    );
    passed(format!("6 and 2 in turn; {due} and {} of {all} by weight", all - due))
}

/// Readers run until the writer has ended, whose duration is known from its pauses.
pub fn until_role(subject: &Subject<'_>) -> Found {
    if subject.executor == Executor::Processes {
        return skipped("a process cannot see the end of another one's role");
    }
    let database = subject.database(TABLE)?;
    // The pause is outside the transaction, so that it has the same length under every sharing.
    let mut trial = Draft::new(subject)
        .on(&*database)
        .transaction(slow_insert(0))
        .transaction(Transaction { name: "look".into(), ..read() })
        .role("w", 1, &["insert"], count(8))
        .role("r", 1, &["look"], Until::Role { name: "w".into() })
        .build();
    trial.roles[0].load = Load::Closed { think_us: 10_000 };
    trial.roles[1].load = Load::Closed { think_us: 1_000 };
    let heard = subject.run(&trial)?;
    let reads = heard.done("look").0;
    let took = heard.result.elapsed_ns / 1_000_000;
    ensure!(heard.done("insert").0 == 8, "its writer did not do its 8 transactions");
    timely!(reads > 1, "its reader made {reads} reads while the writer took 70 ms");
    ensure!(took >= 70, "the writer takes 80 ms, and the trial took {took} ms");
    timely!(took < 600, "the writer takes 80 ms, and the trial took {took} ms");
    passed(format!("{reads} reads in {took} ms"))
}
