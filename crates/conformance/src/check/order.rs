//! The order of steps, and roles that end with another role.

use litelab_protocol::generator::{Stream, below};
use litelab_protocol::{Executor, Order, Transaction, TrialResult, Until};

use super::{Found, Wrong, ensure, passed, skipped, timely, tries};
use crate::draft::{Draft, TABLE, count, insert, read, slow_insert};
use crate::subject::Subject;

fn committed(result: &TrialResult, name: &str) -> u64 {
    result.operations.iter().filter(|o| o.transaction == name).map(|o| o.committed).sum()
}

pub fn order(subject: &Subject<'_>) -> Found {
    let path = subject.database("cycle.db", TABLE)?;
    let draft = || Draft::new(subject).transaction(insert()).transaction(read());
    let trial = draft().on(&path).role("r", 1, &["insert", "insert", "read"], count(8)).build();
    let heard = subject.run(&trial)?;
    let (inserts, reads) = (committed(&heard.result, "insert"), committed(&heard.result, "read"));
    ensure!(
        (inserts, reads) == (6, 2),
        "in turn, 8 of insert, insert, read are 6 and 2, and it did {inserts} and {reads}"
    );

    let path = subject.database("weighted.db", TABLE)?;
    let all = 90;
    let mut trial = draft().on(&path).role("mix", 2, &["insert", "read"], count(all)).build();
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
    let (inserts, reads) = (committed(&heard.result, "insert"), committed(&heard.result, "read"));
    ensure!(
        (inserts, reads) == (due, all - due),
        "by weight, {due} and {} of {all} are due, and it did {inserts} and {reads}",
        all - due
    );
    passed(format!("6 and 2 in turn; {due} and {} of {all} by weight", all - due))
}

/// Readers run until the writer has ended, whose duration is known from its pauses.
pub fn until_role(subject: &Subject<'_>) -> Found {
    if subject.executor() == Executor::Processes {
        return skipped("a process cannot see the end of another one's role");
    }
    tries(|tried| reads_until(subject, tried)).and_then(passed)
}

fn reads_until(subject: &Subject<'_>, tried: u32) -> Result<String, Wrong> {
    let path = subject.database(&format!("until-{tried}.db"), TABLE)?;
    // The pause is outside the transaction, so that it has the same length under every sharing.
    let mut trial = Draft::new(subject)
        .on(&path)
        .transaction(slow_insert(0))
        .transaction(Transaction { name: "look".into(), ..read() })
        .role("w", 1, &["insert"], count(8))
        .role("r", 1, &["look"], Until::Role { name: "w".into() })
        .build();
    trial.roles[0].load = litelab_protocol::Load::Closed { think_us: 10_000 };
    trial.roles[1].load = litelab_protocol::Load::Closed { think_us: 1_000 };
    let heard = subject.run(&trial)?;
    let reads = committed(&heard.result, "look");
    let took = heard.result.elapsed_ns / 1_000_000;
    ensure!(committed(&heard.result, "insert") == 8, "its writer did not do its 8 transactions");
    timely!(reads > 1, "its reader made {reads} reads while the writer took 70 ms");
    ensure!(took >= 70, "the writer takes 80 ms, and the trial took {took} ms");
    timely!(took < 600, "the writer takes 80 ms, and the trial took {took} ms");
    Ok(format!("{reads} reads in {took} ms"))
}
