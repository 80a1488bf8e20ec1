//! Forest plots of every variant compared with the baseline, one for each judged metric.

use litelab_stats::{Better, Tolerance, Verdict};

use super::{Figure, Source, left_out};
use crate::analysis::{MetricComparison, VariantComparison, better};
use crate::chart::{Forest, ForestRow, Reading, Verdict as Word};
use crate::document::{verdict_tone, verdict_words};
use crate::number;

/// Largest number of rows of a chart.
const MOST: usize = 24;

/// Comparison of a variant, and its part in one metric.
type Compared<'a> = (&'a VariantComparison, &'a MetricComparison);

pub(super) fn figures(source: Source<'_>) -> Vec<Figure> {
    let count = source.scenario.judged.len();
    (0..count).filter_map(|at| figure(source, at)).collect()
}

fn figure(source: Source<'_>, at: usize) -> Option<Figure> {
    let scenario = source.scenario;
    let metric = scenario.judged.get(at)?;
    let mut cells: Vec<Compared> =
        scenario.comparisons.iter().filter_map(|of| Some((of, of.metrics.get(at)?))).collect();
    // No chart without a ratio that has an interval.
    let drawn = |cell: &MetricComparison| cell.ratio.as_ref().is_ok_and(|r| r.ratio.interval().is_some());
    if !cells.iter().any(|(_, cell)| drawn(cell)) {
        return None;
    }
    let all = cells.len();
    if all > MOST {
        let far = |cell: &MetricComparison| cell.ratio.as_ref().map_or(0.0, |r| r.ratio.value.ln().abs());
        let mut distances: Vec<f64> = cells.iter().map(|(_, cell)| far(cell)).collect();
        distances.sort_by(|a, b| b.total_cmp(a));
        let least = distances[MOST - 1];
        cells.retain(|(_, cell)| far(cell) >= least);
        cells.truncate(MOST);
    }
    let baseline = source.variant(scenario.baseline)?;
    let tolerance = Tolerance::new(source.analysis.tolerance).unwrap_or_default();
    let delta = 1.0 + tolerance.delta();
    let good = better(metric);
    // The metric's words for better and worse.
    let word =
        |verdict| verdict_words(verdict, metric).split_once(' ').map(|(_, word)| word.to_owned()).unwrap_or_default();
    let (faster, slower) = (word(Verdict::Faster), word(Verdict::Slower));
    let sides = if good == Better::Higher { (slower, faster) } else { (faster, slower) };
    let variants: Vec<usize> = cells.iter().map(|(of, _)| of.variant).collect();
    let note = format!(
        "{}{} intervals of paired rounds; the shaded band is ±{}, within which variants count as equivalent.",
        left_out(cells.len(), all, "those farthest from the baseline"),
        number::percent(scenario.confidence),
        number::percent(source.analysis.tolerance),
    );
    let mut summary = summary(&cells, metric, &baseline.label);
    let losing = |(of, cell): &&Compared| cell.verdict == Verdict::Faster && of.durability_pair.is_loss();
    match cells.iter().filter(losing).count() {
        0 => {}
        n => summary.push_str(&format!(" Of these, {n} give up durability for it.")),
    }
    let rows = cells.into_iter().filter_map(|compared| row(source, compared)).collect();
    let chart = Forest {
        title: format!("{}: {metric} against the baseline", scenario.name),
        summary,
        axis: format!("{metric}, ratio to {}", baseline.label),
        band: Some((1.0 / delta, delta)),
        sides: Some(sides),
        rows,
    };
    Some(Figure { chart: Box::new(chart), note, variants, course: None })
}

fn row(source: Source<'_>, (of, cell): Compared<'_>) -> Option<ForestRow> {
    let words = verdict_words(cell.verdict, &cell.metric);
    let (glyph, word) = words.split_once(' ').unwrap_or(("", &words));
    let ratio = match &cell.ratio {
        Ok(paired) if paired.ratio.interval().is_some() => Ok(Reading::from(&paired.ratio)),
        Ok(paired) => Err(number::needs(&paired.ratio)),
        Err(why) => Err(why.clone()),
    };
    Some(ForestRow {
        label: source.name(source.variant(of.variant)?),
        rounds: cell.ratio.as_ref().map_or(0, |paired| u32::try_from(paired.ratio.n).unwrap_or(u32::MAX)),
        ratio,
        verdict: Some(Word {
            glyph: glyph.into(),
            word: format!("{word}, {}", of.durability_pair),
            tone: verdict_tone(cell.verdict, of.durability_pair),
        }),
    })
}

fn summary(cells: &[Compared<'_>], metric: &litelab_model::Metric, baseline: &str) -> String {
    let count = |which: fn(&Verdict) -> bool| cells.iter().filter(|(_, cell)| which(&cell.verdict)).count();
    let all = [
        (Verdict::Faster, count(|v| *v == Verdict::Faster)),
        (Verdict::Slower, count(|v| *v == Verdict::Slower)),
        (Verdict::Equivalent, count(|v| *v == Verdict::Equivalent)),
    ];
    let mut parts: Vec<String> = all
        .iter()
        .filter(|(_, n)| *n > 0)
        .map(|(verdict, n)| {
            format!("{n} {}", verdict_words(*verdict, metric).split_once(' ').map_or("", |(_, word)| word))
        })
        .collect();
    let open = count(|v| matches!(v, Verdict::Inconclusive { .. }));
    if open > 0 {
        parts.push(format!("{open} inconclusive"));
    }
    format!("Against {baseline}: {}.", parts.join(", "))
}
