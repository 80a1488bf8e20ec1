//! Values of ticks, and their labels.

use litelab_model::metric::Unit;

use crate::number;

/// Multiples of 1, 2 or 5 times a power of ten within the range: at most `most`, and at least one if `most` is 2 or
/// more. Empty for an empty range.
pub(in crate::chart) fn linear(low: f64, high: f64, most: usize) -> Vec<f64> {
    let span = high - low;
    if !(span > 0.0 && span.is_finite() && most > 0) {
        return Vec::new();
    }
    let start = (span / most as f64).log10().floor() as i32 - 1;
    let steps = (start..).flat_map(|exponent| [1.0, 2.0, 5.0].map(|mantissa| (mantissa, exponent)));
    // Fifteen steps span over four decades, more than the rounding above can be off by.
    let mut all = steps.take(15).map(|step| multiples(low, high, step, most));
    all.find(|ticks| ticks.len() <= most).unwrap_or_default()
}

/// Multiples within the range; one beyond `most` is enough to show that there are too many.
fn multiples(low: f64, high: f64, (mantissa, exponent): (f64, i32), most: usize) -> Vec<f64> {
    let first = (low / (mantissa * 10_f64.powi(exponent))).ceil() - 1.0;
    let values = (0..most + 3).map(|i| {
        let n = (first + i as f64) * mantissa;
        // Division by a whole power of ten rounds once: 3/10 is 0.3, whereas 3 × 0.1 is not. And 0.0 + −0.0 is 0.0.
        0.0 + if exponent < 0 { n / 10_f64.powi(-exponent) } else { n * 10_f64.powi(exponent) }
    });
    values.filter(|value| (low..=high).contains(value)).take(most + 1).collect()
}

/// Ticks of a logarithmic axis, at most `most`: 1, 2 and 5 in each decade, or decades, or every second, third, fifth …
/// decade. Within less than a decade the result of [`linear`], if that has more. Empty unless 0 < low < high.
pub(in crate::chart) fn logarithmic(low: f64, high: f64, most: usize) -> Vec<f64> {
    if !(low > 0.0 && high > low && high.is_finite() && most > 0) {
        return Vec::new();
    }
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let decades = |every: i32| {
        (first..=last).filter(move |exponent| exponent.rem_euclid(every) == 0).map(|exponent| (1.0, exponent))
    };
    let inside = |steps: &mut dyn Iterator<Item = (f64, i32)>| -> Vec<f64> {
        let values = steps.map(|(mantissa, exponent)| power(mantissa, exponent));
        values.filter(|value| (low..=high).contains(value)).collect()
    };
    let dense = inside(&mut (first..=last).flat_map(|exponent| [1.0, 2.0, 5.0].map(|mantissa| (mantissa, exponent))));
    let sparse = [1, 2, 3, 5, 10, 20, 50, 100, 200].into_iter().map(|every| inside(&mut decades(every)));
    let mut all = std::iter::once(dense).chain(sparse);
    let found = all.find(|ticks| ticks.len() <= most).unwrap_or_default();
    if found.len() < 3 && high / low < 10.0 {
        let even = linear(low, high, most);
        if even.len() > found.len() {
            return even;
        }
    }
    found
}

fn power(mantissa: f64, exponent: i32) -> f64 {
    if exponent < 0 { mantissa / 10_f64.powi(-exponent) } else { mantissa * 10_f64.powi(exponent) }
}

/// Labels with as many decimal places as the longest one needs: `0.5`, `1.0`, `1.5`.
pub(in crate::chart) fn even_labels(values: &[f64]) -> Vec<String> {
    let far = values.iter().any(|value| is_far(*value));
    let shown = |places: usize| -> Vec<String> { values.iter().map(|value| digits(*value, places, far)).collect() };
    let exact = |labels: &Vec<String>| labels.iter().zip(values).all(|(label, value)| says(label, *value));
    (0..=PLACES).map(shown).find(exact).unwrap_or_else(|| shown(PLACES))
}

/// A label with only the decimal places that it needs: `0.5`, `1`, `20`.
fn own_label(value: f64) -> String {
    even_labels(&[value]).concat()
}

/// Formats a time, a tick of a logarithmic axis, as `200 µs`.
pub(in crate::chart) fn time(nanos: f64) -> String {
    let unit = number::choose(nanos, Unit::Nanos);
    format!("{} {}", own_label(nanos / unit.divisor), unit.name)
}

