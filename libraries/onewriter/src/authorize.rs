//! Statements that closures may run: none that affects other callers of the same connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

/// No closure is running: everything is allowed.
pub const OUTSIDE: u8 = 0;
/// A closure is running that can be rolled back alone.
pub const GUARDED: u8 = 1;
/// A closure is running whose changes are found by counting rows and by the schema version of the main database.
pub const UNGUARDED: u8 = 2;
/// No closure is running, and this crate commits. In the other modes SQLite commits nothing.
pub const COMMITTING: u8 = 3;

/// What closures have prepared.
#[derive(Default)]
pub struct Seen {
    /// A savepoint. Those left open end with the savepoint of this crate.
    pub savepoint: AtomicBool,
    /// A change of the schema, since the flag was reset.
    pub schema: AtomicBool,
}

impl Seen {
    fn note(&self, action: &AuthAction<'_>) {
        match action {
            AuthAction::Savepoint { .. } => self.savepoint.store(true, Relaxed),
            AuthAction::Insert { table_name }
            | AuthAction::Update { table_name, .. }
            | AuthAction::Delete { table_name }
                if *table_name == "sqlite_master" =>
            {
                self.schema.store(true, Relaxed);
            }
            AuthAction::AlterTable { .. } => self.schema.store(true, Relaxed),
            _ => {}
        }
    }
}

/// PRAGMAs with an argument that change no setting of the connection (<https://sqlite.org/pragma.html>).
const WITH_ARGUMENT: [&str; 14] = [
    "defer_foreign_keys",
    "foreign_key_check",
    "foreign_key_list",
    "incremental_vacuum",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "optimize",
    "quick_check",
    "table_info",
    "table_list",
    "table_xinfo",
    "user_version",
];
/// The one PRAGMA of the file header besides `user_version` that an application sets.
const APPLICATION_ID: &str = "application_id";
/// PRAGMAs without an argument that do more than read.
const ACTIONS: [&str; 2] = ["wal_checkpoint", "shrink_memory"];

/// Installs the rules on a connection. `savepoint` is the name of this crate's savepoint.
///
/// # Errors
/// If the connection is in use.
pub fn set(
    connection: &mut Connection,
    mode: Arc<AtomicU8>,
    savepoint: Arc<str>,
    seen: Arc<Seen>,
) -> rusqlite::Result<()> {
    let rule = move |context: AuthContext<'_>| match mode.load(Relaxed) {
        OUTSIDE | COMMITTING => Authorization::Allow,
        mode if is_allowed(&context, mode == UNGUARDED, &savepoint) => {
            seen.note(&context.action);
            Authorization::Allow
        }
        _ => Authorization::Deny,
    };
    connection.authorizer(Some(rule))
}

fn is_allowed(context: &AuthContext<'_>, unguarded: bool, savepoint: &str) -> bool {
    let is_in = |names: &[&str], name: &str| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    match context.action {
        AuthAction::Savepoint { savepoint_name, .. } => !unguarded && !savepoint_name.eq_ignore_ascii_case(savepoint),
        AuthAction::Transaction { .. } | AuthAction::Attach { .. } | AuthAction::Detach { .. } => false,
        AuthAction::Pragma { pragma_name, pragma_value: None } => !is_in(&ACTIONS, pragma_name),
        AuthAction::Pragma { pragma_name, pragma_value: Some(_) } => {
            let is_header = is_in(&["user_version", APPLICATION_ID], pragma_name);
            (is_header || is_in(&WITH_ARGUMENT, pragma_name)) && !(is_header && unguarded)
        }
        // The schema version of the main database does not tell of these.
        AuthAction::CreateTempTable { .. }
        | AuthAction::CreateTempIndex { .. }
        | AuthAction::CreateTempTrigger { .. }
        | AuthAction::CreateTempView { .. }
        | AuthAction::DropTempTable { .. }
        | AuthAction::DropTempIndex { .. }
        | AuthAction::DropTempTrigger { .. }
        | AuthAction::DropTempView { .. } => !unguarded,
        AuthAction::CreateTable { .. } | AuthAction::DropTable { .. } => {
            !unguarded || context.database_name == Some("main")
        }
        AuthAction::AlterTable { database_name, .. } => !unguarded || database_name == "main",
        _ => true,
    }
}
