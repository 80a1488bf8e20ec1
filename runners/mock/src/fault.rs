//! Faults of the mock drivers: changes to the trial that is passed on and to the messages that come back.

use std::collections::BTreeMap;

use litelab_protocol::histogram::Histogram;
use litelab_protocol::{
    Begin, ConnectionSettings, Database, Executor, Fetch, Load, Order, Prepare, Sharing, Tick, TransactionResult,
    Trial, TrialResult, Until, WorkerResult, codes,
};

use crate::{server, settings};

macro_rules! faults {
    ($($(#[$about:meta])* $variant:ident = $name:literal,)*) => {
        /// Wrong behaviour of a driver.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault { $($(#[$about])* $variant,)* }

        impl Fault {
            /// All faults with the names of their drivers.
            pub const ALL: &[(Self, &'static str)] = &[$((Self::$variant, $name),)*];
        }
    };
}

faults! {
    /// Ignores an unknown option.
    AcceptsAnyOption = "accepts-any-option",
    /// Runs an open load as a closed one.
    ClosesLoop = "closes-loop",
    /// Runs every statement under autocommit.
    CommitsPiecemeal = "commits-piecemeal",
    /// Compiles a statement at each execution.
    CompilesEach = "compiles-each",
    /// Compiles a statement once for a connection.
    CompilesOnce = "compiles-once",
    /// Counts a transaction without its required row as committed.
    CountsEmptyAsCommitted = "counts-empty-as-committed",
    /// Ends with exit code 9 after the first line that follows `go`.
    Dies = "dies",
    /// Is killed by a signal at the same point.
    DiesBySignal = "dies-by-signal",
    /// Each worker counts its own rows, so that all workers draw the same values.
    DrawsAnew = "draws-anew",
    /// Writes one line without an end.
    EndlessLine = "endless-line",
    /// Sends ticks without a pause and without an end.
    EndlessTicks = "endless-ticks",
    /// Sends its result, and exits with code 3.
    ExitsBadly = "exits-badly",
    /// Fetches the first row instead of all.
    FetchesOne = "fetches-one",
    /// Drops a database in memory without its teardown.
    ForgetsTeardown = "forgets-teardown",
    /// Sends nothing after `go`.
    Hangs = "hangs",
    /// Sends nothing at all.
    HangsBeforeReady = "hangs-before-ready",
    /// Reports no settings at the end.
    HidesSettings = "hides-settings",
    /// Reports errors without the database's message.
    HidesMessages = "hides-messages",
    /// Does not report what becomes of an upgrade. The only fault that inspects.
    HidesUpgrade = "hides-upgrade",
    /// Does not count arrivals that it never started.
    HidesUnserved = "hides-unserved",
    /// Opens a connection for each worker under every sharing.
    IgnoresSharing = "ignores-sharing",
    /// Does not set `synchronous`, and reports the value in effect.
    IgnoresPragma = "ignores-pragma",
    /// Makes only one attempt.
    IgnoresRetry = "ignores-retry",
    /// Never pauses between transactions.
    IgnoresThink = "ignores-think",
    /// Executes weighted steps in turn.
    IgnoresWeights = "ignores-weights",
    /// Binds what a transaction yielded that was then rolled back: in the suite's trial, the number of `spoil`.
    KeepsRolledBack = "keeps-rolled-back",
    /// Sets no PRAGMA and reports all as in effect.
    LiesAboutPragma = "lies-about-pragma",
    /// Does not set `synchronous` and reports it as in effect.
    LiesAboutSynchronous = "lies-about-synchronous",
    /// Deletes one row before it sends its result.
    LosesRow = "loses-row",
    /// Includes the warm-up in its measurements.
    MeasuresWarmUp = "measures-warm-up",
    /// Counts transactions that began in the window as ended in it, regardless of their ends.
    CountsBegun = "counts-begun",
    /// Counts all commits as ended in the window, including those in warm-up and drain.
    CountsWholeTrial = "counts-whole-trial",
    /// Omits a worker that hangs from the result.
    HidesUnfinished = "hides-unfinished",
    /// Waits for a worker that hangs, beyond the drain.
    WaitsForEver = "waits-for-ever",
    /// Counts one committed transaction too many.
    Miscounts = "miscounts",
    /// Adds one transaction to every count and histogram; only the database disagrees.
    MiscountsConsistently = "miscounts-consistently",
    /// Sends no ticks.
    NeverTicks = "never-ticks",
    /// Ends without a result, with exit code 0.
    NoLastLine = "no-last-line",
    /// Runs no probe.
    NoProbe = "no-probe",
    /// Uses only the first of several databases.
    OneDatabase = "one-database",
    /// Continues for twenty seconds after the core has exited.
    OutlivesCore = "outlives-core",
    /// Reports errors by their primary codes.
    PrimaryCodes = "primary-codes",
    /// Prints a line that is not JSON after `go`.
    PrintsGarbage = "prints-garbage",
    /// Prints a line for people when its input ends.
    PrintsGoodbye = "prints-goodbye",
    /// Doubles every delay of the probe.
    ProbeExaggerates = "probe-exaggerates",
    /// Reports no delay of the probe.
    ProbeSeesNothing = "probe-sees-nothing",
    /// No fault: a driver of a server. The next ones differ from it only in the behaviour of their names.
    Server = "server",
    /// Adds one committed transaction to every count and histogram.
    ServerCountsMore = "server-counts-more",
    /// Reports every error as one that the server's manual calls internal, and a failed trial without a reason.
    ServerHidesErrors = "server-hides-errors",
    /// Deletes one row before it sends its result.
    ServerLosesRow = "server-loses-row",
    /// Reports its settings while they are in effect, and resets them before each transaction.
    ServerTakesSettingsBack = "server-takes-settings-back",
    /// Makes only one attempt.
    ServerTriesOnce = "server-tries-once",
    /// Reports at the end the settings that it reported at the start.
    RepeatsSettings = "repeats-settings",
    /// Measures response times from the actual start: coordinated omission.
    SkipsLateStarts = "skips-late-starts",
    /// Halves every latency.
    SlowClock = "slow-clock",
    /// Sends its result twice.
    SpeaksAfterResult = "speaks-after-result",
    /// Does not wait for `go`.
    StartsEarly = "starts-early",
    /// Ends a role after a fixed time instead of with another role.
    StopsLate = "stops-late",
    /// No fault: orchestrations, each a row that the honest runner inserts. The next ones differ from it only in the
    /// behaviour of their names.
    Orchestration = "orchestration",
    /// Accepts SQL in addition to operations.
    OrchestrationAcceptsSql = "orchestration-accepts-sql",
    /// Returns no row from any operation.
    OrchestrationAnswersNothing = "orchestration-answers-nothing",
    /// Returns while activities are still running.
    OrchestrationDoesNotWait = "orchestration-does-not-wait",
    /// Loses an orchestration that has ended.
    OrchestrationForgets = "orchestration-forgets",
    /// Sets no PRAGMA and reports all as in effect.
    OrchestrationLiesAboutPragma = "orchestration-lies-about-pragma",
    /// Loses the end of an orchestration, and keeps its beginning.
    OrchestrationLosesEnd = "orchestration-loses-end",
    /// Sends no ticks.
    OrchestrationNeverTicks = "orchestration-never-ticks",
    /// Discards a part of the payloads that activities return.
    OrchestrationShrinksPayload = "orchestration-shrinks-payload",
    /// No fault: a task queue in SQL that the honest runner runs. The next ones differ from it only in the behaviour of
    /// their names.
    Queue = "queue",
    /// Accepts SQL in addition to operations.
    QueueAcceptsSql = "queue-accepts-sql",
    /// Returns another payload than was enqueued.
    QueueChangesPayload = "queue-changes-payload",
    /// Returns one task from two claims.
    QueueClaimsTwice = "queue-claims-twice",
    /// Finds a task and claims it in a second transaction, without a lock in between.
    QueueClaimsUnlocked = "queue-claims-unlocked",
    /// Completes no task.
    QueueCompletesNothing = "queue-completes-nothing",
    /// Never returns a failed task from a claim again.
    QueueKeepsFailed = "queue-keeps-failed",
    /// Sets no PRAGMA and reports all as in effect.
    QueueLiesAboutPragma = "queue-lies-about-pragma",
    /// Accepts one task that no claim ever returns.
    QueueLosesTask = "queue-loses-task",
    /// Claims the last task again when none is left.
    QueueNeverEmpty = "queue-never-empty",
    /// Sends no ticks.
    QueueNeverTicks = "queue-never-ticks",
    /// Counts no error as busy in its ticks.
    TicksHideBusy = "ticks-hide-busy",
    /// Omits the delay of the probe from its ticks.
    TicksHideLag = "ticks-hide-lag",
    /// Reports no delay above 1 ms in its ticks.
    TicksShortenLag = "ticks-shorten-lag",
    /// Reports every hash as correct.
    TrustsHashes = "trusts-hashes",
    /// Draws values from another seed.
    WrongValues = "wrong-values",
}

impl Fault {
    /// Finds a fault by the name of its driver.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, n)| *n == name).map(|(fault, _)| *fault)
    }

    /// Whether it belongs to the driver of a database server.
    pub fn is_of_a_server(self) -> bool {
        self.name().starts_with("server")
    }

    /// Name of the driver.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(fault, _)| *fault == self).map(|(_, name)| *name).unwrap_or_default()
    }

    /// The interface that it offers in place of SQL.
    pub fn interface(self) -> Option<&'static str> {
        let name = self.name();
        ["queue", "orchestration"].into_iter().find(|interface| name.starts_with(interface))
    }

    /// Executors that the driver lists. The honest runner has more, but the conformance suite checks each one in every
    /// sharing.
    pub fn executors(self) -> Vec<Executor> {
        match self {
            Self::ProbeExaggerates | Self::ProbeSeesNothing | Self::TicksShortenLag => {
                vec![Executor::Threads, Executor::Inline]
            }
            _ => vec![Executor::Threads, Executor::Processes],
        }
    }

    /// Changes the trial that is passed on.
    pub fn falsify_trial(self, trial: &mut Trial) {
        match self {
            Self::AcceptsAnyOption => trial.connection.options.clear(),
            Self::ClosesLoop => trial.roles.iter_mut().for_each(|r| r.load = Load::Closed { think_us: 0 }),
            Self::CommitsPiecemeal => trial.transactions.iter_mut().for_each(|t| t.begin = Begin::None),
            Self::CompilesEach => trial.prepare = Prepare::Each,
            Self::CompilesOnce => trial.prepare = Prepare::Once,
            Self::DrawsAnew => {
                for step in trial.roles.iter_mut().flat_map(|r| &mut r.steps) {
                    (step.stride, step.offset) = (1, 0);
                }
            }
            Self::FetchesOne => {
                for statement in trial.transactions.iter_mut().flat_map(|t| &mut t.statements) {
                    if statement.fetch != Fetch::None {
                        statement.fetch = Fetch::First;
                    }
                }
            }
            Self::ForgetsTeardown => {
                for database in &mut trial.databases {
                    if let Database::Memory { teardown, .. } = database {
                        teardown.clear();
                    }
                }
            }
            Self::IgnoresSharing => trial.sharing = Sharing::OwnConnection,
            Self::IgnoresPragma | Self::LiesAboutSynchronous => {
                trial.connection.settings.retain(|p| p.name != "synchronous");
            }
            Self::IgnoresRetry | Self::ServerTriesOnce => trial.retry.attempts = 1,
            Self::ServerTakesSettingsBack => server::take_back_settings(trial),
            Self::IgnoresThink => {
                for role in &mut trial.roles {
                    if let Load::Closed { think_us } = &mut role.load {
                        *think_us = 0;
                    }
                }
            }
            Self::IgnoresWeights => trial.roles.iter_mut().for_each(|r| r.order = Order::Cycle),
            Self::KeepsRolledBack => {
                let spoiled = trial.transactions.iter().find(|t| t.name == "spoil").map(|t| t.params.clone());
                let drawn = spoiled.and_then(|params| params.into_iter().find(|p| p.name == "row"));
                let after = trial.transactions.iter_mut().find(|t| t.name == "after");
                if let (Some(drawn), Some(after)) = (drawn, after) {
                    after.params[0].source = drawn.source;
                }
            }
            Self::LiesAboutPragma | Self::OrchestrationLiesAboutPragma | Self::QueueLiesAboutPragma => {
                trial.connection.settings.clear()
            }
            Self::MeasuresWarmUp => trial.warmup_ms = 0,
            Self::WaitsForEver => trial.drain_ms = u64::MAX,
            Self::NoProbe => trial.probe_ms = 0,
            Self::OneDatabase => trial.databases.truncate(1),
            Self::StopsLate => {
                for role in &mut trial.roles {
                    if let Until::Role { .. } = role.until {
                        role.until = Until::Time { ms: 1_000 };
                    }
                }
            }
            Self::WrongValues => trial.seed ^= 1,
            _ => {}
        }
    }

    /// Changes the reported settings, at the start and at the end; `asked` is the original trial.
    pub fn falsify_settings(self, asked: &Trial, connections: &mut [ConnectionSettings]) {
        let claims = |name: &str| match self {
            Self::LiesAboutPragma | Self::OrchestrationLiesAboutPragma | Self::QueueLiesAboutPragma => true,
            Self::LiesAboutSynchronous => name == "synchronous",
            _ => false,
        };
        let expected = settings::expected(&asked.connection.settings, &asked.connection.read_back);
        for connection in connections {
            for (name, value) in &expected {
                if claims(name) && asked.connection.settings.iter().any(|p| p.name == *name) {
                    connection.settings.insert(name.clone(), value.clone());
                }
            }
        }
    }

    /// Changes a reported tick.
    pub fn falsify_tick(self, tick: &mut Tick) {
        match self {
            Self::TicksHideBusy => tick.counts.iter_mut().for_each(|count| count.busy = 0),
            Self::TicksHideLag => tick.lag_ns = None,
            Self::TicksShortenLag => tick.lag_ns = tick.lag_ns.map(|lag| lag.min(1_000_000)),
            _ => {}
        }
    }

    /// Changes the reported result; `asked` is the original trial.
    pub fn falsify_result(self, asked: &Trial, result: &mut TrialResult) {
        self.falsify_settings(asked, &mut result.connections);
        match self {
            Self::HidesSettings => result.connections.clear(),
            Self::Miscounts => result.operations.iter_mut().take(1).for_each(|o| o.committed += 1),
            Self::ServerHidesErrors => {
                for operation in &mut result.operations {
                    operation.errors = std::mem::take(&mut operation.errors)
                        .into_values()
                        .map(|count| ("internal_error".to_owned(), count))
                        .collect();
                }
            }
            Self::MiscountsConsistently | Self::ServerCountsMore => {
                result.operations.iter_mut().take(1).for_each(one_more);
                result.workers.iter_mut().take(1).for_each(|w| (w.committed, w.ended) = (w.committed + 1, w.ended + 1));
            }
            Self::MeasuresWarmUp => result.measured_ns -= result.measured_ns.min(asked.warmup_ms * 1_000_000),
            Self::CountsEmptyAsCommitted => {
                for operation in &mut result.operations {
                    let empty = std::mem::take(&mut operation.empty);
                    (0..empty).for_each(|_| one_more(operation));
                    if let Some(worker) = result.workers.iter_mut().find(|w| w.role == operation.role) {
                        worker.committed += empty;
                        worker.ended += empty;
                    }
                }
            }
            Self::CountsBegun => ended(result, |o| o.measured, |_, of_role| of_role),
            Self::CountsWholeTrial => ended(result, |o| o.committed, |w, _| w.committed),
            Self::HidesUnfinished => result.operations.iter_mut().for_each(|o| o.unfinished.clear()),
            Self::HidesMessages => {
                let errors = result.operations.iter_mut().flat_map(|o| o.errors.values_mut());
                errors.for_each(|count| count.message = None);
            }
            Self::HidesUnserved => result.operations.iter_mut().for_each(|o| o.unserved = 0),
            Self::ProbeExaggerates => falsify(&mut result.timers, "probe", |late| 2 * late),
            Self::ProbeSeesNothing => falsify(&mut result.timers, "probe", |_| 0),
            Self::TrustsHashes => {
                result.operations.iter_mut().for_each(|o| o.counters.retain(|name, _| name != "mismatches"))
            }
            Self::PrimaryCodes => {
                for operation in &mut result.operations {
                    for (name, count) in std::mem::take(&mut operation.errors) {
                        let primary = codes::primary(&name).map_or(name, str::to_owned);
                        let sum = operation.errors.entry(primary).or_default();
                        sum.add(count);
                    }
                }
            }
            Self::SkipsLateStarts => {
                for operation in &mut result.operations {
                    if let Some(response) = operation.timers.get_mut("response") {
                        response.clone_from(&operation.service);
                    }
                    falsify(&mut operation.timers, "lag", |_| 0);
                }
            }
            Self::SlowClock => {
                for operation in &mut result.operations {
                    operation.service = map(&operation.service, |ns| ns / 2);
                    falsify(&mut operation.timers, "response", |ns| ns / 2);
                }
            }
            _ => {}
        }
    }
}

/// Replaces the counts of transactions that ended in the window: `of` computes those of operations, `by` those of
/// workers, from the count of the worker's role. Consistent if a role has one worker and one transaction.
fn ended(result: &mut TrialResult, of: fn(&TransactionResult) -> u64, by: fn(&WorkerResult, u64) -> u64) {
    result.operations.iter_mut().for_each(|o| o.ended = of(o));
    for worker in &mut result.workers {
        let of_role = result.operations.iter().filter(|o| o.role == worker.role).map(|o| o.ended).sum();
        worker.ended = by(worker, of_role);
    }
}

fn falsify(timers: &mut BTreeMap<String, Histogram>, name: &str, falsified: fn(u64) -> u64) {
    if let Some(timer) = timers.get_mut(name) {
        *timer = map(timer, falsified);
    }
}

/// A histogram of the same number of values, each changed.
fn map(histogram: &Histogram, change: impl Fn(u64) -> u64) -> Histogram {
    let mut changed = Histogram::new();
    histogram.recorded().for_each(|(nanos, count)| changed.record_n(change(nanos), count));
    changed
}

/// Adds one committed transaction to every count that includes it.
fn one_more(operation: &mut TransactionResult) {
    operation.committed += 1;
    operation.ended += 1;
    operation.measured += 1;
    let typical = operation.service.quantile(0.5).unwrap_or(1_000);
    operation.service.record(typical);
    let timers = operation.timers.iter_mut().filter(|(name, _)| ["wait", "response", "lag"].contains(&name.as_str()));
    timers.for_each(|(_, timer)| timer.record(typical));
}
