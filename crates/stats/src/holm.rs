//! Correction for multiple comparisons in one report.

use crate::StatsError;

/// Holm's step-down adjusted p-values in input order (Holm 1979).
///
/// If a difference is declared wherever the adjusted value is ≤ α, the probability of at least one false difference in
/// the whole family is at most α, for any dependence between the comparisons. With the p-values ascending, the i-th of
/// m is multiplied by m − i + 1, raised to its predecessor if lower, and capped at 1.
///
/// For simultaneous intervals see [`Confidence::shared_by`](crate::Confidence::shared_by). An empty family is valid and
/// results in an empty list.
///
/// # Errors
/// [`StatsError::OutOfDomain`] for a value outside 0 ..= 1.
pub fn holm(p_values: &[f64]) -> Result<Vec<f64>, StatsError> {
    if let Some(&value) = p_values.iter().find(|p| !(0.0..=1.0).contains(*p)) {
        return Err(StatsError::OutOfDomain { what: "p-value", value, domain: "from 0 to 1" });
    }
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_unstable_by(|&i, &j| p_values[i].total_cmp(&p_values[j]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut floor: f64 = 0.0;
    for (rank, &index) in order.iter().enumerate() {
        let remaining = (p_values.len() - rank) as f64;
        floor = floor.max((remaining * p_values[index]).min(1.0));
        adjusted[index] = floor;
    }
    Ok(adjusted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adjusted p-values by an independent method: Holm is the closed test over Bonferroni, so the adjusted p of i is
    /// the largest |S|·min(S) over all subsets S that contain i. Exponential time.
    fn by_closure(p: &[f64]) -> Vec<f64> {
        (0..p.len())
            .map(|i| {
                (1_u32..1 << p.len())
                    .filter(|set| set >> i & 1 == 1)
                    .map(|set| {
                        let least =
                            (0..p.len()).filter(|j| set >> j & 1 == 1).map(|j| p[j]).fold(f64::INFINITY, f64::min);
                        (f64::from(set.count_ones()) * least).min(1.0)
                    })
                    .fold(0.0, f64::max)
            })
            .collect()
    }

    #[test]
    fn agrees_with_the_closed_test() {
        for family in [
            &[0.01, 0.04, 0.03, 0.005][..],
            &[0.5, 0.5, 0.0, 1.0, 0.02, 0.02],
            &[0.049],
            &[0.02, 0.021, 0.022, 0.9, 0.013, 0.3, 0.04],
        ] {
            let (step_down, closed) = (holm(family).unwrap(), by_closure(family));
            for (s, c) in step_down.iter().zip(&closed) {
                assert!((s - c).abs() < 1e-12, "{family:?}: {step_down:?} {closed:?}");
            }
        }
    }

    #[test]
    fn refuses_what_is_no_probability() {
        for bad in [f64::NAN, -0.1, 1.1, f64::INFINITY] {
            assert!(holm(&[0.5, bad]).is_err());
        }
        assert_eq!(holm(&[]).unwrap(), Vec::<f64>::new());
    }
}
