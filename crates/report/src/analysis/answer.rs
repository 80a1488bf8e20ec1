//! Answer of one scenario to "Which one should I use?": the best variant of each durability level, what its speed
//! costs, what went wrong, and what is not decided.

use indexmap::IndexMap;
use litelab_model::durability::Durability;
use litelab_model::metric::{Measure, Quantile, Timing};
use litelab_model::{Metric, Scalar};
use litelab_record::RunInfo;
use litelab_stats::{Confidence, Estimate, PairedRatio, Tolerance, Verdict};
use serde::Serialize;

use super::alert::AlertResult;
use super::finding::{is_far, is_worse};
use super::flag::ProblemKind;
use super::pair::{MetricComparison, pair, ratio};
use super::variant::{VariantAnalysis, alike};
use super::{serial, words};
use crate::driver;
use crate::number;

/// Share of the mean below which the slowest worker starves.
const STARVES: f64 = 0.1;
/// Share of the mean below which the slowest worker falls behind.
const BEHIND: f64 = 0.5;
/// Factor of the longest wait from which a variant with a shorter one is worth a mention.
const FAR: f64 = 3.0;

/// Answer of one scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Answer {
    /// The deciding metric: the first one of the scenario.
    pub metric: Option<Metric>,
    /// The metric of the longest wait, in all variants.
    pub longest: Option<Metric>,
    /// The best variant of each durability level, the safest level first, an unknown level last.
    pub levels: Vec<LevelAnswer>,
    /// What went wrong, the worst first.
    pub problems: Vec<Problem>,
    /// What is not decided, if anything.
    pub undecided: Option<Undecided>,
    /// Settings, driver, SQLite and durability that all variants share, in words: `durability` → `safe`.
    pub constant: IndexMap<String, String>,
}

/// The best variant of one durability level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelAnswer {
    /// The level; `None` if it is not known.
    #[serde(serialize_with = "serial::displayed")]
    pub durability: Option<Durability>,
    /// Index of the variant with the best median in the deciding metric.
    pub best: usize,
    /// Its median.
    pub estimate: Estimate,
    /// Variants of the level that are not shown to be worse.
    pub ties: Vec<usize>,
    /// Number of judged variants of the level, the best one included.
    pub of: usize,
    /// Number of variants of the level that were measured and cannot be judged.
    pub unjudged: usize,
    /// Ratio to the best variant of the safest level; `None` for that level, and without an interval.
    #[serde(serialize_with = "serial::ratio_if_any")]
    pub over_safest: Option<PairedRatio>,
    /// Whether the variant is not shown to be better than the best ones of all safer levels, and so no choice.
    pub dominated: bool,
    /// Longest wait of a transaction in a trial.
    pub longest: Option<Estimate>,
    /// P99.9 of a transaction; `None` if a trial has too few transactions for it.
    pub p999: Option<Estimate>,
    /// Whether one of its workers starves.
    pub starvation: Starvation,
    /// Share of the mean that its slowest worker commits; `None` with one worker.
    pub fairness: Option<Estimate>,
    /// A variant of the level, not slower by more than a half, with a far shorter wait.
    pub calmer: Option<Calmer>,
}

/// Distribution of commits between the workers of a role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Starvation {
    /// The slowest worker commits at least half of the mean, or there is only one.
    #[default]
    No,
    /// The slowest worker commits less than half of the mean.
    Some,
    /// The slowest worker commits less than a tenth of the mean.
    Severe,
}

/// A variant with a far shorter wait than the best one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calmer {
    /// Index of the variant.
    pub variant: usize,
    /// Its longest wait.
    pub longest: Estimate,
    /// Its median in the deciding metric.
    pub estimate: Estimate,
}

/// Something that went wrong in one or more variants.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Problem {
    /// Kind of the problem.
    pub kind: ProblemKind,
    /// Indices of the variants.
    pub variants: Vec<usize>,
    /// Description of the first variant's in one line, with the words of the database where it gave a reason.
    pub text: String,
    /// Whether the figures in the description are of the first variant only.
    pub varies: bool,
}

/// Reason for which variants are not compared, or are not distinguished.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Undecided {
    /// The reason in one sentence without a full stop: `not compared: 4 rounds, 6 needed`.
    pub text: String,
    /// Number of rounds of a run that is likely to decide it; `None` if no number worth running does.
    pub rounds: Option<u32>,
}

