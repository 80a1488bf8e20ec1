//! The servers that drivers are examined on: one of each kind for all of them.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use litelab_engine::Urls;
use litelab_protocol::Dialect;
use litelab_servers::{Admin, Instance, Kind, Options, ServersError};

use crate::dialect::by;

/// Started when the first driver wants one, stopped and removed when this is dropped.
pub struct Servers<'a> {
    folder: &'a Path,
    scratch: PathBuf,
    urls: Option<&'a Urls>,
    stop: Option<&'a AtomicBool>,
    postgres: OnceLock<Result<Server, Unavailable>>,
    mysql: OnceLock<Result<Server, Unavailable>>,
}

/// A server that answers.
pub struct Server {
    url: String,
    _instance: Option<Instance>,
}

/// Why there is none.
#[derive(Clone, Debug)]
pub enum Unavailable {
    /// It is not installed; names the packages.
    Missing(String),
    /// It did not start, or the user's own does not answer.
    Failed(String),
    /// The user asked to stop while it was being started.
    Interrupted,
}

impl std::fmt::Display for Unavailable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing(why) | Self::Failed(why) => f.write_str(why),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl<'a> Servers<'a> {
    /// None yet. They will live in `folder`, and should this program be killed, what begins with `scratch` goes with them.
    pub fn new(folder: &'a Path, scratch: PathBuf, urls: Option<&'a Urls>, stop: Option<&'a AtomicBool>) -> Self {
        Self { folder, scratch, urls, stop, postgres: OnceLock::new(), mysql: OnceLock::new() }
    }

    /// Makes sure that the user's own server answers, if there is one for a dialect.
    pub fn reach(&self, dialect: Dialect) -> Result<(), String> {
        let name = by(dialect, None, Some(Kind::Postgres), Some(Kind::Mariadb));
        match name.and_then(|name| self.urls?.get(name)) {
            Some(_) => self.get(dialect).map(drop).map_err(|e| e.to_string()),
            None => Ok(()),
        }
    }

    /// The url of the one that understands a dialect; none for SQLite's, which needs none.
    pub fn get(&self, dialect: Dialect) -> Result<Option<&str>, Unavailable> {
        let (cell, kind) = match dialect {
            Dialect::Sqlite => return Ok(None),
            Dialect::Postgres => (&self.postgres, Kind::Postgres),
            Dialect::Mysql => (&self.mysql, Kind::Mariadb),
        };
        let server = cell.get_or_init(|| {
            self.provide(kind).map_err(|e| match e {
                ServersError::Missing { .. } => Unavailable::Missing(e.to_string()),
                ServersError::Interrupted => Unavailable::Interrupted,
                other => Unavailable::Failed(format!("server `{kind}`: {other}")),
            })
        });
        server.as_ref().map(|server| Some(server.url.as_str())).map_err(Clone::clone)
    }

    fn provide(&self, kind: Kind) -> Result<Server, ServersError> {
        if let Some(url) = self.urls.and_then(|urls| urls.get(kind)) {
            Admin::connect(url)?;
            return Ok(Server { url: url.to_owned(), _instance: None });
        }
        let options = Options { stop: self.stop, scratch: Some(&self.scratch), ..Options::default() };
        let instance = Instance::start_with(kind, &self.folder.join(kind.name()), &options)?;
        if kind == Kind::Mariadb {
            // A session cannot choose it, and no check asks what survives a power loss.
            Admin::connect(instance.url())?.set_server("innodb_flush_log_at_trx_commit", "2")?;
        }
        Ok(Server { url: instance.url().to_owned(), _instance: Some(instance) })
    }
}
