//! The schema of a check on a server.

use std::any::Any;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use litelab_protocol::{Database, Dialect};
use litelab_servers::{Admin, ServersError};

use crate::database::{CheckDatabase, Rows, Writer, insert};
use crate::error::{At, Result};

/// A schema on a server (a database in MySQL), dropped with this value.
pub struct Schema {
    // `RefCell` suffices: a check runs on one thread.
    admin: RefCell<Admin>,
    url: String,
    name: String,
}

impl Schema {
    /// Creates a schema on the server and runs a script in it.
    pub fn create(url: &str, script: &str) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("litelab_check_{}_{number}", std::process::id());
        let mut admin = Admin::connect(url)?;
        admin.create_schema(&name)?;
        // From here on, an early return drops the schema.
        let schema = Self { admin: RefCell::new(admin), url: url.to_owned(), name };
        schema.ask(|admin, name| admin.script(name, script))?;
        Ok(schema)
    }

    fn ask<T>(&self, what: impl FnOnce(&mut Admin, &str) -> Result<T, ServersError>) -> Result<T> {
        Ok(what(&mut self.admin.borrow_mut(), &self.name)?)
    }
}

impl CheckDatabase for Schema {
    fn database(&self) -> Database {
        Database::Server { url: self.url.clone(), schema: self.name.clone() }
    }

    fn rows(&self, sql: &str) -> Result<Rows> {
        self.ask(|admin, name| admin.rows(name, sql)).at(sql)
    }

    fn insert(&self, table: &str, rows: Rows) -> Result {
        self.ask(|admin, name| {
            let mark = |i| if admin.dialect() == Dialect::Postgres { format!("${i}") } else { "?".into() };
            let sql = insert(table, &rows, mark);
            admin.insert(name, &sql, rows).map(drop)
        })
    }

    fn content(&self, table: &str) -> Result<String> {
        self.ask(|admin, name| admin.content_hash(name, table))
    }

    fn hold(&self, table: &str) -> Result<Box<dyn Any>> {
        let mut admin = Admin::connect(&self.url)?;
        let sql = match admin.dialect() {
            Dialect::Postgres => format!("BEGIN; LOCK TABLE {table} IN EXCLUSIVE MODE"),
            _ => format!("START TRANSACTION; SELECT * FROM {table} FOR UPDATE"),
        };
        admin.script(&self.name, &sql)?;
        Ok(Box::new(admin))
    }

    fn writer(&self) -> Result<Writer<'_>> {
        Ok(Box::new(|sql| self.ask(|admin, name| admin.script(name, sql))))
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
