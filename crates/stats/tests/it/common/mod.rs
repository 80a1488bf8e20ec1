//! Helpers of the integration tests.
#![allow(dead_code)]

pub mod fixtures;
pub mod simulate;

/// Whether two values are equal within a relative or absolute tolerance.
pub fn close(found: f64, expected: f64, tolerance: f64) -> bool {
    (found - expected).abs() <= tolerance * expected.abs().max(1.0)
}

/// Relative difference of a value from the expected one.
pub fn relative(found: f64, expected: f64) -> f64 {
    ((found - expected) / expected).abs()
}
