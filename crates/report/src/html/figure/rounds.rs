//! Charts of the first metric round by round, which show drift and outliers.

use litelab_model::metric::Unit;

use super::{Figure, Source, left_out};
use crate::analysis::VariantAnalysis;
use crate::chart::{Axis, Entry, Kind, Mark, Panel, Reading, Sample, Xy, mark, say};
use crate::document::max_of;
use crate::number;

/// Largest number of panels of a chart.
const MOST: usize = 6;
/// Number of dots of a panel above which small ones are drawn, so that they do not overlap.
const LARGE: usize = 80;

/// One panel: values by round in order, counted from 1, and their median.
struct Variant {
    label: String,
    values: Vec<(u32, f64)>,
    median: Option<Reading>,
}

pub(super) fn figure(source: Source<'_>) -> Option<Figure> {
    let metric = source.scenario.metrics.first()?;
    let shown = source.scenario.leading(source.analysis, MOST);
    // One or two rounds show no drift.
    let most = shown.iter().map(|variant| variant.values(metric).len()).max()?;
    if most < 3 {
        return None;
    }
    let variant = |variant: &&VariantAnalysis| Variant {
        label: max_of(variant, metric) + &source.name(variant),
        values: variant.values(metric).iter().map(|(round, value)| (round + 1, *value)).collect(),
        median: variant.estimate(metric).map(Reading::from),
    };
    let variants: Vec<Variant> = shown.iter().map(variant).collect();
    let chart = Xy {
        title: format!("{}: {metric} by round", source.scenario.name),
        ..chart(&metric.to_string(), metric.unit(), &variants)
    };
    let note = format!(
        "{}Rounds in the order in which they were measured, with the median and its 95 % interval.",
        left_out(shown.len(), source.measured().count(), "the baseline and the best by the first metric"),
    );
    let variants = shown.iter().map(|variant| variant.index).collect();
    Some(Figure { chart: Box::new(chart), note, variants, course: None })
}

/// A chart whose panels have their own ticks, but reach equally far from their median in proportion, so that a wide
/// scatter looks wide.
fn chart(metric: &str, unit: Unit, variants: &[Variant]) -> Xy {
    let ratios = variants.iter().flat_map(|variant| {
        let centre = variant.centre();
        variant.shown().into_iter().filter_map(move |value| Some(value / centre?))
    });
    let (low, high) = Kind::Linear.range(ratios).unwrap_or((1.0, 1.0));
    let margin = (high - low) * 0.08 + 0.001;
    let reach = (low - margin, high + margin);
    let panel = |variant: &Variant| Panel {
        label: variant.label.clone(),
        y: variant.range(reach).map(|range| Axis::between(metric, Some(unit), range)),
        height: 76.0,
        marks: variant.marks(),
        ..Panel::default()
    };
    Xy {
        drawn: format!("{metric} by round in the order of measurement, one panel for each variant."),
        words: variants.iter().map(|variant| variant.sentence(unit)).collect(),
        legend: vec![
            Entry::new(Sample::Shape(0, "dot-sample".into()), "one round"),
            Entry::new(Sample::Rule("median"), "median"),
            Entry::new(Sample::Area("interval"), "its interval"),
        ],
        x: Axis::whole(
            "round, in the order of measurement",
            variants.iter().flat_map(|variant| &variant.values).map(|(round, _)| *round),
        ),
        panels: variants.iter().map(panel).collect(),
        ..Xy::default()
    }
}

impl Variant {
    /// All values to draw: values, median and interval.
    fn shown(&self) -> Vec<f64> {
        let ends = self.median.and_then(|median| median.range).map(|(low, high)| [low, high]);
        let median = self.median.map(|median| median.value).into_iter().chain(ends.into_iter().flatten());
        self.values.iter().map(|(_, value)| *value).chain(median).filter(|value| Kind::Linear.places(*value)).collect()
    }

    /// The median, if ratios to it are meaningful: extreme magnitudes are excluded.
    fn centre(&self) -> Option<f64> {
        self.median.map(|median| median.value).filter(|median| (1e-12..1e80).contains(median))
    }

    /// Range of the vertical axis; `None` without values.
    fn range(&self, reach: (f64, f64)) -> Option<(f64, f64)> {
        let own = Kind::Linear.range(self.shown())?;
        Some(match self.centre() {
            Some(centre) => {
                let low = own.0.min(centre * reach.0);
                // A quantity that cannot be negative has no axis below 0.
                (if own.0 >= 0.0 { low.max(0.0) } else { low }, own.1.max(centre * reach.1))
            }
            None => {
                let margin = (own.1 - own.0) * 0.08;
                (own.0 - margin, own.1 + margin)
            }
        })
    }

    fn marks(&self) -> Vec<Mark> {
        let points: Vec<(f64, f64)> = self.values.iter().map(|(round, value)| (f64::from(*round), *value)).collect();
        let dot = if points.len() > LARGE { "dot small" } else { "dot" };
        let interval = self.median.and_then(|median| median.range).map(|range| Mark::Band("interval", range));
        let median = self.median.map(|median| Mark::Across("median", median.value));
        let dots = [Mark::Line("thread".into(), points.clone()), Mark::Points(dot.into(), mark::DOT, points)];
        interval.into_iter().chain(median).chain(dots).collect()
    }

    fn sentence(&self, unit: Unit) -> String {
        let values: Vec<f64> =
            self.values.iter().map(|(_, value)| *value).filter(|v| Kind::Linear.places(*v)).collect();
        let Some((low, high)) = Kind::Linear.range(values.iter().copied()) else {
            return format!("{}: nothing that could be drawn", self.label);
        };
        let median = self.median.map(|median| format!("median {}, ", say::reading(&median, Some(unit))));
        let rounds = number::counted(values.len() as u64, "round");
        let [low, high] = [low, high].map(|value| say::value(value, Some(unit)));
        format!("{}: {}{rounds} from {low} to {high}", self.label, median.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Chart;
    use crate::chart::tests::look::{draw, marks};

    #[test]
    fn there_is_a_dot_for_each_round_and_the_median_in_every_panel() {
        let values = vec![(1, 10.0), (2, f64::NAN), (3, 30.0), (4, 20.0)];
        let variant = Variant { label: "a".into(), values, median: Some(Reading::within(20.0, 10.0, 30.0)) };
        let chart = chart("time", Unit::Nanos, &[variant]);
        let svg = draw(&chart);
        assert_eq!(marks(&svg, "dot").concat().matches("h0").count(), 3);
        assert_eq!(
            (marks(&svg, "median").len(), marks(&svg, "interval").len()),
            (2, 2),
            "in the legend and in the plot"
        );
        assert!(chart.description().contains("3 rounds from 10.0 ns to 30.0 ns"), "{}", chart.description());
    }
}
