//! The servers that drivers are examined on: one of each kind for all of them.

mod schema;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use litelab_engine::{Urls, scratch, servers};
use litelab_model::Server as Kind;
use litelab_protocol::Dialect;
use litelab_servers::{Admin, Instance, Options, ServersError};

pub use litelab_servers::Url;
pub use schema::{Held, Schema};

use crate::dialect::by;
use crate::unavailable::Unavailable;

/// Started when the first driver wants one, stopped and removed when this is dropped.
pub struct Servers<'a> {
    scratch: PathBuf,
    urls: Option<&'a Urls>,
    stop: Option<&'a AtomicBool>,
    postgres: OnceLock<Result<Server, Unavailable>>,
    mysql: OnceLock<Result<Server, Unavailable>>,
    path: PathBuf,
    // Removed after the servers in it.
    _folder: scratch::Folder,
}

/// A server that answers.
pub struct Server {
    url: String,
    _instance: Option<Instance>,
}

impl<'a> Servers<'a> {
    /// None yet. They will live in a folder of their own in `directory`, which is removed with this.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(directory: &Path, urls: Option<&'a Urls>, stop: Option<&'a AtomicBool>) -> std::io::Result<Self> {
        let folder = servers::folder(directory, Kind::Postgres)?;
        let path = std::path::absolute(folder.path())?;
        // Should this program be killed, what begins so goes with them.
        let scratch = path.with_file_name(scratch::prefix());
        let (postgres, mysql) = (OnceLock::new(), OnceLock::new());
        Ok(Self { scratch, urls, stop, postgres, mysql, path, _folder: folder })
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
        let instance = Instance::start_with(kind, &self.path.join(kind.name()), &options)?;
        if kind == Kind::Mariadb {
            // A session cannot choose it, and no check asks what survives a power loss.
            Admin::connect(instance.url())?.set_server("innodb_flush_log_at_trx_commit", "2")?;
        }
        Ok(Server { url: instance.url().to_owned(), _instance: Some(instance) })
    }
}
