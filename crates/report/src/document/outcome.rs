//! Lines below a scenario's table: scalability, effects and alerts.

use litelab_stats::Estimate;

use super::Marked;
use crate::analysis::{AlertResult, Analysis, Scalability, ScenarioAnalysis};
use crate::number;
use crate::style::Tone;

/// Laws of scalability: one line for each combination of the other dimensions.
pub(super) fn scalability(scenario: &ScenarioAnalysis) -> Vec<Marked> {
    scenario.scalability.iter().map(law).collect()
}

fn law(of: &Scalability) -> Marked {
    let of_what = if of.label.is_empty() { of.metric.to_string() } else { format!("{}, {}", of.metric, of.label) };
    let unit = of.metric.unit();
    let mut text = format!("scalability of {of_what}: ");
    match &of.law {
        Ok(law) => {
            let coefficient = |name: &str, e: &Estimate| match e.interval() {
                Some(i) => format!("{name} {:.3} [{:.3}, {:.3}]", e.value, i.low(), i.high()),
                None => format!("{name} {:.3} [?]", e.value),
            };
            text.push_str(&format!(
                "λ {}, {}, {}",
                number::estimate(&law.lambda, unit),
                coefficient("σ", &law.sigma),
                coefficient("κ", &law.kappa)
            ));
            match law.peak() {
                Some(peak) => text.push_str(&format!("; the fitted peak is at {peak:.1} {}", of.dimension)),
                None => text.push_str("; the fitted law has no peak above one worker"),
            }
        }
        Err(why) => text.push_str(&format!("no fit: {why}")),
    }
    let Some((level, value)) = of.best else { return Marked::new("∿", Tone::Plain, text) };
    text.push_str(&format!("; best measured at {level} ({})", number::value(value, unit)));
    match &of.falls {
        Some((level, ratio)) => {
            let ratio = number::ratio(ratio).unwrap_or_default();
            text.push_str(&format!(", shown to be lower at {level} ({ratio})"));
        }
        None => text.push_str(", not shown to fall beyond that"),
    }
    Marked::new("∿", Tone::Plain, text)
}

/// Ratio of no effect. Interactions whose interval contains it are counted, not listed.
const NO_EFFECT: f64 = 1.0;

/// One line for each effect of a factorial scenario.
pub(super) fn effects(scenario: &ScenarioAnalysis) -> Vec<Marked> {
    let effects = match &scenario.effects {
        None => return Vec::new(),
        Some(Err(why)) => return vec![Marked::new("?", Tone::Warn, why.clone())],
        Some(Ok(effects)) => effects,
    };
    let mut lines = Vec::new();
    let mut silent = 0;
    for effect in &effects.effects {
        let interval = effect.ratio.ratio.interval();
        let Some(ratio) = number::ratio(&effect.ratio.ratio) else {
            return vec![Marked::new("?", Tone::Warn, format!("effects: {}", number::needs(&effect.ratio.ratio)))];
        };
        let ((dimension, value), reference) = (&effect.level, &effect.reference);
        let choice = format!("{dimension} {value} instead of {reference}");
        let text = match &effect.with {
            None => format!("effect on {}: {choice}: {ratio} on average over all others", effect.metric),
            Some(_) if interval.is_some_and(|i| i.low() <= NO_EFFECT && NO_EFFECT <= i.high()) => {
                silent += 1;
                continue;
            }
            Some(((other, level), _)) => {
                format!("together: {choice} does {ratio} as much to {} under {other} {level}", effect.metric)
            }
        };
        lines.push(Marked::new("±", Tone::Plain, text));
    }
    if silent > 0 {
        let text = format!("{} not told apart from none", number::counted(silent as u64, "further interaction"));
        lines.push(Marked::new("±", Tone::Dim, text));
    }
    lines
}

/// One line for each alert and variant in which it fired, and one line for all alerts that did not fire.
pub(super) fn alerts(scenario: &ScenarioAnalysis, analysis: &Analysis) -> Vec<Marked> {
    let mut lines = Vec::new();
    for alert in &scenario.alerts {
        for fired in &alert.fired {
            let variant = analysis.variants.get(fired.variant).map_or("?", |variant| variant.label.as_str());
            let worst = number::value(fired.worst, alert.limit.metric.unit());
            let of = number::counted(fired.of, "trial");
            let way = if alert.limit.at_least.is_some_and(|low| fired.worst < low) { "down to" } else { "up to" };
            let text = format!("alert: {}: {variant}: in {} of {of}, {way} {worst}", alert.condition(), fired.trials);
            lines.push(Marked::new("!", Tone::Warn, text));
        }
    }
    let quiet: Vec<&AlertResult> = scenario.alerts.iter().filter(|a| a.fired.is_empty() && a.trials > 0).collect();
    if !quiet.is_empty() {
        let names = quiet.iter().map(|a| a.condition()).collect::<Vec<_>>().join("; ");
        let trials = quiet.iter().map(|a| a.trials).min().unwrap_or_default();
        let text = format!("no alert in {} for: {names}", number::counted(trials, "trial"));
        lines.push(Marked::new("=", Tone::Good, text));
    }
    for blind in scenario.alerts.iter().filter(|a| a.trials == 0) {
        let text = format!(
            "alert never looked at, for no trial has its metric, or enough observations for it: {}",
            blind.condition()
        );
        lines.push(Marked::new("?", Tone::Warn, text));
    }
    lines
}
