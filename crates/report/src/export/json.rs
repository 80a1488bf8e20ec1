//! An analysis as JSON: everything that was computed, in the shape of [`super::shape`].

use litelab_model::Metric;
use litelab_model::metric::Unit;
use litelab_model::text::shown;
use litelab_record::RunInfo;
use litelab_stats::{ClaimVerdict, Reach, Verdict};

use super::shape::{
    self, Alert, Arm, Claim, Comparison, Content, Crossover, Effect, Errors, Estimate, Export, Failure, Fired, Harness,
    Run, SCHEMA, Scalability, Scenario, Timeline, Values, Window,
};
use crate::analysis::{self, Analysis, ArmAnalysis, ClaimResult, Measured, ScenarioAnalysis};
use crate::error::ReportError;

/// The JSON Schema of [`Export`].
#[cfg(feature = "schema")]
#[must_use]
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Export)
}

/// The analysis as indented JSON.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn text(analysis: &Analysis, info: &RunInfo) -> Result<String, ReportError> {
    pretty(&export(analysis, info)).map_err(|e| ReportError::Write(e.into()))
}

/// Indented JSON in which every character that [`litelab_model::text::printable`] replaces is a `\u` escape: the value
/// stays exact, and a terminal shows it as text.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn pretty(value: &impl serde::Serialize) -> serde_json::Result<String> {
    let text = serde_json::to_string_pretty(value)?;
    // Outside of strings JSON has line ends and spaces only, and serde_json escapes C0 within them.
    if text.chars().all(|c| c == '\n' || shown(c) == c) {
        return Ok(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' || shown(c) == c {
            out.push(c);
        } else {
            // All of them are in the Basic Multilingual Plane.
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        }
    }
    Ok(out)
}

/// The analysis in the exported shape.
#[must_use]
pub fn export(analysis: &Analysis, info: &RunInfo) -> Export {
    let plan = &info.plan;
    Export {
        schema: SCHEMA,
        run: Run {
            litelab: info.litelab.clone(),
            study: plan.study.clone(),
            title: plan.title.clone(),
            source: plan.source.clone(),
            created: info.created.clone(),
            finished: info.finished.clone(),
            blocks: info.blocks(),
            quick: plan.quick,
            seed: plan.seed,
            tolerance: analysis.tolerance,
        },
        environment: info.environment.clone(),
        loads: info.loads.clone(),
        runners: info.runners.clone(),
        servers: info.servers.iter().map(|(name, server)| (name.to_string(), server.clone())).collect(),
        scenarios: analysis.scenarios.iter().map(|of| scenario(of, analysis)).collect(),
        arms: analysis.arms.iter().map(|a| arm(a, analysis)).collect(),
        claims: analysis.claims.iter().map(claim).collect(),
        findings: analysis.findings.clone(),
        crossovers: analysis.crossovers.iter().flat_map(crossovers).collect(),
    }
}

fn estimate(estimate: &litelab_stats::Estimate) -> Estimate {
    Estimate {
        value: estimate.value,
        low: estimate.low(),
        high: estimate.high(),
        confidence: estimate.confidence(),
        n: estimate.n,
        needs: estimate.needs(),
    }
}

fn scenario(of: &ScenarioAnalysis, analysis: &Analysis) -> Scenario {
    let names = |metrics: &[Metric]| metrics.iter().map(ToString::to_string).collect();
    let comparisons = of.comparisons.iter().flat_map(|c| {
        let decided = c.decided().map(|m| &m.metric);
        c.metrics.iter().map(move |m| comparison((c.arm, of.baseline), m, decided == Some(&m.metric), analysis))
    });
    Scenario {
        name: of.name.clone(),
        question: of.question.clone(),
        blocks: of.planned,
        baseline: of.baseline,
        metrics: names(&of.metrics),
        judged: names(&of.judged),
        confidence: of.confidence,
        comparisons: comparisons.collect(),
        aa: of.aa.iter().map(|c| comparison((c.twin, c.arm), &c.comparison, false, analysis)).collect(),
        harness: of
            .harness
            .iter()
            .map(|h| Harness { runner: h.runner.clone(), nanos: h.nanos, fastest: h.fastest, share: h.share })
            .collect(),
        alerts: of.alerts.iter().map(alert).collect(),
        scalability: of.scalability.iter().map(scalability).collect(),
        effects: of.effects.iter().flatten().flat_map(|e| &e.effects).map(effect).collect(),
        timelines: of.timelines.iter().map(timeline).collect(),
        content: of.content.iter().map(content).collect(),
    }
}

