//! Bulk operations on rows: loads the rows of a workload's `[data]`, generates large databases and verifies them.
//!
//! | function | purpose |
//! |---|---|
//! | [`load()`] | inserts the rows of `[data]`: into the database that trials start from, and for [`generate()`] |
//! | [`generate()`] | makes a database file from a workload: schema, rows, `data.then` |
//! | [`verify()`] | reads the table of workload `sqlite3perf` and recomputes every hash |
//!
//! They process many millions of rows, so that the work per row is that of SQLite and little else: drawing and hashing
//! overlap with inserting, and a verification decodes in place. The content of a row is a pure function of the seed and
//! its number ([`litelab_protocol::draw`]), independent of the sizes of statements and batches.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//!
//! use litelab_bulk::{GenerateOptions, VerifyOptions, generate, verify};
//! use litelab_model::{Vars, library, resolve};
//!
//! static CANCEL: AtomicBool = AtomicBool::new(false);
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("bench.db");
//! let workload = resolve::of_workload("sqlite3perf", None, Some(10_000), &Vars::new())?;
//! let (profile, text) = library::profile("wal-normal", None)?;
//! let settings = resolve::check_profile(&profile, &text, None)?.settings;
//! let made = generate(&GenerateOptions::new(&path, workload, settings), &mut |_| {}, &CANCEL)?;
//! assert_eq!(made.rows, 10_000);
//! let seen = verify(&VerifyOptions::new(&path), &mut |_| {}, &CANCEL)?;
//! assert_eq!((seen.rows, seen.mismatch_count), (10_000, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::time::Duration;

mod error;
mod generate;
mod load;
mod options;
mod progress;
mod settings;
mod target;
mod verify;

pub use error::BulkError;
pub use generate::{GenerateReport, generate};
pub use load::{LoadError, Rows, load};
pub use options::GenerateOptions;
pub use progress::{Phase, Progress};
pub use verify::hash::sha256_of_8;
pub use verify::{Mismatch, VerifyOptions, VerifyReport, verify};

/// Deadline of a schema, of each batch of rows and of `data.then`: far above the time of a database that fits on a
/// disk, so that SQL that never ends is stopped.
pub const LIMIT: Duration = Duration::from_secs(3600);
