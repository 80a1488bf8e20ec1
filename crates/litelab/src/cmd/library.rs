//! `litelab studies|workloads|profiles list|show`: lists or prints the built-in files.

use anyhow::Result;
use litelab_model::library::{self, Kind};

use crate::exit::Exit;
use crate::{output, style};

#[derive(clap::Subcommand)]
pub enum Verb {
    /// List names and descriptions
    List,
    /// Print the file of one, as a template for your own
    Show {
        /// Name, or path of a file
        name: String,
    },
}

/// Lists the built-in files of a kind, or prints one.
pub fn run(kind: Kind, verb: &Verb) -> Result<Exit> {
    match verb {
        Verb::Show { name } => {
            let text = kind.find(name, None)?;
            // Printing also validates the file, so that `show` finds mistakes in a user's own file.
            check(kind, name)?;
            output::lines(&text.toml);
        }
        Verb::List => {
            let names = kind.built_in();
            let width = names.iter().map(|n| n.len()).max().unwrap_or_default();
            for name in names {
                let about = about(kind, name)?;
                output::headed(style::STRONG, format_args!("{name:width$}"), format_args!("  {about}"));
            }
        }
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
            let dialects = super::runners().map(|runners| runners.dialects()).unwrap_or_default();
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
