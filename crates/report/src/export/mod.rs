//! A run in formats for other programs and other pages.

pub mod csv;
pub mod folded;
pub mod json;
pub mod markdown;
pub mod series;
pub mod splice;
