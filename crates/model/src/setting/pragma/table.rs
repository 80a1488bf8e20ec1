//! The vocabulary: one entry for each of the 78 PRAGMAs of SQLite 3.54.
//!
//! Source: the table `aPragmaName` and the handlers behind it in `pragma.c`. A test compares it with
//! `PRAGMA pragma_list` of the SQLite that is linked in, and every setting with what that SQLite does.

use super::vocabulary::{Kind, Pragma, Reports, Scope, Standing, Unit, Values};

const fn entry(name: &'static str, kind: Kind, summary: &'static str) -> Pragma {
    Pragma { name, kind, standing: Standing::Current, summary }
}

const fn query(name: &'static str, summary: &'static str) -> Pragma {
    entry(name, Kind::Query, summary)
}

const fn setting(name: &'static str, scope: Scope, values: Values, summary: &'static str) -> Pragma {
    entry(name, Kind::Setting { scope, values }, summary)
}

const fn flag(name: &'static str, summary: &'static str) -> Pragma {
    setting(name, Scope::Connection, Values::Boolean, summary)
}

const fn action(name: &'static str, argument: Option<Values>, summary: &'static str) -> Pragma {
    entry(name, Kind::Action { argument }, summary)
}

impl Pragma {
    const fn deprecated(mut self, instead: &'static str) -> Self {
        self.standing = Standing::Deprecated { instead };
        self
    }

    const fn only_in(mut self, condition: &'static str) -> Self {
        self.standing = Standing::SpecialBuild { condition };
        self
    }

    const fn debug(self) -> Self {
        self.only_in("SQLITE_DEBUG")
    }
}

const fn integer(min: i64, max: i64, unit: Unit) -> Values {
    Values::Integer { min, max, unit }
}

/// Largest memory map of an ordinary 64-bit build in bytes (`SQLITE_MAX_MMAP_SIZE`).
const MMAP_MAX: i64 = 0x7fff_0000;
/// Largest page number (`SQLITE_MAX_PAGE_COUNT`).
const PAGE_COUNT_MAX: i64 = 0xffff_fffe;
/// Maximum number of helper threads in an ordinary build (`SQLITE_MAX_WORKER_THREADS`).
const THREADS_MAX: i64 = 8;
const INT_MIN: i64 = i32::MIN as i64;
const INT_MAX: i64 = i32::MAX as i64;
/// A path. Every text is a well-formed path, and litelab accepts none of the PRAGMAs that take one.
const NO_WORDS: Values = Values::Words { words: &[], reports: Reports::Word };

const AUTO_VACUUM: Values =
    Values::Words { words: &[&["none"], &["full"], &["incremental"]], reports: Reports::Code { input: 3 } };
/// "UTF-16" means the byte order of the machine that creates the file.
const ENCODING: Values = Values::Words {
    words: if cfg!(target_endian = "little") {
        &[&["UTF-8", "UTF8"], &["UTF-16le", "UTF16le", "UTF-16", "UTF16"], &["UTF-16be", "UTF16be"]]
    } else {
        &[&["UTF-8", "UTF8"], &["UTF-16le", "UTF16le"], &["UTF-16be", "UTF16be", "UTF-16", "UTF16"]]
    },
    reports: Reports::Word,
};
const JOURNAL_MODE: Values = Values::Words {
    words: &[&["delete"], &["truncate"], &["persist"], &["memory"], &["wal"], &["off"]],
    reports: Reports::Word,
};
const LOCKING_MODE: Values = Values::Words { words: &[&["normal"], &["exclusive"]], reports: Reports::Word };
/// The number 2 is not accepted: SQLite takes it as ON, and not as FAST.
const SECURE_DELETE: Values = Values::Words {
    words: &[&["off", "no", "false"], &["on", "yes", "true"], &["fast"]],
    reports: Reports::Code { input: 2 },
};
/// "on", "yes" and "true" are not accepted: SQLite interprets them as NORMAL, which a reader would not expect.
const SYNCHRONOUS: Values =
    Values::Words { words: &[&["off"], &["normal"], &["full"], &["extra"]], reports: Reports::Code { input: 4 } };
