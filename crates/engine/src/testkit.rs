//! Plans for tests.

use std::path::Path;

use litelab_model::{Options, Plan, library, resolve};
use litelab_protocol::Dialect;

/// The plan of a study whose workloads are in `folder`, with `pg` and `my` as drivers of servers.
pub(crate) fn plan(folder: Option<&Path>, toml: &str) -> Plan {
    let text = library::Text { file: "s.toml".into(), directory: folder.map(Path::to_path_buf), toml: toml.into() };
    let study = library::parse(&text).unwrap_or_else(|e| panic!("{e}"));
    let dialects = [("pg", Dialect::Postgres), ("my", Dialect::Mysql)].map(|(name, of)| (name.to_owned(), of)).into();
    resolve::resolve(&study, &text, &Options { dialects, ..Options::default() }).unwrap_or_else(|e| panic!("{e}"))
}
