//! The lies: what each driver changes in the trial it passes on, and in what it hears back.

use std::collections::BTreeMap;

use litelab_protocol::histogram::Histogram;
use litelab_protocol::{
    Begin, ConnectionSettings, Database, Executor, Fetch, Load, Message, Operation, Order, Sharing, Tick, Trial,
    TrialResult, Until, WorkerResult, codes,
};

use crate::histogram::map;
use crate::{server, settings};

macro_rules! faults {
    ($($(#[$about:meta])* $variant:ident = $name:literal,)*) => {
        /// A way to be wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault { $($(#[$about])* $variant,)* }

        impl Fault {
            /// All of them with the names of their drivers.
            pub const ALL: &[(Self, &'static str)] = &[$((Self::$variant, $name),)*];
        }
    };
}

faults! {
    /// Takes an option it does not know for none.
    AcceptsAnyOption = "accepts-any-option",
    /// Runs an open load as fast as it can.
    ClosesLoop = "closes-loop",
    /// Leaves every statement to autocommit.
    CommitsPiecemeal = "commits-piecemeal",
    /// A transaction without the row it needed counts as done.
    CountsEmptyAsCommitted = "counts-empty-as-committed",
    /// Ends with exit code 9 after the first line that follows `go`.
    Dies = "dies",
    /// Is ended by a signal there.
    DiesBySignal = "dies-by-signal",
    /// Numbers its rows by its own count, so that every worker draws the same.
    DrawsAnew = "draws-anew",
    /// Says one line that does not end.
    EndlessLine = "endless-line",
    /// Gives its result, and exit code 3.
    ExitsBadly = "exits-badly",
    /// Fetches the first row where all are asked for.
    FetchesOne = "fetches-one",
    /// Drops a database in memory without its teardown.
    ForgetsTeardown = "forgets-teardown",
    /// Says nothing after `go`.
    Hangs = "hangs",
    /// Says nothing at all.
    HangsBeforeReady = "hangs-before-ready",
    /// Reports no settings at the end.
    HidesSettings = "hides-settings",
    /// Reports errors without the database's message.
    HidesMessages = "hides-messages",
    /// Forgets the arrivals it never started.
    HidesUnserved = "hides-unserved",
    /// Gives every worker a connection of its own, whatever was asked for.
    IgnoresSharing = "ignores-sharing",
    /// Leaves out `synchronous` and reports what is in effect.
    IgnoresPragma = "ignores-pragma",
    /// Tries once.
    IgnoresRetry = "ignores-retry",
    /// Never pauses between transactions.
    IgnoresThink = "ignores-think",
    /// Takes steps in turn where weights were given.
    IgnoresWeights = "ignores-weights",
    /// Leaves out all PRAGMAs and reports that they are in effect.
    LiesAboutPragma = "lies-about-pragma",
    /// Leaves out `synchronous` and reports that it is in effect.
    LiesAboutSynchronous = "lies-about-synchronous",
    /// Deletes one row before it gives its result.
    LosesRow = "loses-row",
    /// Measures from `go` on.
    MeasuresWarmUp = "measures-warm-up",
    /// What began in the window counts as ended there, however long it took.
    CountsBegun = "counts-begun",
    /// All that was committed counts as ended in the window, warm-up and drain included.
    CountsWholeTrial = "counts-whole-trial",
    /// A worker that hangs is left out of the result.
    HidesUnfinished = "hides-unfinished",
    /// A worker that hangs is waited for, beyond the drain.
    WaitsForEver = "waits-for-ever",
    /// One committed transaction too many.
    Miscounts = "miscounts",
    /// One too many in every count and histogram: only the database knows.
    MiscountsConsistently = "miscounts-consistently",
    /// Reports no progress.
    NeverTicks = "never-ticks",
    /// Ends without a result, and exit code 0.
    NoLastLine = "no-last-line",
    /// Leaves the probe out.
    NoProbe = "no-probe",
    /// Works on the first database only.
    OneDatabase = "one-database",
    /// Goes on for twenty seconds when nobody hears it any more.
    OutlivesCore = "outlives-core",
    /// Reports errors by their primary codes.
    PrimaryCodes = "primary-codes",
    /// Prints for people after `go`.
    PrintsGarbage = "prints-garbage",
    /// Every timer is twice as late.
    ProbeExaggerates = "probe-exaggerates",
    /// No timer is ever late.
    ProbeSeesNothing = "probe-sees-nothing",
    /// No lie: a server's driver. So are the next ones, but for what they are named after.
    Server = "server",
    /// One committed transaction too many in every count and histogram.
    ServerCountsMore = "server-counts-more",
    /// Reports every error as one that the server's manual calls internal, and none with the reason of a failed trial.
    ServerHidesErrors = "server-hides-errors",
    /// Deletes one row before it gives its result.
    ServerLosesRow = "server-loses-row",
    /// Reports its settings when they are in effect, and takes them back before each transaction.
    ServerTakesSettingsBack = "server-takes-settings-back",
    /// Tries once.
    ServerTriesOnce = "server-tries-once",
    /// Reports at the end the settings that it reported at the start.
    RepeatsSettings = "repeats-settings",
    /// Response time from the actual start: coordinated omission.
    SkipsLateStarts = "skips-late-starts",
    /// Half of every latency.
    SlowClock = "slow-clock",
    /// Does not wait for `go`.
    StartsEarly = "starts-early",
    /// A role that should end with another one has a time of its own.
    StopsLate = "stops-late",
    /// No lie: orchestrations, each a row that the honest runner inserts. So are the next ones, but for what they are named
    /// after.
    Orchestration = "orchestration",
    /// Takes SQL as well.
    OrchestrationAcceptsSql = "orchestration-accepts-sql",
    /// Has no row for anybody.
    OrchestrationAnswersNothing = "orchestration-answers-nothing",
    /// Answers while activities are running.
    OrchestrationDoesNotWait = "orchestration-does-not-wait",
    /// One that has ended is not there.
    OrchestrationForgets = "orchestration-forgets",
    /// Leaves out all PRAGMAs and reports that they are in effect.
    OrchestrationLiesAboutPragma = "orchestration-lies-about-pragma",
    /// Reports no progress.
    OrchestrationNeverTicks = "orchestration-never-ticks",
    /// Keeps a part of what activities hand back.
    OrchestrationShrinksPayload = "orchestration-shrinks-payload",
    /// No lie: a task queue, made of the honest runner's SQL. So are the next ones, but for what they are named after.
    Queue = "queue",
    /// Takes SQL as well.
    QueueAcceptsSql = "queue-accepts-sql",
    /// Hands over another payload than was enqueued.
    QueueChangesPayload = "queue-changes-payload",
    /// Gives one task to two claims.
    QueueClaimsTwice = "queue-claims-twice",
    /// Looks for a task and then takes it, without a lock in between.
    QueueClaimsUnlocked = "queue-claims-unlocked",
    /// Completing a task does nothing.
    QueueCompletesNothing = "queue-completes-nothing",
    /// A task that is given back is never claimed again.
    QueueKeepsFailed = "queue-keeps-failed",
    /// Leaves out all PRAGMAs and reports that they are in effect.
    QueueLiesAboutPragma = "queue-lies-about-pragma",
    /// One task is acknowledged and never claimed.
    QueueLosesTask = "queue-loses-task",
    /// When there is no task left the last one is claimed again.
    QueueNeverEmpty = "queue-never-empty",
    /// Reports no progress.
    QueueNeverTicks = "queue-never-ticks",
    /// No error in its ticks is busy.
    TicksHideBusy = "ticks-hide-busy",
    /// Its ticks say nothing of the probe.
    TicksHideLag = "ticks-hide-lag",
    /// No lag in its ticks is longer than a millisecond.
    TicksShortenLag = "ticks-shorten-lag",
    /// Finds every hash right.
    TrustsHashes = "trusts-hashes",
    /// Draws from another seed.
    WrongValues = "wrong-values",
}

impl Fault {
    /// By the name of its driver.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, n)| *n == name).map(|(fault, _)| *fault)
    }

    /// Its driver's name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(fault, _)| *fault == self).map(|(_, name)| *name).unwrap_or_default()
    }

    /// The interface that it offers in place of SQL.
    pub fn interface(self) -> Option<&'static str> {
        let name = self.name();
        ["queue", "orchestration"].into_iter().find(|interface| name.starts_with(interface))
    }

    /// What its driver lists. The honest runner has more, but each further one is examined in every sharing.
    pub fn executors(self) -> Vec<Executor> {
        match self {
            Self::ProbeExaggerates | Self::ProbeSeesNothing | Self::TicksShortenLag => {
                vec![Executor::Threads, Executor::Inline]
            }
            _ => vec![Executor::Threads, Executor::Processes],
        }
    }

    /// What is passed on in place of the trial.
    pub fn falsify_trial(self, trial: &mut Trial) {
        match self {
            Self::AcceptsAnyOption => trial.connection.options.clear(),
            Self::ClosesLoop => trial.roles.iter_mut().for_each(|r| r.load = Load::Closed { think_us: 0 }),
            Self::CommitsPiecemeal => trial.transactions.iter_mut().for_each(|t| t.begin = Begin::None),
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

    /// What is reported in place of the settings, at the start and at the end; `asked` is the trial as it came.
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

    /// What is reported in place of a tick.
    pub fn falsify_tick(self, tick: &mut Tick) {
        match self {
            Self::TicksHideBusy => tick.counts.iter_mut().for_each(|count| count.busy = 0),
            Self::TicksHideLag => tick.lag_ns = None,
            Self::TicksShortenLag => tick.lag_ns = tick.lag_ns.map(|lag| lag.min(1_000_000)),
            _ => {}
        }
    }

    /// What is reported in place of the result.
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

/// Another count of what ended in the window, and of each worker, who is given that of its role: consistent where a role has
/// one worker and one transaction.
fn ended(result: &mut TrialResult, of: fn(&Operation) -> u64, by: fn(&WorkerResult, u64) -> u64) {
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

/// One more committed transaction, wherever one shows.
fn one_more(operation: &mut Operation) {
    operation.committed += 1;
    operation.ended += 1;
    operation.measured += 1;
    let typical = operation.service.quantile(0.5).unwrap_or(1_000);
    operation.service.record(typical);
    let timers = operation.timers.iter_mut().filter(|(name, _)| ["wait", "response", "lag"].contains(&name.as_str()));
    timers.for_each(|(_, timer)| timer.record(typical));
}

/// Whether a line is one of those after `go`.
pub fn is_after_go(line: &Message) -> bool {
    !matches!(line, Message::Ready(_))
}