impl Starvation {
    /// Judges the share of the mean that the slowest worker of a variant commits.
    #[must_use]
    pub fn of(variant: &VariantAnalysis) -> Self {
        match variant.estimate(&Measure::Fairness.into()).map(|share| share.value) {
            Some(share) if share < STARVES => Self::Severe,
            Some(share) if share < BEHIND => Self::Some,
            _ => Self::No,
        }
    }

    /// Words for a cell: `no`, `a little`, `YES`.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Some => "a little",
            Self::Severe => "YES",
        }
    }
}

impl Answer {
    /// The answer for one durability level.
    #[must_use]
    pub fn level(&self, durability: Option<Durability>) -> Option<&LevelAnswer> {
        self.levels.iter().find(|level| level.durability == durability)
    }
}

/// The metric of the longest wait: response time if the scenario shows one, else service time.
///
/// A worker that waits since the warm-up until after the end has no transaction that began in the window. Where one
/// starves, it is therefore the longest time in which a worker committed nothing, unless workers pause on purpose.
fn longest(metrics: &[Metric], variants: &[&VariantAnalysis]) -> Metric {
    let open = metrics.iter().any(|m| matches!(m.measure, Measure::Latency(Timing::Response, _)));
    let usual = tail(open, Quantile::Max);
    let stall = Metric::from(Measure::WorkerStall);
    let starves = variants.iter().any(|variant| Starvation::of(variant) != Starvation::No);
    let pauses = variants.iter().any(|variant| variant.ceiling.is_some());
    // A runner that does not tell it sends 0.
    let is_told = |v: &&VariantAnalysis| v.estimate(&stall).is_some_and(|estimate| estimate.value > 0.0);
    let is_known = variants.iter().filter(|v| v.estimate(&usual).is_some()).all(is_told);
    if starves && !open && !pauses && is_known { stall } else { usual }
}

fn tail(open: bool, quantile: Quantile) -> Metric {
    Measure::Latency(if open { Timing::Response } else { Timing::Service }, quantile).into()
}

/// Answers one scenario of which these are the variants, without the twin.
pub(super) fn answer(
    metrics: &[Metric],
    variants: &[&VariantAnalysis],
    alerts: &[AlertResult],
    info: &RunInfo,
    (rounds, tolerance): (u64, Tolerance),
) -> Answer {
    let problems = problems(variants, alerts);
    let constant = constant(variants, info);
    let longest = longest(metrics, variants);
    let Some(metric) = metrics.first() else { return Answer { problems, constant, ..Answer::default() } };
    let mut ranked: Vec<&VariantAnalysis> = variants.iter().filter(|v| v.is_judged(metric)).copied().collect();
    ranked.sort_by(|a, b| a.rank(metric).total_cmp(&b.rank(metric)));
    let mut kept: Vec<Option<Durability>> = ranked.iter().map(|variant| variant.durability).collect();
    kept.sort_by(|a, b| b.cmp(a));
    kept.dedup();
    let mut open = Vec::new();
    let mut levels: Vec<LevelAnswer> = Vec::new();
    for durability in &kept {
        let of: Vec<&VariantAnalysis> = ranked.iter().filter(|v| v.durability == *durability).copied().collect();
        let Some((best, others)) = of.split_first() else { continue };
        let compared = compare(best, others, metric, tolerance);
        let tied = compared.iter().zip(others).filter(|(cell, variant)| !is_worse(cell, variant, best));
        let ties = tied.map(|(_, variant)| variant.index).collect();
        let safer: Vec<&VariantAnalysis> =
            levels.iter().filter_map(|level| variants.iter().find(|v| v.index == level.best)).copied().collect();
        let confidence = Confidence::P95.shared_by(kept.len().saturating_sub(1).max(1)).unwrap_or_default();
        let over_safest = safer.first().and_then(|safest| ratio(best, safest, metric, confidence).ok());
        let across: Vec<MetricComparison> =
            safer.iter().map(|of| pair(best, of, metric, confidence, tolerance)).collect();
        let is_better = |(cell, of): (&MetricComparison, &&VariantAnalysis)| {
            cell.verdict == Verdict::Faster || is_far(cell, best, of) && best.rank(metric) < of.rank(metric)
        };
        let dominated = !across.iter().zip(&safer).all(is_better);
        // One safer level that is shown to be as good settles it.
        let is_settled = across.iter().any(|cell| matches!(cell.verdict, Verdict::Slower | Verdict::Equivalent));
        let across = across.into_iter().zip(safer).filter(|_| !is_settled);
        let is_open = |cell: &MetricComparison, of: &VariantAnalysis| {
            matches!(cell.verdict, Verdict::Inconclusive { .. }) && !is_far(cell, best, of)
        };
        let cells = compared.into_iter().zip(others.iter().copied()).chain(across);
        // Without a ratio the two medians would have to tell them apart.
        let needs = |cell: &MetricComparison, of: &VariantAnalysis| match &cell.ratio {
            Ok(paired) => paired.ratio.needs(),
            Err(_) => of.estimate(metric).and_then(|estimate| estimate.needs()),
        };
        let compared = |(cell, of): (MetricComparison, &VariantAnalysis)| Compared {
            is_open: is_open(&cell, of),
            needs: needs(&cell, of),
            cell,
        };
        let cells = cells.map(compared).collect();
        if let Some(level) = level(best, others, (metric, &longest), ties) {
            let over_safest = over_safest.filter(|paired| paired.ratio.interval().is_some());
            let measured = variants.iter().filter(|v| v.durability == *durability && v.measured > 0).count();
            levels.push(LevelAnswer { over_safest, dominated, unjudged: measured - of.len(), ..level });
        }
        open.push((*best, cells));
    }
    let undecided = undecided(&open, ranked.len(), variants.len(), rounds);
    Answer { metric: Some(metric.clone()), longest: Some(longest), levels, problems, undecided, constant }
}

