//! Formats numbers for people: three significant digits; a value and its interval have the same unit.

use litelab_model::metric::Unit;
use litelab_stats::Estimate;

/// Text in place of a missing number.
pub const NONE: &str = "–";

/// Magnitudes that are written without an exponent.
const PLAIN: std::ops::Range<f64> = 1e-4..1e9;

/// Decimal places up to which a ratio is extended until the ends of its interval differ.
const RATIO_PLACES: usize = 4;

/// Distance of an interval's upper end, in multiples of the value, from which it is not given as a share of the value.
const FAR: f64 = 10.0;

/// A unit, and the divisor that converts a value into it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    pub(crate) divisor: f64,
    /// Text after the value.
    pub(crate) after: &'static str,
    /// Text after each end of an interval, where the unit itself is not repeated.
    pub(crate) after_end: &'static str,
    /// Name in the title of an axis.
    pub(crate) name: &'static str,
}

const fn scale(divisor: f64, after: &'static str, after_end: &'static str, name: &'static str) -> Scale {
    Scale { divisor, after, after_end, name }
}

const NANOS: [Scale; 4] =
    [scale(1.0, " ns", "", "ns"), scale(1e3, " µs", "", "µs"), scale(1e6, " ms", "", "ms"), scale(1e9, " s", "", "s")];
const RATES: [Scale; 4] = [
    scale(1.0, "/s", "", "per second"),
    scale(1e3, "k/s", "k", "thousand per second"),
    scale(1e6, "M/s", "M", "million per second"),
    scale(1e9, "G/s", "G", "billion per second"),
];
const BYTES: [Scale; 5] = [
    scale(1.0, " B", "", "B"),
    scale(1024.0, " KiB", "", "KiB"),
    scale(1_048_576.0, " MiB", "", "MiB"),
    scale(1_073_741_824.0, " GiB", "", "GiB"),
    scale(1_099_511_627_776.0, " TiB", "", "TiB"),
];
const SHARES: [Scale; 1] = [scale(0.01, " %", "", "%")];
const COUNTS: [Scale; 3] =
    [scale(1.0, "", "", "number"), scale(1e3, " k", "k", "thousands"), scale(1e6, " M", "M", "millions")];
const PER_TRANSACTION: [Scale; 1] = [scale(1.0, "/transaction", "", "per transaction")];

/// Formats a value alone: `1.34 ms`, `12.3k/s`, `4.00 MiB`, `2.50 %`.
#[must_use]
pub fn value(value: f64, unit: Unit) -> String {
    if !value.is_finite() {
        return NONE.into();
    }
    let scale = choose(value, unit);
    format!("{}{}", digits(value / scale.divisor, None), scale.after)
}

/// Formats a median with its interval: `1.34 ms [1.29, 1.40]`; without one `1.34 ms [?]`, which the report must explain
/// (see [`needs`]).
#[must_use]
pub fn estimate(estimate: &Estimate, unit: Unit) -> String {
    if !estimate.value.is_finite() {
        return NONE.into();
    }
    let scale = choose(estimate.value, unit);
    match ends(estimate, scale) {
        Some(ends) => format!("{}{} {ends}", digits(estimate.value / scale.divisor, None), scale.after),
        None => format!("{} [?]", value(estimate.value, unit)),
    }
}

/// Formats a median and the farther end of its interval as a share of it, for large tables: `1.34 ms ±4.5 %`,
/// `1.34 ms [?]`.
#[must_use]
pub fn brief(estimate: &Estimate, unit: Unit) -> String {
    let value = value(estimate.value, unit);
    format!("{value} {}", plus_minus(estimate).unwrap_or_else(|| "[?]".into()))
}

/// Formats `±4.5 %`; `None` without an interval, and for a value of zero.
fn plus_minus(estimate: &Estimate) -> Option<String> {
    let interval = estimate.interval().filter(|_| estimate.value != 0.0)?;
    let farther = (interval.high() - estimate.value).max(estimate.value - interval.low()) / estimate.value.abs();
    let places = usize::from(farther < 0.0995);
    Some(format!("±{:.places$} %", farther * 100.0))
}

/// A unit shared by all values of a table, so that it is printed once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shared(Scale);

