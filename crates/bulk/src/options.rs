//! Options of a generation.

use std::path::{Path, PathBuf};
use std::time::Duration;

use litelab_model::plan::DataPlan;
use litelab_model::setting::Setting;

/// Options of a generation. [`GenerateOptions::new`] sets the defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct GenerateOptions {
    /// Path of the file. Its folder must exist.
    pub path: PathBuf,
    /// Statements that create the empty database.
    pub schema: String,
    /// Rows of the database.
    pub data: DataPlan,
    /// Number of rows per transaction, at least 1.
    pub batch: u64,
    /// Whether to VACUUM at the end.
    pub vacuum: bool,
    /// Seed of the values.
    pub seed: u64,
    /// Settings of the connection, applied in order before the schema is created.
    pub settings: Vec<Setting>,
    /// Whether an earlier database of this workload may be replaced. No other file is ever replaced.
    pub replace: bool,
    /// Time between two calls of `progress`.
    pub report_every: Duration,
}

impl GenerateOptions {
    /// Creates the options for the schema and data of a workload, with batches of 2,000 rows and seed 1.
    pub fn new(path: impl AsRef<Path>, (schema, data): (String, DataPlan), settings: Vec<Setting>) -> Self {
        Self {
            path: path.as_ref().into(),
            schema,
            data,
            batch: 2000,
            vacuum: false,
            seed: 1,
            settings,
            replace: false,
            report_every: Duration::from_secs(2),
        }
    }
}
