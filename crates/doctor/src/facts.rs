//! Facts: what was observed, without judgement.
//!
//! A rule's condition reads these structures under the names of their fields. `None` means that a value is not known,
//! and no rule fires on an unknown value.

use std::collections::BTreeMap;

use litelab_model::advisory::Kind;
use litelab_protocol::{Upgrade, Value};
use serde::Serialize;

/// Everything that one run of `litelab doctor` observed.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// The database file and the files beside it.
    pub file: File,
    /// The machine and the file system.
    pub host: Host,
    /// Schema; empty if it could not be read.
    pub schema: Schema,
    /// Processes that have the database open, by process id.
    pub processes: Vec<Process>,
    /// The application's connections; `None` without `--driver`.
    pub app: Option<App>,
    /// Statements of the application, as given by `--sql`.
    pub statements: Vec<Statement>,
}

/// The database file and the files beside it, read as bytes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct File {
    /// Name without the folder.
    pub name: String,
    /// `database`, `empty` (no bytes yet), `truncated` (shorter than its header), `foreign` (another format, or
    /// encrypted), `damaged` (impossible header), `unreadable` (no permission), `missing`, `folder` or `special`
    /// (device, pipe, socket).
    pub state: &'static str,
    /// Size in bytes.
    pub bytes: u64,
    /// Whether copy-on-write is off for the file (`chattr +C`).
    pub in_place: bool,
    /// Whether the file is in WAL mode, a persistent property.
    pub wal: Option<bool>,
    /// Page size in bytes.
    pub page_size: Option<u32>,
    /// Size in pages, according to the header.
    pub pages: Option<u32>,
    /// Bytes missing at the end compared with the size in the header; 0 if complete. `None` while a log exists, because
    /// the last pages may be in the log.
    pub missing_bytes: Option<u64>,
    /// Share of free pages, 0 to 1.
    pub free_share: Option<f64>,
    /// Bytes in free pages.
    pub free_bytes: Option<u64>,
    /// `none`, `full` or `incremental`.
    pub auto_vacuum: Option<&'static str>,
    /// `UTF-8`, `UTF-16le` or `UTF-16be`.
    pub encoding: Option<&'static str>,
    /// `PRAGMA application_id`.
    pub application_id: Option<i32>,
    /// `PRAGMA user_version`.
    pub user_version: Option<i32>,
    /// Version of the SQLite library that last wrote the file: `3.54.1`.
    pub written_by: Option<String>,
    /// Known defects of that version.
    pub writer_defects: Vec<Defect>,
    /// Size of `-wal`; `None` without such a file.
    pub wal_bytes: Option<u64>,
    /// Size of `-shm`; `None` without such a file.
    pub shm_bytes: Option<u64>,
    /// Size of `-journal`; `None` without such a file.
    pub journal_bytes: Option<u64>,
    /// Whether `-journal` has a valid header and no process has the database open: the next opener rolls back.
    pub journal_hot: bool,
    /// Bytes of committed frames that no checkpoint has copied into the database; `None` without a readable wal-index.
    pub backlog_bytes: Option<u64>,
    /// Bytes by which a checkpoint of the whole log enlarges the database; `None` without a readable wal-index.
    pub growth_bytes: Option<u64>,
    /// Frames in the log, committed since its last restart; `None` without a readable wal-index.
    pub wal_frames: Option<u32>,
    /// Permission bits as octal text: `644`.
    pub mode: Option<String>,
    /// Whether other users may write to the file.
    pub world_writable: bool,
    /// Whether this user may read the file.
    pub readable: bool,
    /// Whether this user may write to the file.
    pub writable: bool,
    /// Whether this user may create files in the folder, which SQLite requires for its journal or log.
    pub folder_writable: bool,
    /// Whether the owners of the files of the database (`-wal`, `-shm`) differ from that of the database.
    pub owners_differ: bool,
    /// Number of hard links.
    pub links: u64,
    /// Whether the path is a symbolic link.
    pub symlink: bool,
    /// Seconds by which the time of the last change lies ahead of the clock; 0 for a time in the past.
    pub ahead_seconds: u64,
    /// Files in the same folder whose name is that of the database followed by a query (`app.db?mode=ro`): DSNs taken
    /// as file names.
    pub query_named: Vec<String>,
    /// Whether `PRAGMA quick_check` has answered (`--check`).
    pub checked: bool,
    /// Messages of `PRAGMA quick_check`, at most ten; empty if all is well or without `--check`.
    pub damage: Vec<String>,
    /// Rows of `PRAGMA foreign_key_check`; `None` if it has not answered, or without `--check`.
    pub orphans: Option<u64>,
    /// What `--check` and `--advise` could not find out, with the reason.
    pub unchecked: Vec<String>,
}

