//! Effects in a scenario whose variants are all combinations of its dimensions: the mean effect of one choice over all
//! other dimensions, and the interactions of two choices.

use std::collections::BTreeMap;

use litelab_model::Scalar;
use litelab_model::metric::Metric;
use litelab_stats::{Confidence, PairedRatio};
use serde::Serialize;

use super::claim::failures;
use super::serial;
use super::variant::VariantAnalysis;

/// A dimension and a value of it, as text.
pub type Level = (String, String);

/// Effect of one choice, or interaction of two choices, on a metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// The metric.
    pub metric: Metric,
    /// Dimension and value of the choice.
    pub level: Level,
    /// Value of the baseline in that dimension.
    pub reference: String,
    /// For an interaction the other choice, and the baseline's value in its dimension.
    pub with: Option<(Level, String)>,
    /// Ratio of the metric under the choice to that under the baseline's value, as a geometric mean over all
    /// combinations of the other dimensions. For an interaction: the factor by which that ratio is greater under the
    /// other choice.
    #[serde(serialize_with = "serial::ratio")]
    pub ratio: PairedRatio,
}

/// Effects of all choices of a factorial scenario in one metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effects {
    /// Confidence level of each interval, a fraction. At this level all of them hold together at 95 %.
    pub confidence: f64,
    /// Main effects, then the interactions of two choices.
    pub effects: Vec<Effect>,
}

/// Logarithms of one round's values, by combination of the dimensions' values.
type Round = BTreeMap<Vec<String>, f64>;

/// Computes all effects, or returns the reason in one line for which there are none.
pub(super) fn effects(
    dimensions: &[String],
    metric: &Metric,
    variants: &[&VariantAnalysis],
    baseline: usize,
) -> Result<Effects, String> {
    let key = |variant: &VariantAnalysis| -> Option<Vec<String>> {
        dimensions.iter().map(|d| variant.dimensions.get(d).map(Scalar::to_string)).collect()
    };
    let reference =
        variants.iter().find(|a| a.index == baseline).and_then(|a| key(a)).ok_or("its baseline has no place")?;
    let mut levels: Vec<Vec<String>> = dimensions.iter().map(|_| Vec::new()).collect();
    let mut rounds: BTreeMap<u32, Round> = BTreeMap::new();
    if variants.iter().any(|variant| variant.events(metric).is_some()) {
        return Err(format!("no effects in {metric}: it may be 0 in a round"));
    }
    if let Some(why) = variants.iter().find_map(|v| failures(v, None).or_else(|| v.not_judged(metric))) {
        return Err(format!("no effects: {why}"));
    }
    if variants.iter().any(|variant| variant.values(metric).iter().any(|(_, value)| *value <= 0.0)) {
        return Err(format!("no effects in {metric}: it is 0 in a round"));
    }
    for variant in variants {
        let key = key(variant).ok_or_else(|| format!("{} lacks one of the dimensions", variant.label))?;
        for (levels, level) in levels.iter_mut().zip(&key) {
            if !levels.contains(level) {
                levels.push(level.clone());
            }
        }
        for (round, value) in variant.values(metric) {
            rounds.entry(*round).or_default().insert(key.clone(), value.ln());
        }
    }
    let combinations: usize = levels.iter().map(Vec::len).product();
    if combinations != variants.len() || variants.len() < 4 {
        return Err(format!(
            "effects need all {combinations} combinations of its dimensions: it has {}",
            variants.len()
        ));
    }
    rounds.retain(|_, round| round.len() == combinations);
    let contrasts = contrasts(&levels, &reference);
    let confidence = Confidence::P95.shared_by(contrasts.len().max(1)).unwrap_or_default();
    let mut effects = Vec::new();
    for contrast in contrasts {
        let pairs: Vec<(f64, f64)> = rounds.values().map(|round| (1.0, contrast.of(round, &reference).exp())).collect();
        let ratio = PairedRatio::from_rounds(&pairs, confidence).map_err(|e| format!("no effects in {metric}: {e}"))?;
        let name = |(d, level): &(usize, String)| (dimensions[*d].clone(), level.clone());
        effects.push(Effect {
            metric: metric.clone(),
            level: name(&contrast.0[0]),
            reference: reference[contrast.0[0].0].clone(),
            with: contrast.0.get(1).map(|other| (name(other), reference[other.0].clone())),
            ratio,
        });
    }
    Ok(Effects { confidence: confidence.level(), effects })
}

