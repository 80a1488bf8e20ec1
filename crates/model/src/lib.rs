//! The file formats of litelab (workloads, profiles, studies): parsed, checked and resolved into a [`Plan`]. The crate
//! performs no input or output other than reading these files.
//!
//! A study names workloads and profiles by file. [`library`] finds and parses them; [`resolve`] applies all
//! inheritance, defaults, variables and expressions. The resulting [`Plan`] defines every variant completely. An error
//! is one [`ModelError`]: a line with the problem, its position and the remedy.

pub mod advisory;
pub mod band;
pub mod by_dialect;
pub mod claim;
pub mod condition;
pub mod crossover;
pub mod durability;
pub mod error;
pub mod expression;
pub mod interleave;
pub mod judging;
pub mod library;
pub mod metric;
mod one_or_many;
pub mod parameter;
pub mod plan;
pub mod profile;
pub mod quantity;
pub mod resolve;
#[cfg(feature = "schema")]
pub mod schema;
pub mod server;
pub mod setting;
pub mod sql;
pub mod study;
pub mod text;
pub mod workload;
pub mod zipf;

pub use error::{ModelError, nearest, unknown};
pub use metric::{Measure, Metric};
pub use plan::{Plan, ScenarioPlan, Variant};
pub use quantity::{Quantity, Scalar, Vars};
pub use resolve::Options;
pub use server::Server;
pub use setting::pragma;