impl Shared {
    /// Selects the largest unit of which every value has at least one.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = f64>, unit: Unit) -> Self {
        let least = values.into_iter().map(f64::abs).filter(|v| *v > 0.0 && v.is_finite()).min_by(f64::total_cmp);
        Self(choose(least.unwrap_or(0.0), unit))
    }

    /// Name of the unit: `µs`, `k/s`; empty for a plain count.
    #[must_use]
    pub fn unit(self) -> &'static str {
        self.0.after.trim()
    }

    /// Formats a value without the unit: `80.1`.
    #[must_use]
    pub fn value(self, value: f64) -> String {
        digits(value / self.0.divisor, None)
    }

    /// Formats a median and the farther end of its interval as a share of it, without the unit: `80.1 ±0.4 %`,
    /// `80.1 [?]`. The ends of the interval are given if the median is zero, or if the upper end is at least ten times
    /// the median away from it.
    #[must_use]
    pub fn brief(self, estimate: &Estimate) -> String {
        if !estimate.value.is_finite() {
            return NONE.into();
        }
        let value = digits(estimate.value / self.0.divisor, None);
        let near = |interval: litelab_stats::Interval| interval.high() - estimate.value < FAR * estimate.value.abs();
        let share = plus_minus(estimate).filter(|_| estimate.interval().is_some_and(near));
        match (share, ends(estimate, Scale { after_end: "", ..self.0 })) {
            (Some(share), _) => format!("{value} {share}"),
            (None, Some(ends)) => format!("{value} {ends}"),
            (None, None) => format!("{value} [?]"),
        }
    }
}

/// Formats an estimate as [`estimate`] does, but for a sentence: `1.34 ms (an interval needs ≥ 6 rounds)`.
#[must_use]
pub fn sentence(of: &Estimate, unit: Unit) -> String {
    match of.interval() {
        Some(_) => estimate(of, unit),
        None => format!("{} (an interval {})", value(of.value, unit), needs(of)),
    }
}

/// Formats a ratio with its interval, `1.34× [1.29, 1.40]`; `None` without an interval, because a ratio alone must not
/// be printed.
#[must_use]
pub fn ratio(estimate: &Estimate) -> Option<String> {
    let interval = estimate.interval()?;
    let all = [estimate.value, interval.low(), interval.high()];
    let at = |places: usize| all.map(|x| digits(x, Some(places)));
    // Ratios near 1 are often known to more than three digits: 1.002× [0.998, 1.006].
    let mut places = places(estimate.value);
    // An end that would be rounded to 1 hides that the interval does not contain 1.
    let hides_one = |places: usize| {
        [interval.low(), interval.high()].iter().any(|x| *x != 1.0 && digits(*x, Some(places)).parse() == Ok(1.0))
    };
    let are_alike = |places: usize| at(places)[1] == at(places)[2];
    while places < RATIO_PLACES && interval.low() < interval.high() && (are_alike(places) || hides_one(places)) {
        places += 1;
    }
    let [value, low, high] = at(places);
    estimate.value.is_finite().then(|| format!("{value}× [{low}, {high}]"))
}

/// Text in place of an interval: `needs ≥ 6 rounds`.
#[must_use]
pub fn needs(estimate: &Estimate) -> String {
    format!("needs ≥ {} rounds", estimate.needs().unwrap_or(estimate.n + 1))
}

/// Formats a bound of a claim: a value in the metric's unit, or a bare number for a ratio (only measured ratios have a
/// `×`).
#[must_use]
pub fn bound(bound: f64, unit: Option<Unit>) -> String {
    match unit {
        Some(unit) => value(bound, unit),
        None => trimmed(&digits(bound, None)).to_owned(),
    }
}

/// Formats a fraction in per cent, with at most two decimal places and no trailing zeros: `5 %`, `98.75 %`.
#[must_use]
pub fn percent(fraction: f64) -> String {
    if !fraction.is_finite() {
        return NONE.into();
    }
    format!("{} %", trimmed(&format!("{:.2}", fraction * 100.0)))
}

/// Formats a forecast fraction in per cent with two digits, which is its precision: `0.71 %`, `7.1 %`, `24 %`.
#[must_use]
pub fn rough(fraction: f64) -> String {
    let percent = fraction * 100.0;
    if !percent.is_finite() {
        return NONE.into();
    }
    let places = usize::from(percent < 9.95) + usize::from(percent < 0.995);
    format!("{percent:.places$} %")
}

/// Formats a span of time in its largest unit, for ages: `4 minutes`, `1 hour`, `12 days`.
#[must_use]
pub fn age(seconds: u64) -> String {
    match seconds {
        0..120 => counted(seconds, "second"),
        120..7200 => counted(seconds / 60, "minute"),
        7200..172_800 => counted(seconds / 3600, "hour"),
        _ => counted(seconds / 86_400, "day"),
    }
}

