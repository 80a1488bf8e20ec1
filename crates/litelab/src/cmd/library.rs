//! `litelab studies|workloads|profiles [NAME]`: lists or prints the built-in files.

use anyhow::Result;
use litelab_model::library::{self, Kind};

use crate::exit::Exit;
use crate::{installation, output};

#[derive(clap::Args)]
pub struct Args {
    /// Print the file of this one, as a template for your own: a name, or the path of a file. Default: list all
    name: Option<String>,
}

/// Lists the built-in files of a kind, or prints one.
pub fn run(kind: Kind, args: &Args) -> Result<Exit> {
    if let Some(name) = &args.name {
        let text = kind.find(name, None)?;
        // Printing also validates the file, so that mistakes in a user's own file are found.
        check(kind, name)?;
        output::lines(&text.toml);
        return Ok(Exit::Ok);
    }
    let names = kind.built_in();
    let width = names.iter().map(|n| n.len()).max().unwrap_or_default();
    for name in names {
        output::entry(name, width, &about(kind, name)?);
    }
    Ok(Exit::Ok)
}

fn about(kind: Kind, name: &str) -> Result<String> {
    Ok(match kind {
        Kind::Study => library::study(name)?.0.title,
        Kind::Workload => library::workload(name, None)?.0.about,
        Kind::Profile => library::profile(name, None)?.0.about,
    })
}

fn check(kind: Kind, name: &str) -> Result<()> {
    match kind {
        Kind::Study => {
            let (study, text) = library::study(name)?;
            // Without runners no dialect of a server is available.
            let dialects = installation::runners().map(|runners| runners.dialects()).unwrap_or_default();
            let options =
                litelab_model::Options { dialects, tried: Some(litelab_database::pragma::tried), ..Default::default() };
            litelab_model::resolve::resolve(&study, &text, &options)?;
        }
        Kind::Workload => drop(library::workload(name, None)?),
        Kind::Profile => {
            let (profile, text) = library::profile(name, None)?;
            litelab_model::resolve::check_profile(&profile, &text, Some(litelab_database::pragma::tried))?;
        }
    }
    Ok(())
}
