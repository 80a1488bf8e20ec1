//! Statistics of benchmarks: estimates, intervals, tests, verdicts and the schedule that makes them valid.
//!
//! Every function is a pure function of its arguments. None reads a clock, a file or a global generator; a random
//! method takes a seed or has a constant one. No input panics: numbers that cannot be analysed (not finite, not
//! positive, too few, too many) result in a [`StatsError`] with the number and the reason.
//!
//! The unit of replication is the **round**: one trial of every variant, in random order. Two variants are compared
//! through the log-ratio within each round ([`PairedRatio`]), because influences that vary between rounds (a
//! neighbour's load, the clock frequency, the state of the disk) are then common to both variants and cancel. Two runs
//! at different times have no rounds in common; [`UnpairedRatio`] compares them and cannot control for drift.
//!
//! | question | item |
//! |---|---|
//! | what is the typical value, and how precise is it? | [`median`], [`Estimate`] |
//! | how do two variants compare? | [`PairedRatio`], [`UnpairedRatio`] |
//! | what does the data support? | [`Verdict`], [`ClaimVerdict`], [`holm`], [`Confidence::shared_by`] |
//! | how many more rounds are needed, and what effect can a given number detect? | [`Planner`] |
//! | how often does this host show false differences? | [`Aa`], [`proportion`] |
//! | in which order do variants run? | [`Schedule`] |
//! | from which level on does one variant lead another? | [`Crossover`] |
//! | does throughput scale? | [`Usl`] |
//! | how often does a rare event happen? | [`Events`] |
//!
//! ```
//! use litelab_stats::{Better, Confidence, PairedRatio, Planner, Tolerance, Verdict};
//!
//! // Median latency in µs of two variants, round by round. A noisy neighbour disturbed the third round.
//! let rounds = [(100.0, 81.0), (102.0, 80.0), (190.0, 155.0), (99.0, 80.0), (101.0, 83.0), (98.0, 79.0)];
//! let found = PairedRatio::from_rounds(&rounds, Confidence::P95)?;
//! assert!(found.ratio.high() < Some(0.83));
//!
//! let verdict = found.verdict(Tolerance::DEFAULT, Better::Lower, &Planner::default());
//! assert_eq!(verdict, Verdict::Faster);
//! # Ok::<(), litelab_stats::StatsError>(())
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion"))]

mod aa;
mod claim;
mod confidence;
mod crossover;
mod error;
mod estimate;
mod events;
mod holm;
mod median;
mod null;
mod paired;
mod planner;
mod proportion;
mod quantile;
mod ranks;
mod sample;
mod schedule;
mod spread;
mod unpaired;
mod usl;
mod verdict;

pub use aa::Aa;
pub use claim::ClaimVerdict;
pub use confidence::{Confidence, minimum_rounds};
pub use crossover::{Crossover, CrossoverPosition, Reach};
pub use error::StatsError;
pub use estimate::{Bounds, Estimate, Interval};
pub use events::{Counted, Events};
pub use holm::holm;
pub use median::median;
pub use paired::PairedRatio;
pub use planner::Planner;
pub use proportion::proportion;
pub use quantile::quantile;
pub use schedule::Schedule;
pub use spread::{Spread, mad, standard_deviation};
pub use unpaired::UnpairedRatio;
pub use usl::{Usl, UslPoint};
pub use verdict::{Better, Tolerance, Verdict};