/// The machine and the file system below the database.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Host {
    /// `linux`, `macos`, …
    pub os: &'static str,
    /// Kernel name of the file system: `ext4`, `nfs4`, `fuse.sshfs`, …
    pub filesystem: Option<String>,
    /// `local`, `network`, `fuse`, `overlay`, `memory`, `shared` (virtiofs, 9p, vboxsf: a host's folder in a virtual
    /// machine) or `unknown`.
    pub filesystem_class: &'static str,
    /// Mount options that affect speed or durability.
    pub mount_options: Vec<String>,
    /// Whether the file system is mounted read-only.
    pub read_only: bool,
    /// Whether the database file itself is a mount point, as with a single-file bind mount of a container.
    pub file_is_mount: bool,
    /// Free space for this user in bytes.
    pub free_bytes: Option<u64>,
    /// Free inodes for this user; `None` where the file system has no limit.
    pub free_files: Option<u64>,
    /// Service that synchronises the folder, from its path or marker files: `Dropbox`, `OneDrive`, `iCloud`,
    /// `Google Drive`, `Nextcloud`, `ownCloud`, `Syncthing`, `a cloud storage provider`.
    pub synced_by: Option<&'static str>,
    /// `docker`, `podman`, `kubernetes`, `lxc`, `systemd-nspawn` or another name; `None` outside a container.
    pub container: Option<String>,
    /// Whether this is the Windows Subsystem for Linux.
    pub wsl: bool,
    /// `rotational`, `ssd`, `nvme`, `virtual`, `loop`, `network`, `ram` or `unknown`.
    pub disk: Option<String>,
    /// `write-back` or `write-through`.
    pub write_cache: Option<String>,
    /// Median of synced 4 KiB appends in milliseconds; `None` without `--fsync`.
    pub fsync_ms: Option<f64>,
    /// 99th percentile or maximum of synced appends in milliseconds; `None` without `--fsync`.
    pub fsync_worst_ms: Option<f64>,
    /// Whether the list of processes is complete: false without permission for some process, or in a container.
    pub sees_all_processes: bool,
}

/// Schema of the database.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Schema {
    /// Why the schema could not be read; `None` if it was read.
    pub unread: Option<String>,
    /// Whether changes that lie in the log only are missing, because no checkpoint has copied them yet.
    pub behind: bool,
    /// Tables, without virtual tables and their shadow tables.
    pub tables: Vec<Table>,
    /// Indexes created by `CREATE INDEX` or a constraint.
    pub indexes: Vec<Index>,
    /// Foreign keys, one for each constraint.
    pub foreign_keys: Vec<ForeignKey>,
    /// Number of triggers.
    pub triggers: u32,
    /// Number of views.
    pub views: u32,
    /// Whether `sqlite_stat1` exists and has rows.
    pub analyzed: bool,
}

/// A table.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Table {
    /// Name.
    pub name: String,
    /// Upper bound of the number of rows: the greatest rowid, if the file has room for that many; `None` for a table
    /// without rowid.
    pub rows: Option<u64>,
    /// Rows according to `sqlite_stat1`; `None` if the table was never analysed.
    pub analyzed_rows: Option<u64>,
    /// Number of columns.
    pub columns: u32,
    /// Number of indexes.
    pub indexes: usize,
    /// Whether the table is `STRICT`.
    pub strict: bool,
    /// Whether the table is `WITHOUT ROWID`.
    pub without_rowid: bool,
    /// Whether the key is `AUTOINCREMENT`.
    pub autoincrement: bool,
    /// Declared type of a primary key of one column: `INTEGER`, `INT`, `TEXT`; empty text without a type; `None` without
    /// such a key.
    pub key_type: Option<String>,
    /// Whether the primary key is the rowid itself (`INTEGER PRIMARY KEY`).
    pub rowid_key: bool,
    /// Columns of the primary key; empty without one.
    pub key: Vec<String>,
    /// Columns of the primary key that accept NULL.
    pub nullable_key: Vec<String>,
    /// Columns without a declared type.
    pub untyped: Vec<String>,
    /// Columns whose declared type has the affinity NUMERIC but the name of a text or of a time: `STRING`, `DATETIME`.
    pub misleading_types: Vec<String>,
    /// Greatest number of constants in an `IN (…)` of a CHECK constraint; 0 without one.
    pub check_in: usize,
    /// Defaults in double quotes, which SQLite takes as text only by a historical exception.
    pub quoted_defaults: Vec<String>,
    /// Columns declared `FLOAT`, `REAL`, `DOUBLE` or `DECIMAL` whose name suggests money.
    pub money_floats: Vec<String>,
}

