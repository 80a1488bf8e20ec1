//! Replacement for the module `server` where the feature `servers` is off: the same interface without servers.

use std::marker::PhantomData;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use litelab_engine::{Urls, WITHOUT_SERVERS};
use litelab_protocol::Dialect;

use crate::unavailable::Unavailable;

/// The servers under the drivers: always none.
pub struct Servers<'a>(PhantomData<&'a ()>);

impl<'a> Servers<'a> {
    pub fn new(_: &Path, _: Option<&'a Urls>, _: Option<&'a AtomicBool>) -> std::io::Result<Self> {
        Ok(Self(PhantomData))
    }

    /// Always succeeds: without the feature, the user cannot name a server.
    pub fn reach(&self, _: Dialect) -> Result<(), String> {
        Ok(())
    }

    /// `None` for SQLite, which needs no server; an error for every other dialect.
    pub fn get(&self, dialect: Dialect) -> Result<Option<&str>, Unavailable> {
        if dialect.is_sqlite() { Ok(None) } else { Err(Unavailable::Missing(WITHOUT_SERVERS.into())) }
    }
}

/// URL of a server; has no values.
pub struct Url {
    pub hosts: Vec<(String, u16)>,
    pub password: Option<String>,
    pub database: Option<String>,
}

impl Url {
    pub fn parse(_: &str) -> Result<Self, String> {
        Err(WITHOUT_SERVERS.into())
    }
}
