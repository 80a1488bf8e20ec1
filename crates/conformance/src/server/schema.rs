//! The schema of a check on a server.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use litelab_protocol::draw::Value;
use litelab_protocol::{Database, Dialect};
use litelab_servers::{Admin, ServersError};

use crate::file::Rows;
use crate::place;

/// A schema on a server (a database in MySQL), dropped with this value.
pub struct Schema {
    // `RefCell` suffices: a check runs on one thread.
    admin: RefCell<Admin>,
    url: String,
    name: String,
}

/// A connection whose open transaction holds a lock.
pub type Held = Box<Admin>;

impl Schema {
    /// Creates a schema on the server and runs a script in it.
    pub fn make(url: &str, script: &str) -> Result<Self, String> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("litelab_check_{}_{number}", std::process::id());
        let mut admin = Admin::connect(url).map_err(said)?;
        admin.create_schema(&name).map_err(said)?;
        // From here on, an early return drops the schema.
        let schema = Self { admin: RefCell::new(admin), url: url.to_owned(), name };
        schema.script(script)?;
        Ok(schema)
    }

    /// The database in the form in which a trial names it.
    pub fn database(&self) -> Database {
        Database::Server { url: self.url.clone(), schema: self.name.clone() }
    }

    /// Runs the statements of a script.
    pub fn script(&self, sql: &str) -> Result<(), String> {
        self.ask(|admin, name| admin.script(name, sql))
    }

    /// Returns all rows of a query.
    pub fn rows(&self, sql: &str) -> Result<Rows, String> {
        self.ask(|admin, name| admin.rows(name, sql))
    }

    /// Inserts rows into a table that has one column per value.
    pub fn insert(&self, table: &str, rows: Vec<Vec<Value>>) -> Result<(), String> {
        let columns = rows.first().map_or(0, Vec::len);
        self.ask(|admin, name| {
            let mark = |i| if admin.dialect() == Dialect::Postgres { format!("${i}") } else { "?".into() };
            let sql = place::insert(table, columns, mark);
            admin.insert(name, &sql, rows).map(drop)
        })
    }

    /// Content hash of a table, computed as the engine does after a trial.
    pub fn content(&self, table: &str) -> Result<String, String> {
        self.ask(|admin, name| admin.content_hash(name, table))
    }

    /// Blocks all other writers of an empty table, see [`place::Place::hold`].
    pub fn hold(&self, table: &str) -> Result<Held, String> {
        let mut admin = Admin::connect(&self.url).map_err(said)?;
        let sql = match admin.dialect() {
            Dialect::Postgres => format!("BEGIN; LOCK TABLE {table} IN EXCLUSIVE MODE"),
            _ => format!("START TRANSACTION; SELECT * FROM {table} FOR UPDATE"),
        };
        admin.script(&self.name, &sql).map_err(said)?;
        Ok(Box::new(admin))
    }

    fn ask<T>(&self, what: impl FnOnce(&mut Admin, &str) -> Result<T, ServersError>) -> Result<T, String> {
        what(&mut self.admin.borrow_mut(), &self.name).map_err(said)
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        // If the server has already stopped, its schemas are gone too.
        if self.admin.get_mut().drop_schema(&self.name).is_err() {
            let _left = Admin::connect(&self.url).and_then(|mut admin| admin.drop_schema(&self.name));
        }
    }
}

fn said(error: ServersError) -> String {
    error.to_string()
}
