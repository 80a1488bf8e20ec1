//! Replacement for the module `server` where the feature `servers` is off: the same interface without servers.

use std::marker::PhantomData;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use litelab_engine::{Urls, WITHOUT_SERVERS};
use litelab_protocol::draw::Value;
use litelab_protocol::{Database, Dialect};

use crate::file::Rows;
use crate::unavailable::Unavailable;

/// The servers under the drivers: always none.
pub struct Servers<'a>(PhantomData<&'a ()>);

impl<'a> Servers<'a> {
    pub fn new(_directory: &Path, _urls: Option<&'a Urls>, _stop: Option<&'a AtomicBool>) -> std::io::Result<Self> {
        Ok(Self(PhantomData))
    }

    /// Always succeeds: without the feature, the user cannot name a server.
    pub fn reach(&self, _dialect: Dialect) -> Result<(), String> {
        Ok(())
    }

    /// `None` for SQLite, which needs no server; an error for every other dialect.
    pub fn get(&self, dialect: Dialect) -> Result<Option<&str>, Unavailable> {
        match dialect {
            Dialect::Sqlite => Ok(None),
            Dialect::Postgres | Dialect::Mysql => Err(Unavailable::Missing(WITHOUT_SERVERS.into())),
        }
    }
}

/// A schema on a server; has no values.
pub enum Schema {}

/// A lock on a server; has no values.
pub enum Held {}

impl Schema {
    pub fn make(_url: &str, _script: &str) -> Result<Self, String> {
        Err(WITHOUT_SERVERS.into())
    }

    pub fn database(&self) -> Database {
        match *self {}
    }

    pub fn script(&self, _sql: &str) -> Result<(), String> {
        match *self {}
    }

    pub fn rows(&self, _sql: &str) -> Result<Rows, String> {
        match *self {}
    }

    pub fn insert(&self, _table: &str, _rows: Vec<Vec<Value>>) -> Result<(), String> {
        match *self {}
    }

    pub fn content(&self, _table: &str) -> Result<String, String> {
        match *self {}
    }

    pub fn hold(&self, _table: &str) -> Result<Held, String> {
        match *self {}
    }
}

/// URL of a server. No value is ever constructed.
pub struct Url {
    pub hosts: Vec<(String, u16)>,
    pub password: Option<String>,
    pub database: Option<String>,
}

impl Url {
    pub fn parse(_url: &str) -> Result<Self, String> {
        Err(WITHOUT_SERVERS.into())
    }
}