/// Formats a number with its noun: `1 round`, `12 rounds`.
#[must_use]
pub fn counted(n: impl Into<u64>, noun: &str) -> String {
    match n.into() {
        1 => format!("1 {noun}"),
        n => format!("{n} {noun}s"),
    }
}

fn ends(estimate: &Estimate, scale: Scale) -> Option<String> {
    let interval = estimate.interval()?;
    // Zero has no digits of its own; the upper end of its interval has.
    let telling = if estimate.value == 0.0 { interval.high() } else { estimate.value };
    let places = places(telling / scale.divisor);
    let end = |x: f64| format!("{}{}", digits(x / scale.divisor, Some(places)), scale.after_end);
    Some(format!("[{}, {}]", end(interval.low()), end(interval.high())))
}

/// The largest unit of which there is at least one after rounding: 999.96 µs is printed as 1.00 ms.
pub(crate) fn choose(value: f64, unit: Unit) -> Scale {
    let scales: &[Scale] = match unit {
        Unit::Nanos => &NANOS,
        Unit::PerSecond => &RATES,
        Unit::Bytes => &BYTES,
        Unit::Share => &SHARES,
        Unit::Count => &COUNTS,
        Unit::PerTransaction => &PER_TRANSACTION,
    };
    let fits = |scale: &&Scale| rounded(value / scale.divisor).abs() >= 1.0;
    scales.iter().rev().find(fits).copied().unwrap_or(scales[0])
}

/// Rounds to three significant digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

/// Number of decimal places for three significant digits.
fn places(value: f64) -> usize {
    let rounded = rounded(value).abs();
    if rounded == 0.0 || !rounded.is_finite() {
        return 0;
    }
    (2.0 - rounded.log10().floor()).clamp(0.0, 9.0) as usize
}

/// Formats with the requested decimal places, default: three significant digits. A value that would be printed as zero
/// but is not zero gets the decimal places that it needs.
fn digits(value: f64, places_asked: Option<usize>) -> String {
    if !value.is_finite() {
        return NONE.into();
    }
    if value != 0.0 && !PLAIN.contains(&value.abs()) {
        return format!("{value:.2e}");
    }
    let own = places(value);
    let places = match places_asked {
        Some(asked) if value == 0.0 || value.abs() >= 0.5 * 10_f64.powi(-(asked as i32)) => asked,
        _ => own,
    };
    let text = format!("{value:.places$}");
    // A minus zero would look like an error.
    if text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.') {
        text.trim_start_matches('-').into()
    } else {
        text
    }
}