/// An index.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Index {
    /// Name.
    pub name: String,
    /// Table.
    pub table: String,
    /// Indexed columns in order; `<expression>` for an expression.
    pub columns: Vec<String>,
    /// Whether the index is unique.
    pub unique: bool,
    /// Whether the index has a WHERE clause.
    pub partial: bool,
    /// Whether a constraint created the index.
    pub automatic: bool,
    /// An index with the same columns, direction and collation.
    pub duplicate_of: Option<String>,
    /// An index whose first columns are these.
    pub prefix_of: Option<String>,
    /// Average number of rows for each value of the first column, from `sqlite_stat1`.
    pub rows_per_value: Option<u64>,
}

/// A foreign key.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ForeignKey {
    /// Table with the constraint.
    pub table: String,
    /// Its columns.
    pub columns: Vec<String>,
    /// Referenced table.
    pub parent: String,
    /// Referenced columns.
    pub parent_columns: Vec<String>,
    /// Whether an index begins with the columns.
    pub indexed: bool,
    /// Whether the referenced table exists.
    pub parent_exists: bool,
    /// Whether the referenced columns are unique, which SQLite requires.
    pub parent_unique: bool,
    /// Rows of the table, as in [`Table::rows`].
    pub rows: Option<u64>,
    /// Action on delete: `NO ACTION`, `CASCADE`, …
    pub on_delete: String,
}

/// A process that has the database open.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Name of the program.
    pub name: String,
    /// Copies of SQLite in its memory.
    pub sqlite: Vec<SqliteImage>,
    /// Known defects of SQLite that all these copies have, as far as their versions are known.
    pub sqlite_defects: Vec<Defect>,
    /// Locks it holds: `write`, `checkpoint`, `recover`, `read 0` to `read 4`, `reserved`, `pending`, `shared`,
    /// `exclusive`.
    pub locks: Vec<String>,
    /// Number of the last frame visible to its oldest reader in the log; `None` without one.
    pub snapshot: Option<u32>,
    /// Bytes of log written after its oldest snapshot, which no checkpoint can recycle.
    pub pins_bytes: Option<u64>,
    /// Open files of the database that are deleted: `-wal`, `-shm`, `` for the database itself.
    pub deleted: Vec<String>,
    /// Whether the process is in another mount namespace, as in another container.
    pub other_namespace: bool,
    /// `litestream`, `sqlite3_rsync`, `backup` or another known companion; `None` for any other program.
    pub companion: Option<&'static str>,
    /// Number of descriptors of the database file.
    pub descriptors: usize,
    /// Whether one of them is open for writing.
    pub writable: bool,
    /// Drivers in a program in Go, with their versions: `go:modernc 1.54.0`.
    pub drivers: Vec<String>,
    /// Known defects of these drivers.
    pub driver_defects: Vec<Defect>,
}

/// A copy of SQLite in a process or an application.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SqliteImage {
    /// File name of the program or library.
    pub image: String,
    /// Version; `None` if the source id is not in the table.
    pub version: Option<String>,
    /// Date, time and hash of the source.
    pub source_id: String,
}

/// A known defect of a version of SQLite or of a driver.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Defect {
    /// Name in a few words.
    pub name: String,
    /// What it puts at risk.
    pub kind: Kind,
    /// What it does to an application.
    pub effect: String,
    /// The nearest version without it.
    pub fixed: String,
}

/// The application's connections, opened on a scratch database by its driver.
#[derive(Clone, Debug, Default, Serialize)]
pub struct App {
    /// Driver as given: `go:modernc`.
    pub driver: String,
    /// Version of the driver.
    pub driver_version: String,
    /// Language: `Go`, `Python`, `Node`, `Rust`.
    pub language: String,
    /// Version of the SQLite it contains.
    pub sqlite: Option<String>,
    /// Known defects of that SQLite.
    pub sqlite_defects: Vec<Defect>,
    /// Known defects of the driver, and defaults that a later version changes.
    pub driver_defects: Vec<Defect>,
    /// Package and first release from which on SQLite has no known defect: `github.com/mattn/go-sqlite3 1.14.49`.
    pub cure: Option<String>,
    /// DSN as given, with the path of the database.
    pub dsn: String,
    /// Error of the driver when it opened the connections; the other facts are unknown then.
    pub refused: Option<String>,
    /// Connections that the application opens (`--connections`).
    pub connections: u32,
    /// Keys of the DSN and options.
    pub keys: Vec<Key>,
    /// Settings in effect on the first connection, by PRAGMA name. Numbers for numeric settings, words for
    /// `journal_mode` and `locking_mode`.
    pub settings: BTreeMap<String, Value>,
    /// Names of settings that differ between the connections.
    pub differing: Vec<String>,
    /// Names of settings that differ on a connection that the pool opened anew.
    pub lost: Vec<String>,
    /// Fate of a transaction that reads and then writes while another connection writes; `None` if it was not tried.
    pub upgrade: Option<Upgrade>,
    /// Whether the connections cannot write: by `query_only`, a key of the DSN or an option.
    pub read_only: bool,
    /// Whether the connections have opened the file that the DSN means.
    pub opened_file: bool,
    /// Files that the driver created instead, by name, as `app.db?mode=ro`.
    pub created: Vec<String>,
    /// Whether the connections share one in-memory database, or have one each; `false` for a file.
    pub in_memory: bool,
}

