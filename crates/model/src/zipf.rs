//! A Zipf distribution as a table of intervals, so that no runner computes a logarithm or power, which the libraries of
//! other languages round differently.
//!
//! The 256 most frequent values have their exact probability. Beyond them, intervals grow by a sixteenth of an octave
//! (4.4 %). Values within one interval are equally likely; the interval's total is exact (Euler–Maclaurin sum). The
//! probability of a single value is within 2.5 % of the true one for exponents up to 1.

use litelab_protocol::Table;

/// Number of values with exact probability.
const EXACT: u64 = 256;
/// Growth factor of the intervals beyond the exact values.
const GROWTH: f64 = 1.044_273_782_427_413_8; // 2^(1/16)
/// Upper end of the cuts: words are compared by their upper 53 bits.
const FULL: u64 = 1 << 53;

/// The table for the integers `low..=high`, where the k-th of them (from 1) has a probability proportional to `k^-s`.
///
/// # Errors
/// If the exponent is below 0, above 10 or not finite.
pub fn table(low: i64, high: i64, s: f64) -> Result<Table, String> {
    if !(0.0..=10.0).contains(&s) {
        return Err(format!("the exponent of `zipf` must lie between 0 and 10, not {s}"));
    }
    let count = high.abs_diff(low) + 1;
    let mut intervals: Vec<(u64, u64)> = (1..=count.min(EXACT)).map(|k| (k, 1)).collect();
    let mut next = EXACT + 1;
    while next <= count {
        let width = ((next as f64 * (GROWTH - 1.0)).ceil() as u64).max(1).min(count - next + 1);
        intervals.push((next, width));
        next += width;
    }
    let masses: Vec<f64> = intervals.iter().map(|&(first, width)| mass(first, width, s)).collect();
    let total: f64 = masses.iter().sum();
    let mut sum = 0.0;
    let mut cut: Vec<u64> = masses
        .iter()
        .map(|mass| {
            sum += mass;
            ((sum / total) * FULL as f64).round() as u64
        })
        .collect();
    if let Some(last) = cut.last_mut() {
        *last = FULL;
    }
    let offset = low - 1;
    Ok(Table {
        cut,
        low: intervals.iter().map(|&(first, _)| offset + first as i64).collect(),
        width: intervals.iter().map(|&(_, width)| width).collect(),
    })
}

/// Sum of `k^-s` for `width` values from `first`: term by term if short, else by Euler–Maclaurin up to its first
/// correction, whose remainder is below `s / (12 first^(s+1))`.
fn mass(first: u64, width: u64, s: f64) -> f64 {
    let (a, b) = (first as f64, (first + width - 1) as f64);
    if width <= 32 {
        return (first..first + width).map(|k| (k as f64).powf(-s)).sum();
    }
    let integral = if (s - 1.0).abs() < 1e-12 { (b / a).ln() } else { (b.powf(1.0 - s) - a.powf(1.0 - s)) / (1.0 - s) };
    integral + (a.powf(-s) + b.powf(-s)) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probability(table: &Table, value: i64) -> f64 {
        let at = (0..table.low.len())
            .find(|&i| (table.low[i]..table.low[i] + table.width[i] as i64).contains(&value))
            .expect("in the table");
        let before = if at == 0 { 0 } else { table.cut[at - 1] };
        (table.cut[at] - before) as f64 / FULL as f64 / table.width[at] as f64
    }

    #[test]
    fn probabilities_are_zipf() {
        for s in [0.5, 0.99, 1.0] {
            let table = table(1, 100_000, s).expect("table");
            let total: f64 = (1..=100_000).map(|k| f64::from(k).powf(-s)).sum();
            for k in [1, 2, 10, 256, 257, 300, 1_000, 50_000, 99_999] {
                let want = (k as f64).powf(-s) / total;
                let ratio = probability(&table, k) / want;
                assert!((0.975..1.025).contains(&ratio), "s {s}, k {k}: {ratio}");
            }
        }
    }

    #[test]
    fn intervals_cover_the_range_once() {
        for (low, high) in [(1, 1), (0, 255), (5, 261), (-10, 10_000_000)] {
            let table = table(low, high, 1.2).expect("table");
            let mut next = low;
            for (first, width) in table.low.iter().zip(&table.width) {
                assert_eq!(*first, next);
                next += *width as i64;
            }
            assert_eq!(next, high + 1);
            assert!(table.cut.is_sorted());
            assert_eq!(table.cut.last(), Some(&FULL));
            assert!(table.cut.len() < 1_000, "{}", table.cut.len());
        }
    }
}
