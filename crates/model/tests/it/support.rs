//! Studies of the tests, resolved together with their workloads and profiles.

use std::collections::BTreeMap;

use litelab_model::library::{self, Text};
use litelab_model::{Options, Plan, resolve};
use litelab_protocol::Dialect;

/// Resolves a study beside files with these names and contents.
pub fn resolve_beside(files: &[(&str, &str)], study: &str, options: &Options) -> Result<Plan, String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let text = Text { file: "s.toml".into(), directory: Some(folder.path().to_path_buf()), toml: study.into() };
    let study = library::parse(&text).map_err(|e| e.to_string())?;
    resolve::resolve(&study, &text, options).map_err(|e| e.to_string())
}

/// Resolves a study on built-in files, with the drivers of [`dialects`].
pub fn resolved(study: &str) -> Result<Plan, String> {
    resolve_beside(&[], study, &Options { dialects: dialects(), ..Options::default() })
}

/// The error, which must be one line with all parts.
pub fn refused(result: Result<Plan, String>, parts: &[&str]) -> String {
    let error = result.expect_err(&format!("{parts:?}: it resolves"));
    assert_eq!(error.lines().count(), 1, "{error}");
    for part in parts {
        assert!(error.contains(part), "`{part}` not in: {error}");
    }
    error
}

/// Drivers of servers in built-in studies and in tests.
pub fn dialects() -> BTreeMap<String, Dialect> {
    let of = |names: [&str; 2], dialect| names.map(|name| (name.to_owned(), dialect));
    let (postgres, mysql) = (of(["go:postgres", "pg"], Dialect::Postgres), of(["go:mysql", "my"], Dialect::Mysql));
    postgres.into_iter().chain(mysql).collect()
}
