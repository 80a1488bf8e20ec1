//! What takes the place of `server` where the feature `servers` is off: the same interface, and no server.

use std::marker::PhantomData;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use litelab_engine::{Urls, WITHOUT_SERVERS};
use litelab_protocol::draw::Value;
use litelab_protocol::{Database, Dialect};

use crate::file::Rows;
use crate::unavailable::Unavailable;

/// The servers that drivers are examined on: none.
pub struct Servers<'a>(PhantomData<&'a ()>);

impl<'a> Servers<'a> {
    /// None, now and later.
    pub fn new(_directory: &Path, _urls: Option<&'a Urls>, _stop: Option<&'a AtomicBool>) -> std::io::Result<Self> {
        Ok(Self(PhantomData))
    }

    /// The user can name none.
    pub fn reach(&self, _dialect: Dialect) -> Result<(), String> {
        Ok(())
    }

    /// Nothing for SQLite, which needs no server, and the reason why there is none for the others.
    pub fn get(&self, dialect: Dialect) -> Result<Option<&str>, Unavailable> {
        match dialect {
            Dialect::Sqlite => Ok(None),
            Dialect::Postgres | Dialect::Mysql => Err(Unavailable::Missing(WITHOUT_SERVERS.into())),
        }
    }
}

/// A schema on a server, of which there is never any.
pub enum Schema {}

/// A lock on a server, of which there is never any.
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

/// The address of a server, of which there is never any.
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
