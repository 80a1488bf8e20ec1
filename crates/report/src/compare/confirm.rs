//! Confirmation of regressions by a re-run.
//!
//! Two runs were made at different times, so that changes on the machine between them are part of every ratio; and of
//! many comparisons some are wrong at any confidence level. Therefore variants that are shown to be slower run again,
//! those of base and head in the same rounds of one new run. Only a regression that is shown again is confirmed.

use indexmap::IndexSet;
use litelab_model::{Plan, interleave};
use litelab_record::RunInfo;
use litelab_stats::{Confidence, Estimate, Tolerance, Verdict};

use super::build::Builds;
use super::{CompareRow, Comparison, Pairing, Side, paired, unpaired};
use crate::analysis::{Analysis, failures};
use crate::{number, unlike};

/// Limits of the number of rounds of a re-run, which is otherwise the larger number of the two runs: enough to show a
/// difference, and too few to take hours.
const ROUNDS: std::ops::RangeInclusive<u32> = 10..=40;

/// Way in which a regressed variant can run again on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RerunMode {
    /// The variants of base and head in the same rounds.
    Interleaved,
    /// The variant of head alone, compared with the old trials of base; with the reason for which base cannot run
    /// again.
    HeadAlone(String),
    /// No re-run is possible; with the reason.
    Impossible(String),
}

/// Variants to run again, and the plan for it.
#[derive(Clone, Debug, PartialEq)]
pub struct RerunPlan {
    /// Indices of the variants of base and head in their plans, with the way to run the pair again. Each pair occurs
    /// once.
    pub pairs: Vec<((usize, usize), RerunMode)>,
    /// Plan of the re-run; `None` if no variant can run again.
    pub plan: Option<Plan>,
}

/// A regression with the result of its re-run.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfirmRow {
    /// Ratio of head to base in the comparison.
    pub first: Option<Estimate>,
    /// The re-run at 95 %, with the name and the durability levels of the comparison.
    pub again: CompareRow,
    /// Whether base and head shared rounds in the re-run.
    pub pairing: Pairing,
}

/// Results of a re-run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Confirmation {
    /// File name of the re-run; `None` if nothing ran.
    pub run: Option<String>,
    /// Number of rounds of the re-run.
    pub rounds: u32,
    /// Rows by variant, then by metric.
    pub rows: Vec<ConfirmRow>,
    /// Names of the variants that could not run again, with the reasons.
    pub impossible: Vec<(String, String)>,
    /// Notes on the results.
    pub notes: Vec<String>,
}

impl Confirmation {
    /// Number of regressions that the re-run confirms.
    #[must_use]
    pub fn confirmed(&self) -> usize {
        self.rows.iter().filter(|row| row.again.verdict == Verdict::Slower).count()
    }

    /// Number of regressions whose re-run is inconclusive.
    #[must_use]
    pub fn open(&self) -> usize {
        self.rows.iter().filter(|row| matches!(row.again.verdict, Verdict::Inconclusive { .. })).count()
    }
}

/// Plans the re-run of a comparison's regressions with the builds that are installed (`here`).
#[must_use]
pub fn again(comparison: &Comparison, base: &RunInfo, head: &RunInfo, here: &Builds) -> RerunPlan {
    let mut pairs: Vec<((usize, usize), RerunMode)> = Vec::new();
    for row in comparison.regressions() {
        if !pairs.iter().any(|(variants, _)| *variants == row.variants) {
            pairs.push((row.variants, means(base, head, row.variants, here)));
        }
    }
    let run: Vec<(Option<usize>, usize)> = pairs
        .iter()
        .filter_map(|((ours, theirs), means)| match means {
            RerunMode::Interleaved => Some((Some(*ours), *theirs)),
            RerunMode::HeadAlone(_) => Some((None, *theirs)),
            RerunMode::Impossible(_) => None,
        })
        .collect();
    let rounds = pairs.iter().map(|((ours, theirs), _)| rounds(&base.plan, *ours).max(rounds(&head.plan, *theirs)));
    let rounds = rounds.max().unwrap_or_default().clamp(*ROUNDS.start(), *ROUNDS.end());
    let plan = (!run.is_empty()).then(|| interleave::interleave(&base.plan, &head.plan, &run, rounds));
    RerunPlan { pairs, plan }
}

fn rounds(plan: &Plan, variant: usize) -> u32 {
    let scenario = plan.variants.get(variant).and_then(|variant| plan.scenarios.get(variant.scenario));
    scenario.map_or(0, |scenario| scenario.rounds)
}

/// Returns how a pair of variants can run again. If the plans are under test (a schema, a query, a profile), the
/// installed builds run both variants. If the builds are under test, that of base is not available, unless it is the
/// installed one.
#[must_use]
pub fn means(base: &RunInfo, head: &RunInfo, (ours, theirs): (usize, usize), here: &Builds) -> RerunMode {
    let (Some(a), Some(b)) = (base.plan.variants.get(ours), head.plan.variants.get(theirs)) else {
        return RerunMode::Impossible("the run has no such variant".into());
    };
    let then = (Builds::of(base).build(&a.driver), Builds::of(head).build(&b.driver));
    let now = (here.build(&a.driver), here.build(&b.driver));
    let (Some(old), Some(new)) = then else {
        return RerunMode::Impossible("the run files do not say which builds ran".into());
    };
    match &now.1 {
        None => return RerunMode::Impossible(format!("head ran with {new}; no runner here has that driver")),
        Some(now) if !now.is_like(&new) => {
            return RerunMode::Impossible(format!("head ran with {new}; here is {now}: build the runner as it was"));
        }
        Some(_) => {}
    }
    match &now.0 {
        None => return RerunMode::HeadAlone(format!("base ran with {old}, and no runner here has that driver")),
        Some(now) if !now.is_like(&old) => {
            return RerunMode::HeadAlone(format!("base ran with {old}, and here is {now}"));
        }
        Some(_) => {}
    }
    // The plans are equal: any difference is in a program without a fingerprint.
    let same_work = unlike::parts(a, b).is_empty();
    if same_work && !(old.is_certain() && new.is_certain()) {
        return RerunMode::HeadAlone(format!(
            "base and head are the same work by {new}, and a run file does not say which build that was"
        ));
    }
    RerunMode::Interleaved
}