/// One or two choices compared with the baseline's values.
struct Contrast(Vec<(usize, String)>);

impl Contrast {
    /// The contrast as a mean over all combinations of the other dimensions. One choice is a difference; two choices
    /// are the difference of two differences.
    fn of(&self, round: &Round, reference: &[String]) -> f64 {
        let (mut sum, mut count) = (0.0, 0_u32);
        for (key, value) in round {
            let signs = self.0.iter().map(|(d, level)| match &key[*d] {
                at if at == level => 1.0,
                at if *at == reference[*d] => -1.0,
                _ => 0.0,
            });
            let sign: f64 = signs.product();
            sum += sign * value;
            count += u32::from(sign != 0.0);
        }
        // Half of the terms (of two choices a quarter) have the choice: their number is that of the differences.
        sum / f64::from(count.max(1)) * f64::from(1_u32 << self.0.len())
    }
}

/// Every value compared with the baseline's, then every pair of these in different dimensions.
fn contrasts(levels: &[Vec<String>], reference: &[String]) -> Vec<Contrast> {
    let others = levels.iter().enumerate().flat_map(|(d, levels)| {
        levels.iter().filter(move |level| **level != reference[d]).map(move |level| (d, level.clone()))
    });
    let others: Vec<(usize, String)> = others.collect();
    let alone = others.iter().map(|one| Contrast(vec![one.clone()]));
    let pairs = others.iter().enumerate().flat_map(|(i, one)| {
        let later = others[i + 1..].iter().filter(|two| two.0 != one.0);
        later.map(|two| Contrast(vec![one.clone(), two.clone()]))
    });
    alone.chain(pairs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round in which `a = 1` doubles the value, `b = y` divides it by three, and both together halve it once more.
    fn round() -> Round {
        let key = |a: &str, b: &str| vec![a.to_owned(), b.to_owned()];
        let value = |x: f64| x.ln();
        BTreeMap::from([
            (key("0", "x"), value(12.0)),
            (key("1", "x"), value(24.0)),
            (key("0", "y"), value(4.0)),
            (key("1", "y"), value(4.0)),
            // A third value of b, which takes no part in the contrasts with y.
            (key("0", "z"), value(99.0)),
            (key("1", "z"), value(198.0)),
        ])
    }

    #[test]
    fn effects_are_means_and_interactions_what_is_left() {
        let reference = ["0".to_owned(), "x".to_owned()];
        let of = |choices: &[(usize, &str)]| {
            let choices = choices.iter().map(|(d, level)| (*d, (*level).to_owned())).collect();
            Contrast(choices).of(&round(), &reference).exp()
        };
        // The factors 2, 1 and 2 over the three values of b.
        assert!((of(&[(0, "1")]) - 4.0_f64.powf(1.0 / 3.0)).abs() < 1e-12);
        // The factors 1/3 and 1/6 over the two values of a.
        assert!((of(&[(1, "y")]) - (1.0 / 18.0_f64).sqrt()).abs() < 1e-12);
        assert!((of(&[(0, "1"), (1, "y")]) - 0.5).abs() < 1e-12);
        assert!((of(&[(0, "1"), (1, "z")]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn every_level_and_every_pair_is_there_once() {
        let levels =
            [vec!["0".into(), "1".into()], vec!["x".into(), "y".into(), "z".into()], vec!["p".into(), "q".into()]];
        let contrasts = contrasts(&levels, &["0".into(), "x".into(), "p".into()]);
        // 1 + 2 + 1 alone; 1·2 + 1·1 + 2·1 pairs.
        assert_eq!(contrasts.len(), 4 + 5);
        assert!(contrasts.iter().all(|c| c.0.len() == 1 || c.0[0].0 != c.0[1].0));
    }
}
