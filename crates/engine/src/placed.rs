//! The databases of one trial: opened by the runner, checked afterwards.

use std::collections::BTreeMap;
use std::path::PathBuf;

use litelab_model::Variant;
use litelab_model::study::Location;
use litelab_protocol::{Database, TrialResult};
use litelab_record::outcome::FailureKind;

use crate::context::{Stop, TrialContext};
use crate::copy::copy_database;
use crate::prepare::setup_statements;
use crate::servers::Schemas;
use crate::verify::{self, Files};

/// The databases of one trial.
pub(crate) enum Placed {
    /// SQLite files, copied from the prepared database or dumped from memory at the end.
    Files { databases: Vec<Database>, files: Vec<PathBuf> },
    /// Schemas on a server.
    Schemas(Schemas),
}

impl Placed {
    pub(crate) fn databases(&self) -> Vec<Database> {
        match self {
            Self::Files { databases, .. } => databases.clone(),
            Self::Schemas(schemas) => schemas.databases(),
        }
    }

    pub(crate) fn files(&self) -> &[PathBuf] {
        match self {
            Self::Files { files, .. } => files,
            Self::Schemas(_) => &[],
        }
    }

    pub(crate) fn check(
        &mut self,
        variant: &Variant,
        result: &TrialResult,
    ) -> Result<BTreeMap<String, String>, String> {
        match self {
            Self::Files { files, .. } => verify::databases(variant, &mut Files::open(variant, files)?, result),
            Self::Schemas(schemas) => verify::databases(variant, schemas, result),
        }
    }

    /// Like `check`, on every node of a server of which one was killed.
    pub(crate) fn check_nodes(
        &mut self,
        variant: &Variant,
        result: &TrialResult,
    ) -> Result<(BTreeMap<String, String>, Option<u64>), String> {
        match self {
            Self::Files { .. } => Err("a file has no nodes".into()),
            Self::Schemas(schemas) => verify::nodes(variant, &mut schemas.on_each_node()?, result),
        }
    }
}

/// Creates a trial's schemas on a server, after applying the variant's settings to the server.
fn on_server(variant: &Variant, bench: &TrialContext<'_>) -> Result<Placed, Stop> {
    let stop = |e: String| Stop::new(FailureKind::Preparation, e);
    let servers = bench.servers.ok_or_else(|| stop("the run has no servers".into()))?;
    let mut schemas = servers.schemas(variant).map_err(stop)?;
    servers.settle(variant, &mut schemas).map_err(|e| Stop::new(FailureKind::Settings, e))?;
    Ok(Placed::Schemas(schemas))
}

/// Copies the prepared database, or describes how to build it in memory, or creates it on a server.
pub(crate) fn place(variant: &Variant, bench: &TrialContext<'_>) -> Result<Placed, Stop> {
    if variant.server.is_some() {
        return on_server(variant, bench);
    }
    let stop = |e: String| Stop::new(FailureKind::Preparation, e);
    let mut databases = Vec::new();
    let mut files = Vec::new();
    for i in 0..variant.databases {
        let file = bench.directory.join(format!("trial-{i}.db"));
        let path = file.display().to_string();
        databases.push(match variant.location {
            Location::File => {
                copy_database(bench.prepared, &file).map_err(|e| stop(e.to_string()))?;
                Database::File { path }
            }
            Location::Memory | Location::MemoryShared => Database::Memory {
                shared: variant.location == Location::MemoryShared,
                name: format!("litelab-{i}"),
                setup: setup_statements(bench.prepared).map_err(|e| stop(e.to_string()))?,
                teardown: vec![format!("VACUUM INTO '{}'", path.replace('\'', "''"))],
            },
        });
        files.push(file);
    }
    Ok(Placed::Files { databases, files })
}
