//! Data of a run, and its file: one SQLite database with all data needed to repeat or re-analyse the run.
//!
//! | module | content |
//! |---|---|
//! | [`outcome`] | outcome of a trial: evidence, time series, or reason of failure |
//! | [`measure`] | each metric, computed from that evidence |
//! | [`calibration`] | precision of a host and its disk |
//! | [`stacks`] | call stacks of a variant |
//! | [`recording`] | recording of databases in use, without a study |
//! | [`environment`] | host environment, as observed by `litelab-observe` |
//!
//! [`Recorder`] writes the file and [`RunFile`] reads it. Each round is one commit, in rollback-journal mode with
//! `synchronous = EXTRA`, so that the file is complete without a log at any time: a killed run is a shorter valid run.

pub mod calibration;
mod error;
mod lock;
pub mod measure;
pub mod outcome;
mod read;
pub mod recording;
pub mod stacks;
mod upgrade;
mod write;

pub use error::RecordError;
/// Observations stored in a run.
pub use litelab_observe::{Lock as DatabaseLock, LockShare, Sample, Summary, environment};
pub use lock::Lock;
pub use read::{Calibration, RunFile, RunInfo, ServerRecord, StoredTrial};
pub use write::{Recorder, now};

/// Marks the file as a litelab run (`PRAGMA application_id`): "lila" in ASCII.
pub const APPLICATION_ID: i32 = 0x6C69_6C61;
/// Version of the tables (`PRAGMA user_version`). Files of format 2 are read, not written.
pub const FORMAT: i32 = 3;

/// Schema of a run file. JSON columns hold the Rust types named in their comments.
pub(crate) const SCHEMA: &str = "
CREATE TABLE run(
  key   TEXT PRIMARY KEY,  -- litelab, created, finished, directory, study_toml, plan (Plan), environment (Environment),
                           -- host_calibration (StoredCalibration), builds (BTreeMap of runners), servers (of ServerRecord)
  value TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE runner(
  name        TEXT PRIMARY KEY,
  description TEXT NOT NULL  -- Description
) WITHOUT ROWID;
CREATE TABLE round(
  scenario INTEGER NOT NULL,  -- index into the plan's scenarios
  number   INTEGER NOT NULL,  -- from 0
  started  TEXT NOT NULL,
  finished TEXT NOT NULL,
  load     TEXT NOT NULL,  -- LoadWindow of the round
  PRIMARY KEY (scenario, number)
) WITHOUT ROWID;
CREATE TABLE trial(
  id          INTEGER PRIMARY KEY,
  scenario    INTEGER NOT NULL,
  round       INTEGER NOT NULL,
  variant         INTEGER NOT NULL,  -- index into the plan's variants
  position    INTEGER NOT NULL,  -- place in the order of its round
  started     TEXT NOT NULL,
  seconds     REAL NOT NULL,     -- copying and checking included
  measurement TEXT,              -- Measurement, or
  failure     TEXT,              -- Failure
  FOREIGN KEY (scenario, round) REFERENCES round(scenario, number),
  UNIQUE (round, variant),
  CHECK ((measurement IS NULL) <> (failure IS NULL))
);
CREATE TABLE series(
  trial INTEGER PRIMARY KEY REFERENCES trial(id),
  data  TEXT NOT NULL  -- Series
);
CREATE TABLE calibration(
  scenario INTEGER NOT NULL,  -- index into the plan's scenarios
  runner   TEXT NOT NULL,
  result   TEXT NOT NULL,     -- TrialResult of the no-op driver
  PRIMARY KEY (scenario, runner)
) WITHOUT ROWID;
";

/// Names that must be tables when a run is read: a query of a view may never end.
pub(crate) const TABLES: [&str; 10] =
    ["run", "runner", "round", "trial", "series", "calibration", "flame", "moment", "event", upgrade::ROUNDS];

/// Table created with the first call stacks. Run files without call stacks do not have it.
pub(crate) const FLAME: &str = "
CREATE TABLE IF NOT EXISTS flame(
  variant    INTEGER PRIMARY KEY,  -- index into the plan's variants
  hertz  INTEGER NOT NULL,     -- samples per second of CPU time
  folded BLOB NOT NULL         -- lines of `thread;function;function samples`, compressed by zlib
);
";