fn content(of: &analysis::ContentCheck) -> Content {
    Content { table: of.table.clone(), arms: of.arms.clone(), sha256: of.hash.clone(), odd: of.odd.clone() }
}

fn alert(of: &analysis::AlertResult) -> Alert {
    let fired = |f: &analysis::Fired| Fired { arm: f.arm, trials: f.trials, of: f.of, worst: f.worst };
    Alert {
        metric: of.limit.metric.to_string(),
        at_least: of.limit.at_least,
        at_most: of.limit.at_most,
        trials: of.trials,
        fired: of.fired.iter().map(fired).collect(),
    }
}

fn effect(of: &analysis::Effect) -> Effect {
    Effect {
        metric: of.metric.to_string(),
        dimension: of.level.0.clone(),
        value: of.level.1.clone(),
        reference: of.reference.clone(),
        with: of.with.as_ref().map(|(level, _)| level.clone()),
        ratio: Some(&of.ratio.ratio).filter(|ratio| ratio.interval().is_some()).map(estimate),
    }
}

fn timeline(of: &analysis::Timeline) -> Timeline {
    let window = |window: &analysis::timeline::Window| Window {
        from: window.seconds.0,
        to: window.seconds.1,
        values: (analysis::timeline::QUANTITIES.iter().zip(&window.values))
            .filter_map(|((name, _), value)| Some(((*name).to_owned(), estimate(value.as_ref()?))))
            .collect(),
    };
    Timeline { arm: of.arm, windows: of.windows.iter().map(window).collect() }
}

fn scalability(of: &analysis::Scalability) -> Scalability {
    let law = of.law.as_ref().ok();
    Scalability {
        label: of.label.clone(),
        dimension: of.dimension.clone(),
        metric: of.metric.to_string(),
        lambda: law.map(|law| estimate(&law.lambda)),
        sigma: law.map(|law| estimate(&law.sigma)),
        kappa: law.map(|law| estimate(&law.kappa)),
        peak: law.and_then(litelab_stats::Usl::peak),
        best: of.best.map(|(level, _)| level),
        falls_from: of.falls.map(|(level, _)| level),
        reason: of.law.as_ref().err().cloned(),
    }
}

fn comparison(
    (arm, against): (usize, usize),
    of: &analysis::MetricComparison,
    decided: bool,
    analysis: &Analysis,
) -> Comparison {
    let footing = analysis.footing(arm, against);
    let (verdict, blocks_needed) = match of.verdict {
        Verdict::Faster => ("faster", None),
        Verdict::Slower => ("slower", None),
        Verdict::Equivalent => ("equivalent", None),
        Verdict::Inconclusive { blocks_needed } => ("inconclusive", blocks_needed),
    };
    let paired = of.ratio.as_ref().ok();
    Comparison {
        arm,
        against,
        metric: of.metric.to_string(),
        ratio: paired.filter(|p| p.ratio.interval().is_some()).map(|p| estimate(&p.ratio)),
        p_value: paired.map(|p| p.p_value),
        p_adjusted: of.p_adjusted,
        verdict: verdict.into(),
        durability: footing.to_string(),
        durability_difference: footing.difference(),
        blocks_needed,
        decided,
        reason: match &of.ratio {
            Ok(paired) if paired.ratio.interval().is_none() => Some(crate::number::needs(&paired.ratio)),
            Ok(_) => None,
            Err(why) => Some(why.clone()),
        },
    }
}

