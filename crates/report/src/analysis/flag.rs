//! Notes on a variant's numbers, from the flags of all its trials.

use std::collections::BTreeMap;

use litelab_record::outcome::Flag;
use serde::Serialize;

use crate::number;

/// Kind of a problem with a variant, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// Trials or transactions failed.
    Failed,
    /// Transactions did nothing.
    Empty,
    /// An offered load or a bound of the study was not kept.
    Missed,
    /// Trials were too short to judge.
    Short,
    /// The variant was not run.
    Skipped,
}

/// Kind of a flag, with the role and transaction that it concerns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Little,
    Overloaded(String),
    Failures,
    Idle { role: String, transaction: String, empty: bool },
    Short,
    Unfinished,
    Late,
}

/// Flags of one kind over all trials: the worst value and the counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Seen {
    trials: u64,
    /// Share, difference or seconds, depending on the kind.
    worst: f64,
    /// Number of unserved arrivals, or of transactions that failed, did nothing or did not end.
    count: u64,
    of: u64,
}

/// Flags of a variant, summed over its trials.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flags(BTreeMap<Kind, Seen>);

impl Flags {
    /// Adds the flags of a trial.
    pub fn add(&mut self, flags: &[Flag]) {
        for flag in flags {
            let (kind, worst, count, of) = match flag {
                Flag::LittlesLaw { difference } => (Kind::Little, *difference, 0, 0),
                Flag::Overloaded { role, achieved, unserved } => {
                    (Kind::Overloaded(role.clone()), *achieved, *unserved, 0)
                }
                Flag::Short { seconds, ended, .. } => (Kind::Short, *seconds, *ended, 0),
                Flag::Unfinished { count } => (Kind::Unfinished, 0.0, *count, 0),
                Flag::Failures { failed, of } => (Kind::Failures, 0.0, *failed, *of),
                Flag::Idle { role, transaction, count, empty } => {
                    let (role, transaction) = (role.clone(), transaction.clone());
                    (Kind::Idle { role, transaction, empty: *empty }, 0.0, *count, 0)
                }
                Flag::LateSamples { share } => (Kind::Late, *share, 0, 0),
            };
            let seen = self.0.get(&kind).copied().unwrap_or(Seen { worst, ..Seen::default() });
            let worst = match kind {
                Kind::Little => {
                    if worst.abs() > seen.worst.abs() {
                        worst
                    } else {
                        seen.worst
                    }
                }
                Kind::Overloaded(_) | Kind::Short => worst.min(seen.worst),
                Kind::Failures | Kind::Idle { .. } | Kind::Late | Kind::Unfinished => worst.max(seen.worst),
            };
            let count = seen.count.saturating_add(count);
            self.0.insert(kind, Seen { trials: seen.trials + 1, worst, count, of: seen.of.saturating_add(of) });
        }
    }

    /// Number of trials that are too short to judge.
    #[must_use]
    pub fn short(&self) -> u64 {
        self.0.get(&Kind::Short).map_or(0, |seen| seen.trials)
    }

    /// Notes of one line each, without those on transactions that did nothing; `measured` is the number of trials with
    /// a measurement.
    #[must_use]
    pub fn notes(&self, measured: u64) -> Vec<String> {
        let beside = self.0.iter().filter(|(kind, _)| !matches!(kind, Kind::Idle { .. }));
        beside.map(|(kind, seen)| note(kind, seen, measured)).collect()
    }

    /// Notes of one line each on what went wrong.
    #[must_use]
    pub fn problems(&self, measured: u64) -> Vec<(ProblemKind, String)> {
        let problem = |(kind, seen)| Some((problem(kind)?, note(kind, seen, measured)));
        self.0.iter().filter_map(problem).collect()
    }
}

fn problem(kind: &Kind) -> Option<ProblemKind> {
    match kind {
        Kind::Failures => Some(ProblemKind::Failed),
        Kind::Idle { .. } => Some(ProblemKind::Empty),
        Kind::Overloaded(_) => Some(ProblemKind::Missed),
        Kind::Short => Some(ProblemKind::Short),
        Kind::Little | Kind::Unfinished | Kind::Late => None,
    }
}

fn note(kind: &Kind, seen: &Seen, measured: u64) -> String {
    let here = format!("in {} of {}", seen.trials, number::counted(measured, "trial"));
    let percent = number::percent;
    match kind {
        Kind::Little if seen.worst < 0.0 => format!(
            "Little's law misses {} of the workers' time {here}: it went into transactions begun in the warm-up, or by \
             outside of them, or some were not counted",
            percent(-seen.worst)
        ),
        Kind::Little => format!(
            "Little's law finds {} more time than the workers had {here}: transactions were counted twice or timed too \
             long",
            percent(seen.worst)
        ),
        Kind::Overloaded(role) => format!(
            "overloaded {here}: role {role} achieved {} of the offered rate and left {} unserved; lower the rate to \
             read its latencies as those of a steady state",
            percent(seen.worst),
            number::counted(seen.count, "arrival")
        ),
        Kind::Failures => format!(
            "{} of {} failed after the last retry {here}; latencies are of those that committed",
            seen.count,
            number::counted(seen.of, "transaction")
        ),
        Kind::Idle { role, transaction, empty } => {
            let what = if *empty {
                "all ended empty, for want of the row that they require"
            } else {
                "committed without reading or changing a row"
            };
            format!(
                "{role}/{transaction} did nothing {here}: {} {what}; check its keys against the rows that are there",
                number::counted(seen.count, "transaction")
            )
        }
        Kind::Short => format!(
            "too short to be judged {here}: {} in all, in as little as {}; lengthen the roles' `for`",
            number::counted(seen.count, "transaction"),
            number::value(seen.worst * 1e9, litelab_model::metric::Unit::Nanos)
        ),
        Kind::Unfinished => format!(
            "{} still under way {here} when the drain had passed: their times are lower bounds",
            match seen.count {
                1 => "1 transaction was".to_owned(),
                count => format!("{} were", number::counted(count, "transaction")),
            }
        ),
        Kind::Late => format!(
            "the machine was short of CPU {here}: up to {} of the samples came late; stop what else runs here",
            percent(seen.worst)
        ),
    }
}
