//! Language of a driver, and the SQLite inside it.

use litelab_record::RunInfo;

/// Display name of a driver's language.
pub(crate) fn language(info: &RunInfo, name: &str) -> Option<String> {
    info.driver(name).map(|(runner, _)| language_name(&runner.language).to_owned())
}

/// Version of the SQLite inside a driver.
pub(crate) fn sqlite(info: &RunInfo, name: &str) -> Option<String> {
    info.driver(name)?.1.sqlite.as_ref().map(|build| build.version.clone())
}

/// Display name of a language.
fn language_name(name: &str) -> &str {
    match name {
        "c" => "C",
        "go" => "Go",
        "node" => "Node.js",
        "python" => "Python",
        "rust" => "Rust",
        other => other,
    }
}
