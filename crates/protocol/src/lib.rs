//! The message types and reference algorithms of the protocol between the core and its runners.
//!
//! A runner is an executable with three verbs: `describe`, `run` and `inspect`. It reads JSON on standard input and
//! writes JSON lines to standard output. The Rust types of this crate *are* the protocol: the JSON Schemas in
//! `protocol/schema/` are generated from them, and the vectors in `protocol/vectors/` from [`generator`]. Runners in
//! other languages follow the schemas and the vectors; `docs/reference/protocol.md` is the prose.

pub mod codes;
pub mod content;
pub mod dialect;
pub mod draw;
pub mod generator;
pub mod histogram;
pub mod invocation;
pub mod message;
pub mod sql;
pub mod transaction;
pub mod trial;
pub mod value;

/// Version of the protocol. The core refuses a runner that reports another version.
pub const VERSION: u32 = 3;

/// Bound of every integer on the wire, signed or unsigned: ±2^53, so that a language whose only number is the IEEE 754
/// double reads it exactly.
pub const MAX_SAFE_INTEGER: u64 = 1 << 53;

pub use dialect::Dialect;
pub use invocation::{Interface, Invocation};
pub use message::{
    ConnectionSettings, Description, DriverDescription, ErrorCount, Failed, Inspect, Inspection, Message, Ready,
    SqliteBuild, Tick, TickCount, TransactionResult, TrialResult, Unfinished, Upgrade, WorkerResult,
};
pub use transaction::{Begin, Fetch, NowUnit, Param, Source, Statement, Table, Transaction, Work};
pub use trial::{
    Arrivals, Connection, Database, Executor, Load, Order, Prepare, Retry, Role, Setting, Sharing, Step, Trial, Until,
};
pub use value::Value;
