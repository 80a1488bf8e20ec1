//! Replacement for [`super::servers`] without the feature `servers`: one error that names the remedy.

use std::ffi::OsString;

use anyhow::Result;

use crate::exit::{BadInput, Exit};

/// Accepts any sub-command, to refuse it with a useful message.
#[derive(clap::Subcommand)]
pub enum Verb {
    /// Any sub-command; this litelab was built without servers
    #[command(external_subcommand)]
    Any(#[expect(dead_code, reason = "clap fills it")] Vec<OsString>),
}

/// Returns the error that names the remedy.
pub fn run(_verb: &Verb) -> Result<Exit> {
    Err(BadInput(litelab_engine::WITHOUT_SERVERS.into()).into())
}

/// Always `None`: without servers there is no error of a server.
pub fn exit(_error: &(dyn std::error::Error + 'static)) -> Option<Exit> {
    None
}
