//! One file per sub-command: its arguments and its implementation.

pub mod calibrate;
pub mod check;
pub mod compare;
pub mod completions;
pub mod confirm;
pub mod export;
pub mod generate;
pub mod library;
pub mod look;
pub mod man;
pub mod pragma;
pub mod repeat;
pub mod report;
pub mod run;
pub mod runners;
pub mod self_check;
#[cfg(feature = "servers")]
pub mod servers;
pub mod show;
pub mod verify;
#[cfg(not(feature = "servers"))]
pub mod without_servers;

use litelab_model::{Quantity, Scalar, Vars};

pub use crate::installation::runners;
#[cfg(not(feature = "servers"))]
pub use without_servers as servers;

/// Parses a count in the notations of a study: `10000`, `10_000`, `10k`.
///
/// # Errors
/// If `text` is not a number, or not between 1 and `most`.
pub fn count(text: &str, most: i64) -> Result<u64, String> {
    let quantity = Quantity::from(Scalar::Text(text.to_owned()));
    quantity.number(&Vars::new()).map_err(|_| "write a number, such as 10000, 10_000 or 10k")?;
    let value = quantity.integer(&Vars::new(), 1, most)?;
    u64::try_from(value).map_err(|e| e.to_string())
}

/// One line of progress on a large database: rows, share, rate, time left.
pub fn bulk_line(p: &litelab_bulk::Progress) -> String {
    let left = p.remaining.map_or_else(String::new, |d| format!(", {:.0} s left", d.as_secs_f64()));
    format!("{:?}: {}/{} ({:.1} %), {:.0} rows/s{left}", p.phase, p.rows, p.total, p.percent(), p.rows_per_second)
        .to_lowercase()
}