/// A number without zeros at its end.
pub(crate) fn trimmed(text: &str) -> &str {
    if text.contains('.') && !text.contains('e') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

#[cfg(test)]
mod tests {
    use litelab_stats::{Bounds, Interval};

    use super::*;

    fn known(low: f64, value: f64, high: f64) -> Estimate {
        Estimate { value, n: 6, bounds: Bounds::Interval(Interval::new(low, high, 0.97).unwrap()) }
    }

    #[test]
    fn three_digits_in_the_largest_unit_that_fits() {
        let cases = [
            (0.0, Unit::Nanos, "0 ns"),
            (7.0, Unit::Nanos, "7.00 ns"),
            (345.2, Unit::Nanos, "345 ns"),
            (999.96e3, Unit::Nanos, "1.00 ms"),
            (1_340_000.0, Unit::Nanos, "1.34 ms"),
            (7.2e12, Unit::Nanos, "7200 s"),
            (12_345.0, Unit::PerSecond, "12.3k/s"),
            (999.0, Unit::PerSecond, "999/s"),
            (999.7, Unit::PerSecond, "1.00k/s"),
            (4_194_304.0, Unit::Bytes, "4.00 MiB"),
            (1023.0, Unit::Bytes, "1023 B"),
            (0.025, Unit::Share, "2.50 %"),
            (1.0, Unit::Share, "100 %"),
            (-1500.0, Unit::Nanos, "-1.50 µs"),
            (f64::NAN, Unit::Nanos, "–"),
            (f64::INFINITY, Unit::Bytes, "–"),
        ];
        for (number, unit, text) in cases {
            assert_eq!(value(number, unit), text, "{number} {unit:?}");
        }
    }

    #[test]
    fn an_interval_has_the_unit_and_places_of_its_value() {
        assert_eq!(estimate(&known(1.29e6, 1.34e6, 1.4e6), Unit::Nanos), "1.34 ms [1.29, 1.40]");
        assert_eq!(estimate(&known(950e3, 1.34e6, 2.1e9), Unit::Nanos), "1.34 ms [0.95, 2100.00]");
        assert_eq!(estimate(&known(11_900.0, 12_300.0, 12_800.0), Unit::PerSecond), "12.3k/s [11.9k, 12.8k]");
        assert_eq!(estimate(&known(1.0, 12.3e6, 12.4e6), Unit::PerSecond), "12.3M/s [1.00e-6M, 12.4M]");
        assert_eq!(estimate(&known(0.0, 0.0, 0.5), Unit::Share), "0 % [0.0, 50.0]");
    }

    #[test]
    fn a_brief_interval_is_its_farther_end() {
        assert_eq!(brief(&known(1.29e6, 1.34e6, 1.4e6), Unit::Nanos), "1.34 ms ±4.5 %");
        assert_eq!(brief(&known(900.0, 1000.0, 1001.0), Unit::PerSecond), "1.00k/s ±10 %");
        assert_eq!(brief(&known(1.0, 1.0, 1.0996), Unit::Nanos), "1.00 ns ±10 %");
        let few = Estimate { value: 1.34, n: 4, bounds: Bounds::NeedsAtLeast(6) };
        assert_eq!(brief(&few, Unit::Nanos), "1.34 ns [?]");
        assert_eq!(brief(&known(0.0, 0.0, 0.0), Unit::Share), "0 % [?]");
    }

    #[test]
    fn a_table_has_one_unit() {
        let shared = Shared::of([320_000.0, 0.0, 80_100.0], Unit::Nanos);
        assert_eq!(shared.unit(), "µs");
        assert_eq!(shared.brief(&known(79_800.0, 80_100.0, 80_400.0)), "80.1 ±0.4 %");
        assert_eq!(shared.brief(&known(0.0, 0.0, 2000.0)), "0 [0.00, 2.00]");
        assert_eq!(shared.brief(&known(393e3, 502e3, 5e6)), "502 ±896 %");
        assert_eq!(shared.brief(&known(393e3, 502e3, 530e6)), "502 [393, 530000]");
        assert_eq!(shared.brief(&Estimate { value: 3.2e6, n: 4, bounds: Bounds::NeedsAtLeast(6) }), "3200 [?]");
        assert_eq!(Shared::of([12_300.0], Unit::PerSecond).unit(), "k/s");
        assert_eq!(Shared::of([], Unit::Count).unit(), "");
    }

    #[test]
    fn a_ratio_is_never_alone() {
        assert_eq!(ratio(&known(1.29, 1.34, 1.4)).as_deref(), Some("1.34× [1.29, 1.40]"));
        assert_eq!(ratio(&known(0.009, 0.0123, 0.2)).as_deref(), Some("0.0123× [0.0090, 0.2000]"));
        assert_eq!(ratio(&known(0.9991, 1.0, 1.0012)).as_deref(), Some("1.000× [0.999, 1.001]"));
        assert_eq!(ratio(&known(1.0, 1.0, 1.0)).as_deref(), Some("1.00× [1.00, 1.00]"));
        let few = Estimate { value: 1.34, n: 4, bounds: Bounds::NeedsAtLeast(6) };
        assert_eq!(ratio(&few), None);
        assert_eq!(needs(&few), "needs ≥ 6 rounds");
        assert_eq!(estimate(&few, Unit::Nanos), "1.34 ns [?]");
        assert_eq!(sentence(&few, Unit::Nanos), "1.34 ns (an interval needs ≥ 6 rounds)");
    }

    #[test]
    fn forecasts_have_two_digits_and_ages_one_unit() {
        let shown = [0.0071, 0.00999, 0.071, 0.0996, 0.242, 1.5].map(rough);
        assert_eq!(shown, ["0.71 %", "1.0 %", "7.1 %", "10 %", "24 %", "150 %"]);
        assert_eq!(rough(f64::NAN), NONE);
        let ages = [1, 119, 120, 7199, 7200, 172_799, 172_800].map(age);
        assert_eq!(ages, ["1 second", "119 seconds", "2 minutes", "119 minutes", "2 hours", "47 hours", "2 days"]);
    }

    #[test]
    fn bounds_and_percentages_are_short() {
        assert_eq!(bound(2.0, None), "2");
        assert_eq!(bound(0.95, None), "0.95");
        assert_eq!(bound(5e6, Some(Unit::Nanos)), "5.00 ms");
        assert_eq!(percent(0.9875), "98.75 %");
        assert_eq!(percent(0.05), "5 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(counted(1_u32, "round"), "1 round");
        assert_eq!(counted(0_u32, "round"), "0 rounds");
    }
}