const TEMP_STORE: Values =
    Values::Words { words: &[&["default"], &["file"], &["memory"]], reports: Reports::Code { input: 3 } };
const WAL_CHECKPOINT: Values =
    Values::Words { words: &[&["passive"], &["full"], &["restart"], &["truncate"], &["noop"]], reports: Reports::Word };

use Scope::{Connection, File, Process, Transaction};

/// The vocabulary, sorted by name.
#[rustfmt::skip]
const TABLE: &[Pragma] = &[
    query("activate_extensions", "unlocks a licensed extension").only_in("SQLITE_ENABLE_CEROD"),
    setting("analysis_limit", Connection, integer(0, INT_MAX, Unit::Count), "rows per index that ANALYZE looks at, roughly; 0 is all"),
    setting("application_id", File, integer(INT_MIN, INT_MAX, Unit::Plain), "number in the file header that names the application"),
    setting("auto_vacuum", File, AUTO_VACUUM, "whether free pages are given back to the file system"),
    flag("automatic_index", "lets the planner build an index for one query"),
    setting("busy_timeout", Connection, integer(0, INT_MAX, Unit::Milliseconds), "how long to wait for a lock; 0 is not at all"),
    setting("cache_size", Connection, integer(INT_MIN, INT_MAX, Unit::PagesOrKib), "upper bound of the page cache"),
    setting("cache_spill", Connection, Values::BooleanOrPages, "whether, and from how many pages on, dirty pages go to disk inside a transaction"),
    flag("case_sensitive_like", "makes LIKE case-sensitive; cannot be read back").deprecated("GLOB or a collation in the SQL"),
    flag("cell_size_check", "checks the layout of each page as it is read"),
    flag("checkpoint_fullfsync", "uses F_FULLFSYNC in checkpoints; macOS only"),
    query("collation_list", "the collating sequences of the connection"),
    query("compile_options", "the options that this SQLite was built with"),
    flag("count_changes", "makes INSERT, UPDATE and DELETE return a row count").deprecated("sqlite3_changes() through the driver"),
    setting("data_store_directory", Process, NO_WORDS, "where relative database names are").deprecated("an absolute file name"),
    query("data_version", "changes when another connection has committed"),
    query("database_list", "the attached databases"),
    setting("default_cache_size", File, integer(0, INT_MAX, Unit::Pages), "page cache bound kept in the file").deprecated("cache_size on every connection"),
    setting("defer_foreign_keys", Transaction, Values::Boolean, "checks foreign keys at the commit; off again after each transaction"),
    flag("empty_result_callbacks", "calls back for empty results in sqlite3_exec()").deprecated("nothing: no driver needs it"),
    setting("encoding", File, ENCODING, "text encoding of a new database"),
    query("foreign_key_check", "rows that break a foreign key"),
    query("foreign_key_list", "the foreign keys of a table"),
    flag("foreign_keys", "enforces foreign keys; ignored inside a transaction"),
    query("freelist_count", "unused pages in the file"),
    flag("full_column_names", "names result columns table.column").deprecated("AS in the SQL"),
    flag("fullfsync", "uses F_FULLFSYNC for every sync; macOS only"),
    query("function_list", "the SQL functions of the connection"),
    setting("hard_heap_limit", Process, integer(1, i64::MAX, Unit::Bytes), "memory above which SQLite fails; can only be lowered"),
    flag("ignore_check_constraints", "skips CHECK constraints"),
    action("incremental_vacuum", Some(integer(1, INT_MAX, Unit::Pages)), "gives free pages back, if auto_vacuum is incremental"),
    query("index_info", "the columns of an index"),
    query("index_list", "the indexes of a table"),
    query("index_xinfo", "the columns of an index, hidden ones too"),
    query("integrity_check", "looks for corruption in the whole file"),
    setting("journal_mode", File, JOURNAL_MODE, "how a transaction is made atomic; WAL stays with the file"),
    setting("journal_size_limit", Connection, integer(-1, i64::MAX, Unit::Bytes), "bytes a WAL or journal file may keep afterwards; -1 is no limit"),
    flag("legacy_alter_table", "lets ALTER TABLE RENAME work as before 3.25"),
    setting("lock_proxy_file", Connection, NO_WORDS, "file used for locks on network file systems").only_in("SQLITE_ENABLE_LOCKING_STYLE"),
    query("lock_status", "the file locks held").debug(),
    setting("locking_mode", Connection, LOCKING_MODE, "whether file locks are kept between transactions"),
    setting("max_page_count", Connection, integer(1, PAGE_COUNT_MAX, Unit::Pages), "largest size of the database"),
    setting("mmap_size", Connection, integer(0, MMAP_MAX, Unit::Bytes), "bytes of the file to map into memory; 0 is none"),
    query("module_list", "the virtual table modules of the connection"),
    action("optimize", Some(integer(2, INT_MAX, Unit::Mask)), "runs ANALYZE where it seems to pay"),
    query("page_count", "pages in the file"),
    setting("page_size", File, Values::PageSize, "page size of a new database"),
    flag("parser_trace", "prints the parser's steps").debug(),
    query("pragma_list", "the PRAGMAs of this SQLite"),
    flag("query_only", "refuses to write"),
    query("quick_check", "looks for corruption without comparing indexes"),
    flag("read_uncommitted", "reads through other connections' locks; in shared-cache mode only"),
    flag("recursive_triggers", "lets triggers fire triggers"),
    flag("reverse_unordered_selects", "turns round the rows of queries without ORDER BY, to find such queries"),
    setting("schema_version", File, integer(INT_MIN, INT_MAX, Unit::Plain), "SQLite's own schema counter; setting it can corrupt the database"),
    setting("secure_delete", Connection, SECURE_DELETE, "whether deleted content is overwritten"),
    flag("short_column_names", "names result columns by the column alone").deprecated("AS in the SQL"),
    action("shrink_memory", None, "frees what memory the connection can spare"),
    setting("soft_heap_limit", Process, integer(0, i64::MAX, Unit::Bytes), "memory above which caches are trimmed; 0 is none"),
    flag("sql_trace", "prints each statement").debug(),
    query("stats", "sizes of tables and indexes as the planner sees them").debug(),
    setting("synchronous", Connection, SYNCHRONOUS, "when SQLite waits for the disk"),
    query("table_info", "the columns of a table"),
    query("table_list", "the tables and views"),
    query("table_xinfo", "the columns of a table, hidden ones too"),
    setting("temp_store", Connection, TEMP_STORE, "where temporary tables and indexes are"),
    setting("temp_store_directory", Process, NO_WORDS, "directory of temporary files").deprecated("the environment variable SQLITE_TMPDIR"),
    setting("threads", Connection, integer(0, THREADS_MAX, Unit::Count), "helper threads that a large sort may use"),
    flag("trusted_schema", "lets the schema call any function"),
    setting("user_version", File, integer(INT_MIN, INT_MAX, Unit::Plain), "number in the file header for the application's use"),
    flag("vdbe_addoptrace", "prints bytecode as it is made").debug(),
    flag("vdbe_debug", "turns the other traces on").debug(),
    flag("vdbe_eqp", "prints query plans").debug(),
    flag("vdbe_listing", "prints bytecode before it runs").debug(),
    flag("vdbe_trace", "prints bytecode as it runs").debug(),
    setting("wal_autocheckpoint", Connection, integer(0, INT_MAX, Unit::Frames), "WAL frames after which a commit also checkpoints; 0 is never"),
    action("wal_checkpoint", Some(WAL_CHECKPOINT), "copies the WAL into the database"),
    flag("writable_schema", "lets SQL write the schema table; can corrupt the database"),
];

/// Every PRAGMA, sorted by name.
pub fn all() -> &'static [Pragma] {
    TABLE
}

/// The PRAGMA with a given name, ignoring case.
pub fn find(name: &str) -> Option<&'static Pragma> {
    TABLE.iter().find(|pragma| pragma.name.eq_ignore_ascii_case(name))
}
