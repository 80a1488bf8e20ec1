//! One file per sub-command: its arguments and its implementation.

pub mod calibrate;
pub mod check;
pub mod compare;
pub mod completions;
pub mod confirm;
pub mod defaults;
pub mod doctor;
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

use std::num::NonZeroUsize;

use litelab_model::{Quantity, Scalar, Vars};

#[cfg(not(feature = "servers"))]
pub use without_servers as servers;

/// Parses a whole number of at least `least` and at most `most` in the notations of a study: `10000`, `10_000`, `10k`.
///
/// # Errors
/// If `text` is not such a number.
pub fn number<N: TryFrom<i64>>(text: &str, least: i64, most: i64) -> Result<N, String> {
    let value = Quantity::from(Scalar::Text(text.to_owned())).number(&Vars::new());
    let value = value.map_err(|_| "write a number, such as 10000, 10_000 or 10k")?;
    if value.fract() != 0.0 {
        return Err("it is not a whole number".into());
    }
    let allowed = Some(value as i64).filter(|_| (least as f64..=most as f64).contains(&value));
    allowed.and_then(|value| N::try_from(value).ok()).ok_or_else(|| format!("allowed is {least} to {most}"))
}

/// Parses `--rounds`.
pub fn rounds(text: &str) -> Result<u32, String> {
    number(text, 1, 10_000)
}

/// Parses `--seed`. Greater numbers would be rounded.
pub fn seed(text: &str) -> Result<u64, String> {
    number(text, 0, litelab_protocol::MAX_SAFE_INTEGER.cast_signed() - 1)
}

/// Parses a number of threads.
pub fn threads(text: &str) -> Result<NonZeroUsize, String> {
    number::<usize>(text, 1, 4096).map(|threads| NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN))
}

/// One line of progress on a large database: rows, share, rate, time left.
pub fn bulk_line(p: &litelab_bulk::Progress) -> String {
    let left = p.remaining.map_or_else(String::new, |d| format!(", {:.0} s left", d.as_secs_f64()));
    format!("{:?}: {}/{} ({:.1} %), {:.0} rows/s{left}", p.phase, p.rows, p.total, p.percent(), p.rows_per_second)
        .to_lowercase()
}
