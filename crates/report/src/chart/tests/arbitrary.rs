//! Properties of charts of arbitrary data.

use litelab_model::metric::Unit;
use litelab_record::stacks::Stacks;
use litelab_stats::{Bounds, Estimate, Interval};
use proptest::collection::vec;
use proptest::prelude::*;

use super::sound::check;
use crate::chart::{Axis, Chart, Entry, Flame, Kind, Lane, Mark, Sample, Xy};

/// Any `f64`, with typical values more frequent.
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

/// Texts with characters that are special in markup, layout or fonts, and without the letters of `NaN` and `inf`.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-hA-H0-9=_,.]{0,12}",
        1 => "[a-hA-HWM0-9=<>&\"'_ ,./:äß漢\u{0}-\u{9}\u{ffff}\u{301}]{0,90}",
    ]
}

/// An estimate with an interval, or without one if one of the ends is not finite.
fn estimate() -> impl Strategy<Value = Estimate> {
    (number(), number(), number()).prop_map(|(value, one, other)| {
        let interval = Interval::new(one.min(other), one.max(other), 0.95);
        Estimate { value, n: 6, bounds: interval.map_or(Bounds::NeedsAtLeast(6), Bounds::Interval) }
    })
}

fn unit() -> impl Strategy<Value = Unit> {
    prop::sample::select(vec![Unit::PerSecond, Unit::Nanos, Unit::Bytes, Unit::Share, Unit::Count])
}

prop_compose! {
    fn flame()(
        title in text(),
        lines in vec((vec(text(), 1..9), prop_oneof![4 => 0..1000_u64, 1 => any::<u64>()]), 0..30),
    ) -> Flame {
        let line = |(stack, count): &(Vec<String>, u64)| format!("{} {count}\n", stack.join(";"));
        Flame { title, stacks: Stacks::parse(&lines.iter().map(line).collect::<String>(), 199) }
    }
}

/// An axis of any kind over any values.
fn axis() -> impl Strategy<Value = Option<Axis>> {
    (0..5_u8, text(), unit(), vec(number(), 0..9)).prop_map(|(kind, what, unit, values)| {
        let whole = || values.iter().map(|value| *value as u32);
        match kind {
            0 => Axis::linear(&what, unit, values),
            1 => Axis::rounded(&what, unit, values),
            2 => Axis::times(&what, values),
            3 => Axis::seconds(&what, values),
            _ => {
                let ticks = whole().map(|n| (f64::from(n), n.to_string())).collect();
                Some(Axis::given(&what, Kind::Logarithmic, (0.95, 4e9), ticks))
            }
        }
    })
}

fn entry() -> impl Strategy<Value = Entry> {
    let sample = prop_oneof![
        (0..12_usize).prop_map(Sample::Series),
        (0..12_usize).prop_map(Sample::Line),
        Just(Sample::Rule("limit")),
        (0..12_usize).prop_map(|shape| Sample::Shape(shape, "mark".into())),
    ];
    (sample, text()).prop_map(|(sample, text)| Entry::new(sample, text))
}

fn mark() -> impl Strategy<Value = Mark> {
    let points = || vec((number(), number()), 0..30);
    prop_oneof![
        points().prop_map(|points| Mark::Line("line".into(), points)),
        (0..12_usize, points()).prop_map(|(shape, points)| Mark::Points("mark".into(), shape, points)),
        vec((number(), estimate()), 0..9).prop_map(|estimates| Mark::Whiskers("whisker".into(), estimates)),
        number().prop_map(|y| Mark::Across("limit", y)),
        number().prop_map(|x| Mark::Down("kept", x)),
    ]
}

fn lane() -> impl Strategy<Value = Lane> {
    (0..12_usize, vec(number(), 0..30), any::<bool>()).prop_map(|(shape, at, through)| Lane {
        class: "mark event",
        shape,
        at,
        through,
    })
}

prop_compose! {
    fn xy()(
        [title, summary, drawn] in [text(), text(), text()], words in vec(text(), 0..12),
        legend in vec(entry(), 0..6), x in axis(), y in axis(), height in 60.0..230.0_f64,
        marks in vec(mark(), 0..9), lanes in vec(lane(), 0..3), caption in vec(text(), 0..3),
    ) -> Xy {
        Xy { title, summary, drawn, words, legend, x, y, height, marks, lanes, caption }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn flames_are_xml(chart in flame()) {
        let svg = chart.svg("c").into_string();
        prop_assert!(roxmltree::Document::parse(&svg).is_ok(), "{svg}");
    }

    #[test]
    fn xy_charts_are_sound(chart in xy()) {
        let svg = chart.svg("c").into_string();
        check(&svg).map_err(|error| TestCaseError::fail(format!("{error}\n{svg}")))?;
    }
}