fn arm(of: &ArmAnalysis, analysis: &Analysis) -> Arm {
    let word = |kind| serde_json::to_value(kind).ok().and_then(|k| k.as_str().map(str::to_owned)).unwrap_or_default();
    let failure =
        |f: &analysis::FailureCount| Failure { kind: word(f.kind), reason: f.reason.clone(), blocks: f.blocks.clone() };
    Arm {
        index: of.index,
        name: of.name.clone(),
        scenario: analysis.scenarios.get(of.scenario).map(|s| s.name.clone()).unwrap_or_default(),
        dimensions: of.dimensions.clone(),
        driver: of.driver.clone(),
        profile: of.profile.clone(),
        durability: of.durability.map(|d| d.to_string()),
        durability_meaning: of.durability.map(|d| d.meaning().to_owned()),
        settings: of.settings.clone(),
        planned: of.planned,
        skipped: of.skipped.clone(),
        measured: of.measured,
        failures: of.failures.iter().map(failure).collect(),
        errors: (of.errors.iter())
            .map(|((transaction, code), count)| Errors {
                transaction: transaction.clone(),
                code: code.clone(),
                seen: count.seen,
                cured: count.cured,
                message: count.message.clone(),
            })
            .collect(),
        notes: of.idle.iter().chain(&of.notes).cloned().collect(),
        metrics: of.metrics.iter().map(|(metric, v)| (metric.to_string(), values(metric, v))).collect(),
    }
}

fn values(metric: &Metric, of: &analysis::Values) -> Values {
    let unit = match metric.measure.unit() {
        Unit::PerSecond => "per_second",
        Unit::Nanos => "nanoseconds",
        Unit::Bytes => "bytes",
        Unit::Share => "share",
        Unit::Count => "count",
        Unit::PerTransaction => "per_transaction",
    };
    Values {
        unit: unit.into(),
        more_is_better: metric.measure.more_is_better(),
        median: of.estimate.as_ref().map(estimate),
        events: of.sum().map(|sum| (sum.count, sum.of)),
        max_of: of.max_of,
        short: of.short,
        blocks: of.by_block.iter().map(|(block, _)| *block).collect(),
        values: of.by_block.iter().map(|(_, value)| *value).collect(),
    }
}

fn crossovers(of: &analysis::CrossoverResult) -> Vec<Crossover> {
    let place = |place: litelab_stats::Place| match place {
        litelab_stats::Place::UpToFirst => shape::Place { place: "up_to_first".into(), value: None },
        litelab_stats::Place::At(at) => shape::Place { place: "at".into(), value: Some(at) },
        litelab_stats::Place::BeyondLast => shape::Place { place: "beyond_last".into(), value: None },
    };
    let one = |metric: &analysis::MetricCrossover| {
        let found = metric.found.as_ref().ok();
        let (from, to, confidence, needs) = match found.map(|found| found.reach) {
            Some(Reach::Between { from, to, confidence }) => {
                (Some(place(from)), Some(place(to)), Some(confidence), None)
            }
            Some(Reach::NeedsAtLeast(n)) => (None, None, None, Some(n)),
            None => (None, None, None, None),
        };
        Crossover {
            scenario: of.scenario.clone(),
            over: of.over.clone(),
            metric: metric.metric.to_string(),
            base: of.base.clone(),
            base_arms: of.arms.0.clone(),
            other: of.other.clone(),
            other_arms: of.arms.1.clone(),
            levels: of.levels.clone(),
            at: found.map(|found| place(found.at)),
            from,
            to,
            confidence,
            n: found.map_or(0, |found| found.n),
            needs,
            last: metric.last.as_ref().filter(|last| last.ratio.interval().is_some()).map(|last| estimate(&last.ratio)),
            reason: metric.found.as_ref().err().cloned(),
        }
    };
    of.metrics.iter().map(one).collect()
}

fn claim(of: &ClaimResult) -> Claim {
    let plan = &of.plan;
    let (verdict, blocks_needed) = match of.verdict {
        ClaimVerdict::Holds => ("holds", None),
        ClaimVerdict::Contradicted => ("contradicted", None),
        ClaimVerdict::Inconclusive { blocks_needed } => ("inconclusive", blocks_needed),
    };
    let measured = match &of.measured {
        Measured::Ratio(paired) => Some(&paired.ratio).filter(|r| r.interval().is_some()),
        Measured::Value(value) => Some(value),
        Measured::Nothing => None,
    };
    Claim {
        name: plan.name.clone(),
        text: plan.text.clone(),
        published: plan.published.clone(),
        note: plan.note.clone(),
        metric: plan.metric.to_string(),
        arm: plan.arm,
        against: plan.against,
        at_least: plan.at_least,
        at_most: plan.at_most,
        measured: measured.map(estimate),
        verdict: verdict.into(),
        blocks_needed,
        reason: of.reason.clone(),
    }
}
