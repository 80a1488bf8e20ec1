//! Little's law as a consistency check of measured numbers.

use serde::{Deserialize, Serialize};

use crate::StatsError;

/// Three numbers of one steady period of work, each measured independently.
///
/// L = X·R holds for any system in a steady state, whatever the distributions (Little 1961). If it does not hold here,
/// one of the three is wrong: time was spent outside the measured operation, operations were counted twice, or the
/// period was not steady.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LittlesLaw {
    /// L: mean number of operations in flight. In a closed loop without think time, the number of workers.
    pub in_flight: f64,
    /// X: completed operations per second.
    pub per_second: f64,
    /// R: mean time per operation in seconds.
    pub mean_seconds: f64,
}

/// Result of the check, with the discrepancy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "little")]
pub enum LittleOutcome {
    /// |L − X·R| / L is within the tolerance.
    Consistent {
        /// (X·R − L)/L, a fraction.
        discrepancy: f64,
    },
    /// X·R is below L: time was spent outside the measured operations (in the harness, in waits between them), or
    /// operations were not counted.
    Unaccounted {
        /// (X·R − L)/L, a fraction below 0.
        discrepancy: f64,
    },
    /// X·R is above L: operations were counted twice, times were measured too long, or more operations were in flight
    /// than declared.
    Overcounted {
        /// (X·R − L)/L, a fraction above 0.
        discrepancy: f64,
    },
}

impl LittlesLaw {
    /// Checks L = X·R within `tolerance`, a fraction of L (usually 0.05).
    ///
    /// # Errors
    /// [`StatsError::OutOfDomain`] unless L > 0, X ≥ 0, R ≥ 0, tolerance ≥ 0, all finite;
    /// [`StatsError::Overflow`] if X·R/L exceeds a double.
    pub fn check(&self, tolerance: f64) -> Result<LittleOutcome, StatsError> {
        let domain = |what, value: f64, least_excluded: bool| {
            if value.is_finite() && value >= 0.0 && !(least_excluded && value == 0.0) {
                return Ok(());
            }
            let domain = if least_excluded { "above 0" } else { "at least 0" };
            Err(StatsError::OutOfDomain { what, value, domain })
        };
        domain("operations in flight", self.in_flight, true)?;
        domain("throughput", self.per_second, false)?;
        domain("mean time", self.mean_seconds, false)?;
        domain("tolerance", tolerance, false)?;
        let discrepancy = (self.per_second * self.mean_seconds - self.in_flight) / self.in_flight;
        if !discrepancy.is_finite() {
            return Err(StatsError::Overflow);
        }
        Ok(if discrepancy.abs() <= tolerance {
            LittleOutcome::Consistent { discrepancy }
        } else if discrepancy < 0.0 {
            LittleOutcome::Unaccounted { discrepancy }
        } else {
            LittleOutcome::Overcounted { discrepancy }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(in_flight: f64, per_second: f64, mean_seconds: f64) -> Result<LittleOutcome, StatsError> {
        LittlesLaw { in_flight, per_second, mean_seconds }.check(0.05)
    }

    #[test]
    fn tells_missing_time_from_double_counting() {
        assert!(matches!(check(8.0, 1000.0, 0.0078), Ok(LittleOutcome::Consistent { .. })));
        let Ok(LittleOutcome::Unaccounted { discrepancy }) = check(8.0, 500.0, 0.008) else {
            panic!("half the time is missing");
        };
        assert!((discrepancy + 0.5).abs() < 1e-12);
        assert!(matches!(check(8.0, 2000.0, 0.008), Ok(LittleOutcome::Overcounted { .. })));
    }

    #[test]
    fn refuses_numbers_that_are_no_measurement() {
        for (l, x, r) in
            [(0.0, 1.0, 1.0), (1.0, -1.0, 1.0), (1.0, 1.0, f64::NAN), (f64::INFINITY, 1.0, 1.0), (1.0, 1e300, 1e300)]
        {
            assert!(check(l, x, r).is_err());
        }
        assert!(LittlesLaw { in_flight: 1.0, per_second: 1.0, mean_seconds: 1.0 }.check(f64::NAN).is_err());
    }
}