/// Most decimal places of a label.
const PLACES: usize = 9;

/// Whether a number is easier to read with an exponent.
fn is_far(value: f64) -> bool {
    value != 0.0 && !(1e-4..1e7).contains(&value.abs())
}

fn digits(value: f64, places: usize, far: bool) -> String {
    if far && value != 0.0 { format!("{value:.places$e}") } else { format!("{value:.places$}") }
}

/// Whether a label gives its value, except for rounding.
fn says(label: &str, value: f64) -> bool {
    label.parse::<f64>().is_ok_and(|read| (read - value).abs() <= value.abs() * 1e-9)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn steps_are_one_two_or_five() {
        assert_eq!(linear(0.0, 10.0, 6), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(linear(0.0, 0.3, 4), [0.0, 0.1, 0.2, 0.3]);
        assert_eq!(linear(-1.0, 1.0, 5), [-1.0, -0.5, 0.0, 0.5, 1.0]);
        assert_eq!(linear(12_345.0, 54_321.0, 5), [20e3, 30e3, 40e3, 50e3]);
        assert_eq!(linear(1.0, 1.0, 5), [0.0; 0]);
        assert_eq!(linear(f64::NAN, 1.0, 5), [0.0; 0]);
    }

    #[test]
    fn decades_are_thinned_and_filled() {
        assert_eq!(logarithmic(1.0, 100.0, 8), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(logarithmic(1.0, 1e5, 6), [1.0, 10.0, 1e2, 1e3, 1e4, 1e5]);
        assert_eq!(logarithmic(1.0, 1e9, 5), [1.0, 1e2, 1e4, 1e6, 1e8]);
        assert_eq!(logarithmic(0.97, 1.04, 4), [0.98, 1.0, 1.02, 1.04]);
        assert_eq!(logarithmic(0.0, 1.0, 5), [0.0; 0]);
    }

    #[test]
    fn labels_have_the_places_they_need() {
        assert_eq!(even_labels(&[0.5, 1.0, 1.5]), ["0.5", "1.0", "1.5"]);
        assert_eq!(even_labels(&[0.0, 20.0]), ["0", "20"]);
        assert_eq!(even_labels(&[1e8, 2e8]), ["1e8", "2e8"]);
        assert_eq!([0.05, 1.0, 1e-6].map(own_label), ["0.05", "1", "1e-6"]);
        assert_eq!([0.5, 200.0, 5e4, 1e6, 1e12].map(time), ["0.5 ns", "200 ns", "50 µs", "1 ms", "1000 s"]);
    }

    fn distinct(labels: &[String]) -> bool {
        labels.iter().collect::<std::collections::BTreeSet<_>>().len() == labels.len()
    }

    proptest! {
        #[test]
        fn linear_ticks_are_few_inside_and_distinct(
            low in -1e12..1e12_f64, share in 1e-3..1e3_f64, most in 2_usize..12,
        ) {
            let high = low + (low.abs() + 1e-3) * share;
            let ticks = linear(low, high, most);
            prop_assert!(!ticks.is_empty() && ticks.len() <= most, "{:?}", ticks);
            prop_assert!(ticks.iter().all(|tick| (low..=high).contains(tick)));
            prop_assert!(ticks.is_sorted_by(|a, b| a < b));
            prop_assert!(distinct(&even_labels(&ticks)), "{:?}", even_labels(&ticks));
        }

        #[test]
        fn logarithmic_ticks_are_few_inside_and_distinct(
            low in -12.0..12.0_f64, decades in 1e-3..20.0_f64, most in 2_usize..12,
        ) {
            let (low, high) = (10_f64.powf(low), 10_f64.powf(low + decades));
            let ticks = logarithmic(low, high, most);
            prop_assert!(ticks.len() <= most, "{:?}", ticks);
            prop_assert!(most < 4 || !ticks.is_empty());
            prop_assert!(ticks.iter().all(|tick| (low..=high).contains(tick)));
            prop_assert!(ticks.is_sorted_by(|a, b| a < b));
            let labels: Vec<String> = ticks.iter().map(|tick| own_label(*tick)).collect();
            prop_assert!(distinct(&labels), "{:?}", labels);
        }
    }
}
