//! Exports of a run for other programs and pages.

pub mod csv;
pub mod folded;
pub mod json;
pub mod markdown;
pub mod series;
pub mod splice;
