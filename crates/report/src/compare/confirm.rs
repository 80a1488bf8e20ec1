//! Confirmation of regressions by a re-run.
//!
//! Two runs were made at different times, so that changes on the machine between them are part of every ratio; and of
//! many comparisons some are wrong at any confidence level. Therefore arms that are shown to be slower run again, those
//! of base and head in the same blocks of one new run. Only a regression that is shown again is confirmed.

use std::collections::BTreeMap;

use litelab_model::{Metric, Plan, interleave};
use litelab_record::RunInfo;
use litelab_stats::{Confidence, Estimate, Tolerance, Verdict};

use super::build::Builds;
use super::{CompareRow, Comparison, Pairing, Side, unlike, unpaired};
use crate::analysis::{Analysis, Footing, pair};

/// Limits of the number of blocks of a re-run, which is otherwise the larger number of the two runs: enough to show a
/// difference, and too few to take hours.
const BLOCKS: std::ops::RangeInclusive<u32> = 10..=40;

/// Way in which a regressed arm can run again on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Means {
    /// The arms of base and head in the same blocks.
    Interleaved,
    /// The arm of head alone, compared with the old trials of base; with the reason for which base cannot run again.
    HeadAlone(String),
    /// No re-run is possible; with the reason.
    Impossible(String),
}

/// Arms to run again, and the plan for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Again {
    /// Indices of the arms of base and head in their plans, with the way to run the pair again. Each pair occurs once.
    pub pairs: Vec<((usize, usize), Means)>,
    /// Plan of the re-run; `None` if no arm can run again.
    pub plan: Option<Plan>,
}

/// A regression with the result of its re-run.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfirmRow {
    /// Name in the form `scenario/label`.
    pub name: String,
    /// Metric of the regression.
    pub metric: Metric,
    /// Ratio of head to base in the comparison.
    pub first: Option<Estimate>,
    /// Ratio of head to base in the re-run, or the reason for which there is none.
    pub again: Result<Estimate, String>,
    /// Whether base and head shared blocks in the re-run.
    pub pairing: Pairing,
    /// Verdict of the re-run, at 95 %.
    pub verdict: Verdict,
    /// Durability levels of head and base, as in the comparison.
    pub footing: Footing,
}

/// Results of a re-run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Confirmation {
    /// File name of the re-run; `None` if nothing ran.
    pub run: Option<String>,
    /// Number of blocks of the re-run.
    pub blocks: u32,
    /// Rows by arm, then by metric.
    pub rows: Vec<ConfirmRow>,
    /// Names of the arms that could not run again, with the reasons.
    pub impossible: Vec<(String, String)>,
    /// Notes on the results.
    pub notes: Vec<String>,
}

impl Confirmation {
    /// Number of regressions that the re-run confirms.
    #[must_use]
    pub fn confirmed(&self) -> usize {
        self.rows.iter().filter(|row| row.verdict == Verdict::Slower).count()
    }

    /// Number of regressions whose re-run is inconclusive.
    #[must_use]
    pub fn open(&self) -> usize {
        self.rows.iter().filter(|row| matches!(row.verdict, Verdict::Inconclusive { .. })).count()
    }
}

/// Plans the re-run of a comparison's regressions with the builds that are installed (`here`).
#[must_use]
pub fn again(comparison: &Comparison, base: &RunInfo, head: &RunInfo, here: &Builds) -> Again {
    let mut pairs: Vec<((usize, usize), Means)> = Vec::new();
    for row in comparison.regressions() {
        if !pairs.iter().any(|(arms, _)| *arms == row.arms) {
            pairs.push((row.arms, means(base, head, row.arms, here)));
        }
    }
    let run: Vec<(Option<usize>, usize)> = pairs
        .iter()
        .filter_map(|((ours, theirs), means)| match means {
            Means::Interleaved => Some((Some(*ours), *theirs)),
            Means::HeadAlone(_) => Some((None, *theirs)),
            Means::Impossible(_) => None,
        })
        .collect();
    let blocks = pairs.iter().map(|((ours, theirs), _)| blocks(&base.plan, *ours).max(blocks(&head.plan, *theirs)));
    let blocks = blocks.max().unwrap_or_default().clamp(*BLOCKS.start(), *BLOCKS.end());
    let plan = (!run.is_empty()).then(|| interleave::interleave(&base.plan, &head.plan, &run, blocks));
    Again { pairs, plan }
}

fn blocks(plan: &Plan, arm: usize) -> u32 {
    let scenario = plan.arms.get(arm).and_then(|arm| plan.scenarios.get(arm.scenario));
    scenario.map_or(0, |scenario| scenario.blocks)
}

/// Returns how a pair of arms can run again. If the plans are under test (a schema, a query, a profile), the installed
/// builds run both arms. If the builds are under test, that of base is not available, unless it is the installed one.
#[must_use]
pub fn means(base: &RunInfo, head: &RunInfo, (ours, theirs): (usize, usize), here: &Builds) -> Means {
    let (Some(a), Some(b)) = (base.plan.arms.get(ours), head.plan.arms.get(theirs)) else {
        return Means::Impossible("the run has no such arm".into());
    };
    let then = (Builds::of(base).build(&a.driver), Builds::of(head).build(&b.driver));
    let now = (here.build(&a.driver), here.build(&b.driver));
    let (Some(old), Some(new)) = then else {
        return Means::Impossible("the run files do not say which builds ran".into());
    };
    match &now.1 {
        None => return Means::Impossible(format!("head ran with {new}; no runner here has that driver")),
        Some(now) if !now.is_like(&new) => {
            return Means::Impossible(format!("head ran with {new}; here is {now}: build the runner as it was"));
        }
        Some(_) => {}
    }
    match &now.0 {
        None => return Means::HeadAlone(format!("base ran with {old}, and no runner here has that driver")),
        Some(now) if !now.is_like(&old) => {
            return Means::HeadAlone(format!("base ran with {old}, and here is {now}"));
        }
        Some(_) => {}
    }
    // The plans are equal: any difference is in a program without a fingerprint.
    let same_work = unlike::parts(a, b).is_empty();
    if same_work && !(old.is_certain() && new.is_certain()) {
        return Means::HeadAlone(format!(
            "base and head are the same work by {new}, and a run file does not say which build that was"
        ));
    }
    Means::Interleaved
}

