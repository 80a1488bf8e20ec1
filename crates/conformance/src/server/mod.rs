//! The servers under the drivers: one of each kind, shared by all drivers.

mod schema;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use litelab_engine::{Urls, scratch, servers};
use litelab_model::Server as Kind;
use litelab_protocol::Dialect;
use litelab_servers::{Admin, Instance, Options, ServersError};

pub use litelab_servers::Url;
pub use schema::Schema;

use crate::dialect::by;
use crate::unavailable::Unavailable;

/// Each server is started on first use, and stopped and removed when this value is dropped.
pub struct Servers<'a> {
    scratch: PathBuf,
    urls: Option<&'a Urls>,
    stop: Option<&'a AtomicBool>,
    postgres: OnceLock<Result<Server, Unavailable>>,
    mysql: OnceLock<Result<Server, Unavailable>>,
    path: PathBuf,
    // Last field: removed after the servers inside it.
    _folder: scratch::Folder,
}

/// A server that accepts connections.
pub struct Server {
    url: String,
    _instance: Option<Instance>,
}

impl<'a> Servers<'a> {
    /// Starts no server. Servers will use a new folder in `directory`, which is removed with this value.
    ///
    /// # Errors
    /// Fails if the folder cannot be created.
    pub fn new(directory: &Path, urls: Option<&'a Urls>, stop: Option<&'a AtomicBool>) -> std::io::Result<Self> {
        let folder = servers::folder(directory, Kind::Postgres)?;
        let path = std::path::absolute(folder.path())?;
        // The guard of each server removes the folders whose names begin with this, even if this program is killed.
        let scratch = path.with_file_name(scratch::prefix());
        let (postgres, mysql) = (OnceLock::new(), OnceLock::new());
        Ok(Self { scratch, urls, stop, postgres, mysql, path, _folder: folder })
    }

    /// Checks that the server given by the user for a dialect answers, if there is one.
    pub fn reach(&self, dialect: Dialect) -> Result<(), String> {
        let name = by(dialect, None, Some(Kind::Postgres), Some(Kind::Mariadb));
        match name.and_then(|name| self.urls?.get(name)) {
            Some(_) => self.get(dialect).map(drop).map_err(|e| e.to_string()),
            None => Ok(()),
        }
    }

    /// URL of the server of a dialect; `None` for SQLite.
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
        let instance = Instance::start(kind, &self.path.join(kind.name()), &options)?;
        if kind == Kind::Mariadb {
            // A session cannot set this variable, and no check is about power loss.
            Admin::connect(instance.url())?.set_server("innodb_flush_log_at_trx_commit", "2")?;
        }
        Ok(Server { url: instance.url().to_owned(), _instance: Some(instance) })
    }
}
