//! Statements that closures may run: none that affects other callers of the same connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization, TransactionOperation};

use crate::sync::{Mutex, lock};

/// No closure is running: everything is allowed.
pub const OUTSIDE: u8 = 0;
/// A closure is running.
pub const INSIDE: u8 = 1;
/// No closure is running, and this crate commits. In the other modes SQLite commits nothing.
pub const COMMITTING: u8 = 2;

/// What a closure has prepared that lasts until the end of the transaction, which it may share.
#[derive(Default)]
pub struct Seen {
    any: AtomicBool,
    /// Names of savepoints.
    savepoints: Mutex<Vec<String>>,
    /// `PRAGMA defer_foreign_keys`.
    defers: AtomicBool,
}

impl Seen {
    fn note(&self, action: &AuthAction<'_>) {
        match action {
            AuthAction::Savepoint { operation: TransactionOperation::Begin, savepoint_name: name } => {
                self.any.store(true, Relaxed);
                let mut names = lock(&self.savepoints);
                if !names.iter().any(|known| known == name) {
                    names.push((*name).to_owned());
                }
            }
            AuthAction::Pragma { pragma_name, pragma_value: Some(_) }
                if pragma_name.eq_ignore_ascii_case("defer_foreign_keys") =>
            {
                self.any.store(true, Relaxed);
                self.defers.store(true, Relaxed);
            }
            _ => {}
        }
    }

    /// The names of savepoints since the last call, and whether foreign keys were deferred.
    pub fn take(&self) -> (Vec<String>, bool) {
        if self.any.swap(false, Relaxed) {
            (std::mem::take(&mut *lock(&self.savepoints)), self.defers.swap(false, Relaxed))
        } else {
            (Vec::new(), false)
        }
    }
}

/// PRAGMAs with an argument that change no setting of the connection (<https://sqlite.org/pragma.html>), and those of
/// the file header that an application sets.
const WITH_ARGUMENT: [&str; 15] = [
    "application_id",
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
        _ if is_allowed(&context, &savepoint) => {
            seen.note(&context.action);
            Authorization::Allow
        }
        _ => Authorization::Deny,
    };
    connection.authorizer(Some(rule))
}

fn is_allowed(context: &AuthContext<'_>, savepoint: &str) -> bool {
    let is_in = |names: &[&str], name: &str| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    match context.action {
        AuthAction::Savepoint { savepoint_name, .. } => !savepoint_name.eq_ignore_ascii_case(savepoint),
        AuthAction::Transaction { .. } | AuthAction::Attach { .. } | AuthAction::Detach { .. } => false,
        AuthAction::Pragma { pragma_name, pragma_value: None } => !is_in(&ACTIONS, pragma_name),
        AuthAction::Pragma { pragma_name, pragma_value: Some(_) } => is_in(&WITH_ARGUMENT, pragma_name),
        _ => true,
    }
}
