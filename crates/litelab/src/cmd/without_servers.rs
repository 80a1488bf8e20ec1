//! What takes the place of [`super::servers`] where the feature of that name is off: one error that names the remedy.

use std::ffi::OsString;

use anyhow::Result;

use crate::exit::{BadInput, Exit};

/// Anything that is asked for.
#[derive(clap::Subcommand)]
pub enum Verb {
    /// Whatever it is, this litelab was built without it
    #[command(external_subcommand)]
    Any(#[expect(dead_code, reason = "clap fills it")] Vec<OsString>),
}

/// Refuses it.
pub fn run(_verb: &Verb) -> Result<Exit> {
    Err(BadInput(litelab_engine::WITHOUT_SERVERS.into()).into())
}

/// The exit code of an error of a server, of which there is none.
pub fn exit(_error: &(dyn std::error::Error + 'static)) -> Option<Exit> {
    None
}
