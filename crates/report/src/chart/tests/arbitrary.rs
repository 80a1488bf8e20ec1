//! Charts of any data at all.

use litelab_model::metric::Unit;
use litelab_record::stacks::Stacks;
use litelab_stats::Better;
use proptest::collection::vec;
use proptest::prelude::*;

use super::sound::check;
use crate::chart::{
    Cell, Chart, Dimension, Events, Flame, Forest, ForestRow, Heatmap, Law, Limit, Line, Load, PercentileCurve,
    Percentiles, Probe, Reading, Scaling, ScalingPoint, ScalingSeries, Strip, StripArm, TimeSeries, Verdict,
};
use crate::style::Tone;

/// Anything a double can be, and what is likely.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        2 => proptest::num::f64::ANY,
        4 => 1e-3..1e10_f64,
        2 => 0.5..2.0_f64,
        1 => Just(0.0),
        1 => Just(1.0),
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE, -1.0, -0.0]),
    ]
}

/// Texts with all that markup, layout and fonts may stumble over; without the letters of `NaN` and `inf`.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-hA-H0-9=_,.]{0,12}",
        1 => "[a-hA-HWM0-9=<>&\"'_ ,./:äß漢\u{0}-\u{9}\u{ffff}\u{301}]{0,90}",
    ]
}

fn reading() -> impl Strategy<Value = Reading> {
    (number(), proptest::option::of((number(), number()))).prop_map(|(value, range)| Reading { value, range })
}

fn unit() -> impl Strategy<Value = Option<Unit>> {
    prop::sample::select(vec![
        None,
        Some(Unit::PerSecond),
        Some(Unit::Nanos),
        Some(Unit::Bytes),
        Some(Unit::Share),
        Some(Unit::Count),
    ])
}

fn verdict() -> impl Strategy<Value = Verdict> {
    let tone = prop::sample::select(vec![Tone::Plain, Tone::Strong, Tone::Dim, Tone::Good, Tone::Bad, Tone::Warn]);
    (text(), text(), tone).prop_map(|(glyph, word, tone)| Verdict { glyph, word, tone })
}

/// Title, sentence and two further texts.
fn texts() -> impl Strategy<Value = [String; 4]> {
    [text(), text(), text(), text()]
}

prop_compose! {
    fn forest()(
        [title, summary, axis, side] in texts(),
        band in proptest::option::of((number(), number())),
        rows in vec((text(), reading(), proptest::option::of(text()), proptest::option::of(verdict()), any::<u32>()).prop_map(
            |(label, ratio, reason, verdict, blocks)| ForestRow { label, ratio: reason.map_or(Ok(ratio), Err), verdict, blocks }
        ), 0..6),
    ) -> Forest {
        Forest { title, summary, axis, band, sides: Some((side.clone(), side)), rows }
    }
}

prop_compose! {
    fn percentiles()(
        [title, summary, axis, of] in texts(),
        curves in vec((text(), vec((prop_oneof![0.0..=1.0_f64, Just(1.0), Just(0.0), number()], number()), 0..20))
            .prop_map(|(name, points)| PercentileCurve { name, points }), 0..10),
    ) -> Percentiles {
        Percentiles { title, summary, axis, of, curves }
    }
}

prop_compose! {
    fn flame()(
        [title, summary, _, _] in texts(),
        lines in vec((vec(text(), 1..9), prop_oneof![4 => 0..1000_u64, 1 => any::<u64>()]), 0..30),
    ) -> Flame {
        let line = |(stack, count): &(Vec<String>, u64)| format!("{} {count}\n", stack.join(";"));
        Flame { title, summary, stacks: Stacks::parse(&lines.iter().map(line).collect::<String>(), 199) }
    }
}

prop_compose! {
    fn strip()(
        [title, summary, axis, _] in texts(), unit in unit(),
        arms in vec((text(), vec((prop_oneof![0_u32..40, any::<u32>()], number()), 0..30), proptest::option::of(reading()))
            .prop_map(|(label, values, median)| StripArm { label, values, median }), 0..5),
    ) -> Strip {
        Strip { title, summary, axis, unit, arms }
    }
}

