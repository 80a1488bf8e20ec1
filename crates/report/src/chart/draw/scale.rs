//! Mapping from values to positions.

/// Kind of scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Linear,
    Logarithmic,
}

/// Largest magnitude that is placed. No measurement comes near it, and the arithmetic below it cannot overflow.
const GREATEST: f64 = 1e100;

impl Kind {
    /// Whether a value can be placed on an axis of this kind.
    pub(crate) fn places(self, value: f64) -> bool {
        match self {
            Self::Linear => value.abs() <= GREATEST,
            Self::Logarithmic => (1.0 / GREATEST..=GREATEST).contains(&value),
        }
    }

    fn measure(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Logarithmic => value.log10(),
        }
    }

    /// Range of the values that can be placed; `None` if there are none.
    pub(crate) fn range(self, values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
        let values = values.into_iter().filter(|value| self.places(*value));
        values.fold(None, |range, value| match range {
            None => Some((value, value)),
            Some((low, high)) => Some((low.min(value), high.max(value))),
        })
    }
}

/// Range of values mapped to a range of positions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    pub(crate) kind: Kind,
    /// Range of values, low < high.
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Range of positions; `from` is greater than `to` on a vertical axis.
    pub(crate) from: f64,
    pub(crate) to: f64,
}

impl Scale {
    /// Position of a value; a value beyond an end is placed at that end. `None` if it cannot be placed.
    pub(crate) fn at(&self, value: f64) -> Option<f64> {
        if !self.kind.places(value) {
            return None;
        }
        let [value, low, high] = [value, self.low, self.high].map(|x| self.kind.measure(x));
        let share = ((value - low) / (high - low)).clamp(0.0, 1.0);
        Some(self.from + share * (self.to - self.from))
    }

    /// Whether a value is on the axis, ends included.
    pub(crate) fn has(&self, value: f64) -> bool {
        self.kind.places(value) && (self.low..=self.high).contains(&value)
    }
}

/// Widens a range of positive values to at least `factor` between its ends.
pub(crate) fn widened((low, high): (f64, f64), factor: f64) -> (f64, f64) {
    let missing = factor / (high / low);
    if missing > 1.0 { (low / missing.sqrt(), high * missing.sqrt()) } else { (low, high) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_places_within_the_ends() {
        let scale = Scale { kind: Kind::Logarithmic, low: 1.0, high: 100.0, from: 200.0, to: 0.0 };
        assert_eq!([1.0, 10.0, 100.0, 1e9].map(|v| scale.at(v)), [Some(200.0), Some(100.0), Some(0.0), Some(0.0)]);
        assert_eq!([0.0, -1.0, f64::NAN, f64::INFINITY].map(|v| scale.at(v)), [None; 4]);
        let scale = Scale { kind: Kind::Linear, low: -1e100, high: 1e100, from: 0.0, to: 10.0 };
        assert_eq!([0.0, 1e100, f64::MAX].map(|v| scale.at(v)), [Some(5.0), Some(10.0), None]);
    }

    #[test]
    fn a_range_of_one_value_is_widened() {
        assert_eq!(widened((10.0, 10.0), 4.0), (5.0, 20.0));
        assert_eq!(widened((1.0, 10.0), 4.0), (1.0, 10.0));
    }
}