/// A key of a DSN, or an option of a driver's constructor.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Key {
    /// Key as written.
    pub name: String,
    /// Value as written, percent-decoded.
    pub value: String,
    /// `query` for a key of a DSN, `option` for a constructor's argument, `pragma` for a PRAGMA of the application.
    pub place: &'static str,
    /// PRAGMA that the key is meant to set; `None` for a key without one.
    pub setting: Option<String>,
    /// Value that the key asks for.
    pub requested: Option<String>,
    /// Value in effect on the first connection.
    pub effective: Option<String>,
    /// Whether the value in effect is the requested one; `None` if that cannot be seen.
    pub applied: Option<bool>,
    /// What is wrong with the name or the value, in the words of litelab's check of settings.
    pub wrong: Option<String>,
    /// Whether the driver documents the key.
    pub known: Option<bool>,
    /// Drivers that document the key.
    pub drivers: Vec<String>,
    /// Whether the key is a parameter of SQLite's URI (`mode`, `cache`, `immutable`, …) and so requires `file:`.
    pub uri: bool,
    /// Whether the DSN begins with `file:`.
    pub file_prefix: bool,
}

/// A statement of the application and its query plan.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Statement {
    /// Text, shortened to 200 characters.
    pub sql: String,
    /// Line of the file it was read from.
    pub line: usize,
    /// Lines of `EXPLAIN QUERY PLAN`.
    pub plan: Vec<String>,
    /// Error of SQLite when it compiled the statement.
    pub error: Option<String>,
    /// Tables read whole, with the upper bound of their rows.
    pub scans: Vec<Scan>,
    /// Greatest number of rows of a scanned table.
    pub scanned_rows: u64,
    /// Purposes of temporary B-trees: `ORDER BY`, `GROUP BY`, `DISTINCT`.
    pub temp_b_trees: Vec<String>,
    /// Tables for which SQLite builds an index at each execution.
    pub automatic_indexes: Vec<String>,
    /// Whether the statement contains `WHERE`.
    pub filtered: bool,
    /// Whether the statement contains `LIMIT`.
    pub limited: bool,
    /// Whether the statement contains `OFFSET`.
    pub offset: bool,
    /// Whether the statement is `SELECT *` of a table with many columns.
    pub star: bool,
    /// Whether a `LIKE` begins with a wildcard.
    pub leading_wildcard: bool,
    /// Whether a text literal is in double quotes.
    pub double_quoted_text: bool,
    /// Whether the statement writes.
    pub writes: bool,
    /// Tables with rows that refer to the row that this `REPLACE` deletes, and are deleted or changed with it
    /// (`ON DELETE CASCADE`, `SET NULL`, `SET DEFAULT`).
    pub replaced_children: Vec<String>,
    /// PRAGMA that the statement sets, with its value: `["synchronous", "WAL"]`.
    pub pragma: Option<[String; 2]>,
    /// What is wrong with that PRAGMA, in the words of litelab's check of settings.
    pub wrong: Option<String>,
    /// First words of the statement in upper case: `SELECT`, `BEGIN`, `BEGIN IMMEDIATE`, `VACUUM`, …
    pub verb: String,
    /// Index that saves at least half of its work; `None` without one, or without `--advise`.
    pub advice: Option<Advice>,
    /// Why no index could be tried.
    pub untried: Option<String>,
}

/// An index that was tried on a copy of the database.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Advice {
    /// Statement that creates it.
    pub sql: String,
    /// Its table.
    pub table: String,
    /// Its columns in their order.
    pub columns: Vec<String>,
    /// Work of the statement without it.
    pub before: Work,
    /// Work of the statement with it.
    pub after: Work,
    /// Its size in bytes.
    pub bytes: u64,
}

/// Work of one execution of a statement.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Work {
    /// Steps of SQLite's virtual machine.
    pub steps: u64,
    /// Time in seconds.
    pub seconds: f64,
    /// Whether it came to its end; otherwise the figures are lower bounds.
    pub complete: bool,
}

/// A table that a statement reads whole.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Scan {
    /// Table.
    pub table: String,
    /// Upper bound of its rows; `None` if unknown.
    pub rows: Option<u64>,
}
