//! Makes and checks large databases at the speed of SQLite itself.
//!
//! [`generate()`] writes the table of the `sqlite3perf` benchmark, [`verify()`] reads it back and recomputes every
//! hash. Both run over many millions of rows, so that the work per row is what SQLite costs and little else:
//! drawing and hashing overlap with inserting, nothing is allocated per row, and a check decodes in place.
//!
//! The table holds, for row `r` counted from 0: `ID` = r, `rand` = 8 pseudo-random bytes as 16 lowercase hex
//! digits, `hash` = the SHA-256 of those 8 bytes as 64 lowercase hex digits. The bytes are the big-endian word of
//! row `r` in the stream [`row::STREAM`] of [`litelab_protocol::generator`], so the content is a pure function of
//! the seed and the number of rows.
//!
//! ```
//! use litelab_bulk::{GenerateOptions, VerifyOptions, generate, verify};
//! use std::sync::atomic::AtomicBool;
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("bench.db");
//! let cancel = AtomicBool::new(false);
//! let made = generate(&GenerateOptions::new(&path, 10_000), &mut |_| {}, &cancel)?;
//! assert_eq!(made.rows, 10_000);
//! let seen = verify(&VerifyOptions::new(&path), &mut |_| {}, &cancel)?;
//! assert_eq!((seen.rows, seen.mismatch_count), (10_000, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod generate;
mod insert;
mod producer;
mod progress;
pub mod row;
mod schema;
mod settings;
mod target;
mod verify;

pub use error::BulkError;
pub use generate::{GenerateOptions, GenerateReport, generate};
pub use progress::{Phase, Progress};
pub use schema::Schema;
pub use settings::{Setting, default_settings};
pub use verify::{Mismatch, MismatchKind, ThreadReport, VerifyOptions, VerifyReport, verify};
