//! Servers of a run: started on demand or provided by the user, with a separate schema for each trial.
//!
//! Counterpart of [`crate::prepare`] and [`crate::verify`] for SQLite files. litelab creates the schema, loads the rows
//! and checks the content by its own connection, so that a wrong report of a runner is detected.

mod compile;
mod fault;
mod folder;
mod schema;
mod target;
mod url;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]
mod tests;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use litelab_model::condition::KillPlan;
use litelab_model::{Plan, Server, Variant};
use litelab_record::ServerRecord;
use litelab_servers::{Instance, Options, ServersError, State, instance};
use sha2::{Digest, Sha256};

pub(crate) use compile::compile;
pub(crate) use fault::NodeFault;
pub use folder::folder;
pub use schema::Schemas;
use target::Target;
pub use url::Urls;

use crate::error::EngineError;
use crate::scratch::Folder;

/// The servers of a run. Dropping it stops the servers that litelab started and removes their folder.
#[derive(Debug)]
pub struct Servers {
    // Drop order: the servers before the folder that contains them.
    targets: BTreeMap<Server, Target>,
    folder: Option<Folder>,
    directory: PathBuf,
    urls: Urls,
    /// Identifier of this run in the names of its schemas.
    run: String,
    schemas: Cell<u64>,
}

impl Servers {
    /// Creates an empty set; servers that litelab starts have their folder below `directory`.
    #[must_use]
    pub fn new(directory: &Path, urls: Urls) -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_nanos());
        let text = format!("{} {now}", std::process::id());
        let run = litelab_protocol::draw::hex(&Sha256::digest(text))[..8].to_owned();
        let (targets, folder, schemas) = (BTreeMap::new(), None, Cell::new(0));
        Self { targets, folder, directory: directory.to_path_buf(), urls, run, schemas }
    }

    /// Starts or connects to the servers that the variants of a plan need. Variants whose server is not installed are
    /// skipped.
    ///
    /// # Errors
    /// If a server cannot be started, or a server of the user cannot be reached.
    pub fn provide(&mut self, plan: &mut Plan, stop: Option<&AtomicBool>) -> Result<(), EngineError> {
        let mut missing: BTreeMap<Server, String> = BTreeMap::new();
        for variant in plan.variants.iter_mut().filter(|variant| variant.skipped.is_none()) {
            let Some(server) = variant.server else { continue };
            if self.urls.get(server).is_some() && matches!(variant.kill, Some(KillPlan::Node { .. })) {
                return Err(EngineError::BadInput(format!(
                    "kill: server `{server}` is yours (--url), and litelab kills nodes only of servers that it started: \
                     leave its --url out"
                )));
            }
            if !self.targets.contains_key(&server) && !missing.contains_key(&server) {
                match self.start(server, stop) {
                    Ok(target) => drop(self.targets.insert(server, target)),
                    Err(e @ ServersError::Missing { .. }) => drop(missing.insert(server, e.to_string())),
                    Err(ServersError::Interrupted) => return Err(EngineError::Interrupted),
                    Err(e) => return Err(error(server, &e)),
                }
            }
            variant.skipped = missing.get(&server).cloned();
        }
        Ok(())
    }

    fn start(&mut self, server: Server, stop: Option<&AtomicBool>) -> Result<Target, ServersError> {
        if let Some(url) = self.urls.get(server) {
            return Target::of_user(url);
        }
        let root = self.folder(server)?;
        // If this process is killed, the guard of the server also removes the other scratch folders.
        let scratch = root.with_file_name(crate::scratch::prefix());
        let options = Options { stop, scratch: Some(&scratch), ..Options::default() };
        let instance = Instance::start(server, &root.join(server.name()), &options)?;
        Ok(Target::started(instance))
    }

    /// Path of the servers' folder, created with the first server.
    fn folder(&mut self, server: Server) -> Result<PathBuf, ServersError> {
        let failed = |path: &Path, source| ServersError::Io {
            what: "make a folder for servers in it",
            path: path.into(),
            source,
        };
        if self.folder.is_none() {
            let made = folder(&self.directory, server);
            self.folder = Some(made.map_err(|e| failed(&self.directory, e))?);
        }
        let path = self.folder.as_ref().map_or(self.directory.as_path(), Folder::path);
        std::path::absolute(path).map_err(|e| failed(path, e))
    }

    /// Records of the servers for the run file.
    #[must_use]
    pub fn records(&self) -> BTreeMap<Server, ServerRecord> {
        self.targets.iter().map(|(server, target)| (*server, target.record())).collect()
    }

    /// The server of a variant.
    ///
    /// # Errors
    /// If the server was not started.
    fn target(&self, variant: &Variant) -> Result<&Target, String> {
        let server = variant.server.ok_or("the variant runs on no server")?;
        self.targets.get(&server).ok_or_else(|| format!("server `{server}` was not started"))
    }

    /// A schema name that is unique in this run.
    fn next_schema(&self) -> String {
        self.schemas.set(self.schemas.get() + 1);
        format!("litelab_{}_{}", self.run, self.schemas.get())
    }

    /// Applies a variant's server-wide settings and resets those of earlier variants. The settings of a user's server
    /// are only compared.
    ///
    /// # Errors
    /// The server's message, or the first difference.
    pub(crate) fn settle(&self, variant: &Variant, schemas: &mut Schemas) -> Result<(), String> {
        self.target(variant)?.settle(variant, schemas.server())
    }

    /// Creates the schemas of a trial with their rows. Dropping the result drops the schemas.
    ///
    /// # Errors
    /// The server's message.
    pub fn schemas(&self, variant: &Variant) -> Result<Schemas, String> {
        let target = self.target(variant)?;
        target.make_whole()?;
        let mut schemas = Schemas::none(target.url())?;
        for _ in 0..variant.databases {
            schemas.make(self.next_schema(), variant)?;
        }
        Ok(schemas)
    }
}

/// Stops the servers in a folder whose litelab and guard process were both killed.
pub(crate) fn end_in(folder: &Path) {
    let below = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for place in below(folder).chain(below(&folder.join("servers"))) {
        if let Ok(Some(state)) = State::read(&place) {
            // A failed removal is repeated with the removal of the folder.
            let _left = instance::down(state.kind, &place);
        }
    }
}

fn error(server: Server, error: &ServersError) -> EngineError {
    let line = format!("server `{server}`: {error}");
    if error.is_bad_input() { EngineError::BadInput(line) } else { EngineError::Failed(line) }
}