/// A comparison with the best variant of a level.
struct Compared {
    cell: MetricComparison,
    /// Whether it does not tell the two apart.
    is_open: bool,
    /// Number of rounds that an interval needs, if it has none.
    needs: Option<usize>,
}

/// Comparisons of the others with the best one, at a confidence level that they share.
fn compare(
    best: &VariantAnalysis,
    others: &[&VariantAnalysis],
    metric: &Metric,
    tolerance: Tolerance,
) -> Vec<MetricComparison> {
    let confidence = Confidence::P95.shared_by(others.len().max(1)).unwrap_or_default();
    others.iter().map(|variant| pair(variant, best, metric, confidence, tolerance)).collect()
}

fn level(
    best: &VariantAnalysis,
    others: &[&VariantAnalysis],
    (metric, longest): (&Metric, &Metric),
    ties: Vec<usize>,
) -> Option<LevelAnswer> {
    let p999 = tail(longest.measure == tail(true, Quantile::Max).measure, Quantile::P999);
    let estimate = *best.estimate(metric)?;
    // At most half of the speed is given up for it: a variant far slower is another choice, not a remedy.
    let near = |variant: &&&VariantAnalysis| {
        let ratio = variant.estimate(metric).map_or(f64::NAN, |e| e.value) / estimate.value;
        (0.5..=2.0).contains(&ratio)
    };
    let shorter = |variant: &&VariantAnalysis| {
        let (wait, own) = (variant.estimate(longest)?, best.estimate(longest)?);
        let calmer = Calmer { variant: variant.index, longest: *wait, estimate: *variant.estimate(metric)? };
        (wait.value * FAR < own.value && wait.high()? < own.low()?).then_some(calmer)
    };
    let fair = |variant: &&&VariantAnalysis| Starvation::of(variant) != Starvation::Severe;
    Some(LevelAnswer {
        durability: best.durability,
        best: best.index,
        estimate,
        ties,
        of: others.len() + 1,
        unjudged: 0,
        over_safest: None,
        dominated: false,
        longest: best.estimate(longest).copied(),
        p999: best.estimate(&p999).filter(|_| best.too_few(&p999).is_none()).copied(),
        starvation: Starvation::of(best),
        fairness: best.estimate(&Measure::Fairness.into()).copied(),
        calmer: others.iter().filter(near).filter(fair).find_map(shorter),
    })
}

