//! Rows in bulk: loads the rows of a workload's `[data]`, makes large databases and checks them.
//!
//! | | does |
//! |---|---|
//! | [`load()`] | inserts the rows of `[data]`: into the database that trials start from, and for [`generate()`] |
//! | [`generate()`] | makes a database of its own from a workload: schema, rows, `data.then` |
//! | [`verify()`] | reads workload `sqlite3perf`'s table back and computes every hash again |
//!
//! They run over many millions of rows, so that the work per row is what SQLite costs and little else: drawing and hashing
//! overlap with inserting, and a check decodes in place. What a row holds is a pure function of the seed and its number
//! ([`litelab_protocol::draw`]), whatever the sizes of statements and batches.
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
mod progress;
mod settings;
mod target;
mod verify;

pub use error::BulkError;
pub use generate::{GenerateOptions, GenerateReport, generate};
pub use load::{LoadError, Rows, load};
pub use progress::{Phase, Progress};
pub use verify::hash::sha256_of_8;
pub use verify::{Mismatch, MismatchKind, VerifyOptions, VerifyReport, verify};

/// The deadline of a schema, of each batch of rows and of `data.then`: far above what a database that fits on a disk takes,
/// so that SQL without an end has one.
pub const LIMIT: Duration = Duration::from_secs(3600);