/// Judges the re-run of [`again`]: within its rounds, or against the old trials of base if only head ran again. The
/// comparison selected each row before the re-run began, so each is judged at 95 % separately.
#[must_use]
pub fn judge(comparison: &Comparison, base: Side<'_>, again: &RerunPlan, rerun: Side<'_>) -> Confirmation {
    let tolerance = Tolerance::new(comparison.tolerance).unwrap_or_default();
    let mut found = Confirmation {
        run: Some(rerun.info.file_name()),
        rounds: rerun.info.rounds(),
        impossible: impossible(comparison, again),
        notes: notes(again, base.info, rerun.info),
        ..Confirmation::default()
    };
    // The old trials of base are comparable with head alone only if they ran on this host.
    let moved = unlike::host(base.info, rerun.info);
    // The plan has the variants of all pairs in order: that of base, if it runs again, and that of head.
    let mut places = 0_usize..;
    for (variants, mode) in &again.pairs {
        let (old, new) = match mode {
            RerunMode::Interleaved => (places.next(), places.next()),
            RerunMode::HeadAlone(_) => (None, places.next()),
            RerunMode::Impossible(_) => continue,
        };
        for row in comparison.regressions().into_iter().filter(|row| row.variants == *variants) {
            if let (None, Some(difference)) = (old, moved.first()) {
                let why =
                    format!("base's build is not here, and its old trials were made on another host: {difference}");
                add(&mut found.impossible, &row.name, why);
                continue;
            }
            // The analysis of a re-run has every variant of its plan.
            let Some(row) = one(row, base.analysis, (old, new), rerun.analysis, tolerance) else { continue };
            match unknown(&row.again, (old, new), rerun.analysis) {
                None => found.rows.push(row),
                Some(why) => add(&mut found.impossible, &row.again.name, why),
            }
        }
    }
    found
}

/// Adds the reason for a variant that has none yet.
fn add(impossible: &mut Vec<(String, String)>, name: &str, why: String) {
    if !impossible.iter().any(|(known, _)| known == name) {
        impossible.push((name.to_owned(), why));
    }
}

/// Reason for which a re-run neither confirms nor refutes a regression: failed trials, no ratio, or too few rounds for
/// an interval.
fn unknown(again: &CompareRow, (old, new): (Option<usize>, Option<usize>), rerun: &Analysis) -> Option<String> {
    if again.verdict == Verdict::Slower {
        return None;
    }
    let mut variants = new.into_iter().chain(old);
    let failed = variants.find_map(|index| failures(rerun.variants.get(index)?, None));
    failed.or_else(|| match &again.ratio {
        Ok(ratio) => ratio.interval().is_none().then(|| number::needs(ratio)),
        Err(why) => Some(why.clone()),
    })
}

/// The confirmation if no variant can run again.
#[must_use]
pub fn without_run(comparison: &Comparison, again: &RerunPlan) -> Confirmation {
    Confirmation { impossible: impossible(comparison, again), ..Confirmation::default() }
}

/// The confirmation if the re-run could not begin.
#[must_use]
pub fn failed(comparison: &Comparison, why: &str) -> Confirmation {
    let mut found = Confirmation::default();
    comparison.regressions().iter().for_each(|row| add(&mut found.impossible, &row.name, why.to_owned()));
    found
}

fn one(
    row: &CompareRow,
    base: &Analysis,
    (old, new): (Option<usize>, Option<usize>),
    rerun: &Analysis,
    tolerance: Tolerance,
) -> Option<ConfirmRow> {
    let metric = row.metric.clone();
    let head = rerun.variants.get(new?)?;
    let (again, pairing) = match old {
        Some(old) => (paired(rerun.variants.get(old)?, head, metric, tolerance), Pairing::Rounds),
        None => {
            let base = base.variants.get(row.variants.0)?;
            (unpaired(base, head, metric, Confidence::P95, tolerance), Pairing::None)
        }
    };
    let again = CompareRow { name: row.name.clone(), durability_pair: row.durability_pair, ..again };
    Some(ConfirmRow { first: row.ratio.as_ref().ok().copied(), again, pairing })
}

fn name(comparison: &Comparison, variants: (usize, usize)) -> String {
    comparison.rows.iter().find(|row| row.variants == variants).map_or_else(|| "?".into(), |row| row.name.clone())
}

fn impossible(comparison: &Comparison, again: &RerunPlan) -> Vec<(String, String)> {
    let all = again.pairs.iter().filter_map(|(variants, means)| match means {
        RerunMode::Impossible(why) => Some((name(comparison, *variants), why.clone())),
        _ => None,
    });
    all.collect()
}

fn notes(again: &RerunPlan, base: &RunInfo, rerun: &RunInfo) -> Vec<String> {
    let alone = again.pairs.iter().filter_map(|(_, means)| match means {
        RerunMode::HeadAlone(why) => Some(why),
        _ => None,
    });
    let alone = alone.collect::<IndexSet<_>>().into_iter().map(|why| {
        format!("only head was run again, and compared with base's old trials: {why}; drift is not controlled")
    });
    let moved = unlike::host(base, rerun).into_iter();
    alone.chain(moved.map(|difference| format!("the re-run was made on another host: {difference}"))).collect()
}