fn undecided(
    compared: &[(&VariantAnalysis, Vec<Compared>)],
    judged: usize,
    variants: usize,
    rounds: u64,
) -> Option<Undecided> {
    if judged < 2 {
        let text = match judged {
            0 => "nothing is compared: no variant can be judged",
            _ => "nothing is compared: only one variant can be judged",
        };
        return (variants > 1).then(|| Undecided { text: text.into(), rounds: None });
    }
    let cells = || compared.iter().flat_map(|(_, cells)| cells);
    let has_interval =
        |compared: &Compared| compared.cell.ratio.as_ref().is_ok_and(|paired| paired.ratio.interval().is_some());
    let is_compared = cells().any(has_interval);
    let needs = cells().filter_map(|compared| compared.needs).max();
    if let Some(needs) = needs.filter(|_| !is_compared) {
        let text = format!("not compared: {}, {needs} needed", number::counted(rounds, "round"));
        return Some(Undecided { text, rounds: u32::try_from(needs).ok() });
    }
    let open = || cells().filter(|compared| compared.is_open);
    let levels = compared.iter().filter(|(_, cells)| cells.iter().any(|compared| compared.is_open));
    let of: Vec<&str> = levels.map(|(best, _)| best.words.as_str()).collect();
    if of.is_empty() {
        return None;
    }
    let count = open().count() as u64;
    // One that no number of rounds is likely to decide stays open whatever the others need.
    let more: Option<Vec<u32>> = open()
        .map(|compared| match compared.cell.verdict {
            Verdict::Inconclusive { rounds_needed } => rounds_needed,
            _ => None,
        })
        .collect();
    let total = more
        .and_then(|more| more.into_iter().max())
        .map(|more| u32::try_from(rounds).unwrap_or(u32::MAX).saturating_add(more));
    let after = match total {
        Some(total) => format!("about {total} rounds would tell, {rounds} were run"),
        None => "more rounds would hardly tell".into(),
    };
    let text = format!("{} not told apart from {}: {after}", number::counted(count, "variant"), of.join(" and "));
    Some(Undecided { text, rounds: total })
}

fn problems(variants: &[&VariantAnalysis], alerts: &[AlertResult]) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    // The same reason of several variants is one problem; of one variant it is none that differs in figures alone.
    let mut add = |kind: ProblemKind, variant: usize, text: String| {
        let is_same = |known: &&mut Problem| {
            known.kind == kind && !known.variants.contains(&variant) && alike(&known.text) == alike(&text)
        };
        match problems.iter_mut().find(is_same) {
            Some(known) => {
                known.varies |= known.text != text;
                known.variants.push(variant);
            }
            None => problems.push(Problem { kind, variants: vec![variant], text, varies: false }),
        }
    };
    for variant in variants {
        for failure in &variant.failures {
            let of = number::counted(variant.measured + variant.failed(), "trial");
            add(
                ProblemKind::Failed,
                variant.index,
                format!("{} of {of} failed: {}", failure.rounds.len(), failure.reason),
            );
        }
        variant.problems.iter().for_each(|(kind, text)| add(*kind, variant.index, text.clone()));
        if let Some(reason) = &variant.skipped {
            add(ProblemKind::Skipped, variant.index, format!("skipped: {reason}"));
        }
    }
    for alert in alerts.iter().filter(|alert| !alert.fired.is_empty()) {
        let variants = alert.fired.iter().map(|fired| fired.variant).collect();
        problems.push(Problem { kind: ProblemKind::Missed, variants, text: alert.condition(), varies: false });
    }
    problems.sort_by_key(|problem| problem.kind);
    problems
}

/// What all measured variants share.
fn constant(variants: &[&VariantAnalysis], info: &RunInfo) -> IndexMap<String, String> {
    let measured = || variants.iter().filter(|variant| variant.measured > 0);
    // A dimension `pragma.NAME` replaces a part of the profile.
    let mut names = variants.iter().flat_map(|variant| variant.dimensions.keys());
    let set = names.any(|name| name.starts_with("pragma.") || name.starts_with("setting."));
    let shared = |of: &dyn Fn(&VariantAnalysis) -> Option<String>| {
        let mut values = measured().map(|variant| of(variant));
        let first = values.next()??;
        values.all(|value| value.as_ref() == Some(&first)).then_some(first)
    };
    let constants = [
        ("settings", shared(&|v| Some(words::value("profile", &Scalar::Text(v.profile.clone())))).filter(|_| !set)),
        ("durability", shared(&|v| v.durability.map(|level| level.words().to_owned()))),
        ("driver", shared(&|v| info.driver(&v.driver).map(|(_, driver)| driver.name.clone()))),
        ("SQLite", shared(&|v| driver::sqlite(info, &v.driver))),
    ];
    constants.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}