prop_compose! {
    fn heatmap()(
        [title, summary, metric, name] in texts(), unit in unit(),
        better in prop::sample::select(vec![None, Some(Better::Higher), Some(Better::Lower)]),
        rows in vec(text(), 0..5), columns in vec(text(), 0..12),
        cells in vec(vec(prop_oneof![
            3 => (number(), text()).prop_map(|(value, note)| Cell::Value { value, note }),
            1 => (text(), text()).prop_map(|(word, reason)| Cell::Missing { word, reason }),
        ], 0..12), 0..6),
    ) -> Heatmap {
        let dimension = |levels| Dimension { name: name.clone(), levels };
        Heatmap { title, summary, metric, unit, better, rows: dimension(rows), columns: dimension(columns), cells }
    }
}

prop_compose! {
    fn law()(lambda in number(), sigma in reading(), kappa in reading(), peak in proptest::option::of(number())) -> Law {
        Law { lambda, sigma, kappa, peak }
    }
}

prop_compose! {
    fn scaling()(
        [title, summary, workers, throughput] in texts(), unit in unit(),
        series in vec((
            text(),
            vec((prop_oneof![0_u32..64, any::<u32>()], proptest::option::of(reading()), proptest::option::of(reading()))
                .prop_map(|(workers, throughput, latency)| ScalingPoint { workers, throughput, latency }), 0..9),
            proptest::option::of(prop_oneof![law().prop_map(Ok), text().prop_map(Err)]),
        ).prop_map(|(name, points, law)| ScalingSeries { name, points, law }), 0..5),
    ) -> Scaling {
        Scaling { title, summary, latency: workers.clone(), workers, throughput, unit, series }
    }
}

prop_compose! {
    fn load()(
        [title, summary, offered, response] in texts(),
        probes in vec((number(), [proptest::option::of(number()), proptest::option::of(number()), proptest::option::of(number())], proptest::option::of(text()))
            .prop_map(|(offered, [p50, p95, p99], saturated)| Probe { offered, p50, p95, p99, saturated }), 0..12),
        limit in proptest::option::of((number(), text()).prop_map(|(nanos, label)| Limit { nanos, label })),
        sustainable in proptest::option::of(number()),
    ) -> Load {
        Load { title, summary, offered, response, probes, limit, sustainable }
    }
}

prop_compose! {
    fn series()(
        [title, summary, quantity, _] in texts(), unit in unit(),
        lines in vec((text(), vec((prop_oneof![0.0..30.0_f64, number()], number()), 0..60))
            .prop_map(|(name, points)| Line { name, points }), 0..4),
        events in vec((text(), vec(prop_oneof![0.0..30.0_f64, number()], 0..60))
            .prop_map(|(name, seconds)| Events { name, seconds }), 0..4),
    ) -> TimeSeries {
        TimeSeries { title, summary, quantity, unit, lines, events }
    }
}

fn sound(chart: &dyn Chart, id: &str) -> Result<(), TestCaseError> {
    let svg = chart.svg(id).into_string();
    check(&svg).map_err(|error| TestCaseError::fail(format!("{error}\n{svg}")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn forests_are_sound(chart in forest(), id in text()) {
        sound(&chart, &id)?;
    }

    #[test]
    fn percentiles_are_sound(chart in percentiles(), id in text()) {
        sound(&chart, &id)?;
    }

    #[test]
    fn strips_are_sound(chart in strip(), id in text()) {
        sound(&chart, &id)?;
    }

    #[test]
    fn flames_are_xml(chart in flame(), id in text()) {
        let svg = chart.svg(&id).into_string();
        prop_assert!(roxmltree::Document::parse(&svg).is_ok(), "{svg}");
    }

    #[test]
    fn heatmaps_are_sound(chart in heatmap(), id in text()) {
        sound(&chart, &id)?;
    }

    #[test]
    fn scalings_are_sound(chart in scaling(), id in text()) {
        sound(&chart, &id)?;
    }

    #[test]
    fn loads_are_sound(chart in load(), id in text()) {
        sound(&chart, &id)?;
    }

    #[test]
    fn time_series_are_sound(chart in series(), id in text()) {
        sound(&chart, &id)?;
    }
}
