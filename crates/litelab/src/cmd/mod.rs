//! One file per sub-command: its arguments and what it does.

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

pub use crate::installation::runners;
#[cfg(not(feature = "servers"))]
pub use without_servers as servers;

/// A line of progress over a large database: rows, share, rate, time left.
pub fn bulk_line(p: &litelab_bulk::Progress) -> String {
    let left = p.remaining.map_or_else(String::new, |d| format!(", {:.0} s left", d.as_secs_f64()));
    format!("{:?}: {}/{} ({:.1} %), {:.0} rows/s{left}", p.phase, p.rows, p.total, p.percent(), p.rows_per_second)
        .to_lowercase()
}
