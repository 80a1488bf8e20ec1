//! Ranks with ties.

/// Doubled midranks of a sample in input order, and the sizes of its groups of equal values.
///
/// A group that occupies ranks i..=j shares the midrank (i + j)/2. Doubled midranks are integers, so that the exact
/// null distributions can be tabulated even with ties.
pub(crate) struct Midranks {
    pub doubled: Vec<u32>,
    pub groups: Vec<usize>,
}

impl Midranks {
    /// The midranks of a sample, which must be finite and shorter than 2³¹.
    pub fn of(sample: &[f64]) -> Self {
        let mut order: Vec<usize> = (0..sample.len()).collect();
        order.sort_unstable_by(|&i, &j| sample[i].total_cmp(&sample[j]));
        let mut doubled = vec![0; sample.len()];
        let mut groups = Vec::new();
        let mut start = 0;
        // `==` in place of the order above, because −0 and 0 are equal values.
        for group in order.chunk_by(|&i, &j| sample[i] == sample[j]) {
            let first = start + 1;
            let last = start + group.len();
            for &index in group {
                doubled[index] = (first + last) as u32;
            }
            groups.push(group.len());
            start = last;
        }
        Self { doubled, groups }
    }

    /// Σ(t³ − t) over the groups of equal values: the term by which ties reduce the variance of rank statistics.
    pub fn tie_correction(&self) -> f64 {
        self.groups
            .iter()
            .map(|&t| {
                let t = t as f64;
                t * (t * t - 1.0)
            })
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_their_midrank() {
        let ranks = Midranks::of(&[3.0, 1.0, 3.0, 0.0, -0.0]);
        assert_eq!(ranks.doubled, [9, 6, 9, 3, 3]);
        assert_eq!(ranks.groups, [2, 1, 2]);
        assert_eq!(ranks.tie_correction(), 12.0);
    }
}
