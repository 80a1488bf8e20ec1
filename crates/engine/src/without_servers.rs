//! Replacement for [`crate::servers`] without that feature: the same interface, and no servers.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use litelab_model::{Plan, Server, Variant};
use litelab_protocol::Database;
use litelab_record::ServerRecord;

use crate::WITHOUT_SERVERS;
use crate::error::EngineError;
use crate::verify::Contents;

/// Servers of the user: always empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Urls(());

impl Urls {
    /// Refuses the url.
    ///
    /// # Errors
    /// Always, with the remedy.
    pub fn add(&mut self, _text: &str) -> Result<(), String> {
        Err(WITHOUT_SERVERS.into())
    }

    /// Whether the user has named a server: never.
    #[must_use]
    pub fn contains(&self, _server: Server) -> bool {
        false
    }
}

/// The servers of a run: always empty.
#[derive(Debug)]
pub struct Servers;

impl Servers {
    /// Creates the empty set.
    #[must_use]
    pub fn new(_directory: &Path, _urls: Urls) -> Self {
        Self
    }

    /// Marks the variants of a plan that need a server as skipped.
    ///
    /// # Errors
    /// Never.
    pub fn provide(&mut self, plan: &mut Plan, _stop: Option<&AtomicBool>) -> Result<(), EngineError> {
        for variant in plan.variants.iter_mut().filter(|variant| variant.skipped.is_none() && variant.server.is_some())
        {
            variant.skipped = Some(WITHOUT_SERVERS.into());
        }
        Ok(())
    }

    /// Records of the servers for the run file: always empty.
    #[must_use]
    pub fn records(&self) -> BTreeMap<Server, ServerRecord> {
        BTreeMap::new()
    }

    pub(crate) fn schemas(&self, _variant: &Variant) -> Result<Schemas, String> {
        Err(WITHOUT_SERVERS.into())
    }

    pub(crate) fn settle(&self, _variant: &Variant, schemas: &mut Schemas) -> Result<(), String> {
        match *schemas {}
    }
}

/// Does nothing: there is no server to compile on.
pub(crate) fn compile(_plan: &Plan, _servers: &Servers) -> Result<(), EngineError> {
    Ok(())
}

/// Does nothing: without that feature litelab has started no server.
pub(crate) fn end_in(_folder: &Path) {}

/// A trial's schemas; without values, because there is no server.
pub(crate) enum Schemas {}

impl Schemas {
    pub(crate) fn databases(&self) -> Vec<Database> {
        match *self {}
    }

    pub(crate) fn on_each_node(&self) -> Result<Vec<Self>, String> {
        match *self {}
    }
}

impl Contents for Schemas {
    fn databases(&self) -> usize {
        match *self {}
    }

    fn number(&mut self, _database: usize, _sql: &str) -> Result<f64, String> {
        match *self {}
    }

    fn content(&mut self, _database: usize, _table: &str) -> Result<String, String> {
        match *self {}
    }
}

/// The killed node of a server; see [`NoFault`].
pub(crate) type NodeFault<'s> = NoFault;

/// A killed node; without values, because there is no server.
pub(crate) enum NoFault {}

impl NoFault {
    pub(crate) fn of(_variant: &Variant, _servers: Option<&Servers>) -> Result<Option<Self>, String> {
        Ok(None)
    }

    pub(crate) fn begin(&mut self, _go: Instant) {
        match *self {}
    }

    pub(crate) fn poll(&mut self) {
        match *self {}
    }

    pub(crate) fn finish(&mut self, _keep_going: &mut dyn FnMut() -> bool) -> Result<BTreeMap<String, f64>, String> {
        match *self {}
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]
mod tests {
    use super::*;

    const STUDY: &str = "name = 's'\ntitle = '?'\n[[scenario]]\nname = 'one'\nworkload = 'w.toml'\n\
        role.r = { run = 'insert', count = 1 }\nvary.driver = ['rusqlite', 'pg']\n";
    const WORKLOAD: &str = "name = 'w'\nschema.sql = 'CREATE TABLE t(id INTEGER PRIMARY KEY)'\n[transaction.insert]\n\
        sql = 'INSERT INTO t VALUES (:id)'\nparam.id = { sequence = {} }\n";

    #[test]
    fn variants_on_a_server_are_skipped_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("w.toml"), WORKLOAD).unwrap();
        let mut plan = crate::testkit::plan(Some(folder.path()), STUDY);
        Servers::new(folder.path(), Urls::default()).provide(&mut plan, None).unwrap();
        let skipped: Vec<_> =
            plan.variants.iter().map(|variant| (variant.server, variant.skipped.as_deref())).collect();
        assert_eq!(skipped, [(None, None), (Some(Server::Postgres), Some(WITHOUT_SERVERS))]);
    }

    #[test]
    fn a_url_is_refused_with_the_remedy() {
        let refused = Urls::default().add("postgres=postgres://localhost/db").unwrap_err();
        assert!(refused.contains("--features servers"), "{refused}");
    }
}
