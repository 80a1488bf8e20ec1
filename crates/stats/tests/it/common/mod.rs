//! What the integration tests share. Each of them is a crate of its own and uses only a part.
#![allow(dead_code)]

pub mod fixtures;
pub mod simulate;

/// Equal within a relative or absolute tolerance.
pub fn close(found: f64, expected: f64, tolerance: f64) -> bool {
    (found - expected).abs() <= tolerance * expected.abs().max(1.0)
}

/// Relative difference.
pub fn relative(found: f64, expected: f64) -> f64 {
    ((found - expected) / expected).abs()
}