/// Judges the re-run of [`again`]: within its blocks, or against the old trials of base if only head ran again. The
/// comparison selected each row before the re-run began, so each is judged at 95 % separately.
#[must_use]
pub fn judge(comparison: &Comparison, base: Side<'_>, again: &Again, rerun: Side<'_>) -> Confirmation {
    let tolerance = Tolerance::new(comparison.tolerance).unwrap_or_default();
    let places = places(again);
    let mut found = Confirmation {
        run: Some(crate::document::file_name(rerun.info)),
        blocks: rerun.info.blocks(),
        impossible: impossible(comparison, again),
        notes: notes(again, base.info, rerun.info),
        ..Confirmation::default()
    };
    // The old trials of base are comparable with head alone only if they ran on this host.
    let moved = unlike::host(base.info, rerun.info);
    for row in comparison.regressions() {
        match (places.get(&row.arms), moved.first()) {
            (None, _) => {}
            (Some((None, _)), Some(difference)) => {
                let why =
                    format!("base's build is not here, and its old trials were made on another host: {difference}");
                if !found.impossible.iter().any(|(name, _)| *name == row.name) {
                    found.impossible.push((row.name.clone(), why));
                }
            }
            (Some(place), _) => found.rows.push(one(row, base.analysis, *place, rerun.analysis, tolerance)),
        }
    }
    found
}

/// The confirmation if no arm can run again.
#[must_use]
pub fn without_run(comparison: &Comparison, again: &Again) -> Confirmation {
    Confirmation { impossible: impossible(comparison, again), ..Confirmation::default() }
}

/// The confirmation if the re-run could not begin.
#[must_use]
pub fn failed(comparison: &Comparison, why: &str) -> Confirmation {
    let mut impossible: Vec<(String, String)> = Vec::new();
    for row in comparison.regressions() {
        if !impossible.iter().any(|(name, _)| *name == row.name) {
            impossible.push((row.name.clone(), why.to_owned()));
        }
    }
    Confirmation { impossible, ..Confirmation::default() }
}

/// Indices of a pair's arms in the plan of the re-run: that of base, if it runs again, and that of head.
fn places(again: &Again) -> BTreeMap<(usize, usize), (Option<usize>, usize)> {
    let mut next = 0;
    let mut places = BTreeMap::new();
    for (arms, means) in &again.pairs {
        match means {
            Means::Interleaved => {
                places.insert(*arms, (Some(next), next + 1));
                next += 2;
            }
            Means::HeadAlone(_) => {
                places.insert(*arms, (None, next));
                next += 1;
            }
            Means::Impossible(_) => {}
        }
    }
    places
}

fn one(
    row: &CompareRow,
    base: &Analysis,
    (old, new): (Option<usize>, usize),
    rerun: &Analysis,
    tolerance: Tolerance,
) -> ConfirmRow {
    let metric = &row.metric;
    let arm = rerun.arms.get(new);
    let (again, verdict, pairing) = match (old, arm) {
        (_, None) => missing(Pairing::None),
        (Some(old), Some(arm)) => match rerun.arms.get(old) {
            Some(against) => {
                let compared = pair(arm, against, metric, Confidence::P95, tolerance);
                (compared.ratio.map(|paired| paired.ratio), compared.verdict, Pairing::Blocks)
            }
            None => missing(Pairing::Blocks),
        },
        (None, Some(arm)) => match base.arms.get(row.arms.0) {
            Some(against) => {
                let compared = unpaired(against, arm, metric.clone(), Confidence::P95, tolerance);
                (compared.ratio, compared.verdict, Pairing::None)
            }
            None => missing(Pairing::None),
        },
    };
    // A failed trial is the reason, not the missing block.
    let failure = arm.and_then(|arm| arm.failures.first()).map(|f| f.reason.clone());
    ConfirmRow {
        name: row.name.clone(),
        metric: metric.clone(),
        first: row.ratio.as_ref().ok().copied(),
        again: again.map_err(|why| failure.unwrap_or(why)),
        pairing,
        verdict,
        footing: row.footing,
    }
}

fn missing(pairing: Pairing) -> (Result<Estimate, String>, Verdict, Pairing) {
    (Err("it was not run again".into()), Verdict::Inconclusive { blocks_needed: None }, pairing)
}

fn name(comparison: &Comparison, arms: (usize, usize)) -> String {
    comparison.rows.iter().find(|row| row.arms == arms).map_or_else(|| "?".into(), |row| row.name.clone())
}

fn impossible(comparison: &Comparison, again: &Again) -> Vec<(String, String)> {
    let all = again.pairs.iter().filter_map(|(arms, means)| match means {
        Means::Impossible(why) => Some((name(comparison, *arms), why.clone())),
        _ => None,
    });
    all.collect()
}

fn notes(again: &Again, base: &RunInfo, rerun: &RunInfo) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for (_, means) in &again.pairs {
        if let Means::HeadAlone(why) = means {
            let note =
                format!("only head was run again, and compared with base's old trials: {why}; drift is not controlled");
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes.extend(
        unlike::host(base, rerun).iter().map(|difference| format!("the re-run was made on another host: {difference}")),
    );
    notes
}
