//! The SQLite in each release of a driver, from `advisories/bundled.toml`.

use std::sync::LazyLock;

use litelab_model::advisory::Version;
use serde::Deserialize;

use crate::defect;

/// Releases of a package that contains SQLite.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    /// Drivers in it, as `go:mattn`.
    pub drivers: Vec<String>,
    /// Name of the package.
    pub package: String,
    /// Registry: `go`, `npm`, `pypi`, `crates`.
    pub ecosystem: String,
    /// First release with each SQLite, and the version of that SQLite, ascending by release.
    pub releases: Vec<(String, Version)>,
}

/// All packages.
pub static ALL: LazyLock<Vec<Bundle>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        bundle: Vec<Bundle>,
    }
    let text = include_str!("../../../advisories/bundled.toml");
    toml::from_str::<File>(text).map_or_else(|_| Vec::new(), |file| file.bundle)
});

/// Package and release of a driver from which on no SQLite has a known defect, those apart that need crafted input;
/// `None` if `sqlite` has none.
#[must_use]
pub fn cure(driver: &str, sqlite: &str) -> Option<String> {
    if sqlite.parse().is_ok_and(defect::is_sound) {
        return None;
    }
    let bundle = ALL.iter().find(|bundle| bundle.drivers.iter().any(|name| name == driver))?;
    let last = bundle.releases.iter().rposition(|(_, sqlite)| !defect::is_sound(*sqlite));
    let (release, _) = bundle.releases.get(last.map_or(0, |last| last + 1))?;
    Some(format!("{} {release}", bundle.package))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_ascending_and_names_each_driver_once() {
        let mut drivers: Vec<_> = ALL.iter().flat_map(|bundle| bundle.drivers.clone()).collect();
        let count = drivers.len();
        drivers.sort();
        drivers.dedup();
        assert!(drivers.len() == count && count >= 10, "{drivers:?}");
        let numbers = |release: &str| release.split('.').map(|part| part.parse().unwrap()).collect::<Vec<u32>>();
        for bundle in ALL.iter() {
            let ascending =
                bundle.releases.is_sorted_by(|(a, one), (b, other)| numbers(a) < numbers(b) && one != other);
            assert!(ascending && !bundle.releases.is_empty(), "{bundle:?}");
            assert!(["go", "npm", "pypi", "crates"].contains(&bundle.ecosystem.as_str()), "{bundle:?}");
        }
    }

    #[test]
    fn the_first_release_without_a_defect_is_named() {
        assert_eq!(cure("go:mattn", "3.45.1").as_deref(), Some("github.com/mattn/go-sqlite3 1.14.49"));
        // 0.31.1 has the release that was withdrawn, 0.35.2 the one with a defect of its own.
        assert_eq!(cure("go:ncruces", "3.51.2").as_deref(), Some("github.com/ncruces/go-sqlite3 0.35.3"));
        assert_eq!(cure("rusqlite", "3.50.2").as_deref(), Some("libsqlite3-sys 0.37.0"));
        assert_eq!(cure("go:mattn", "3.51.3"), None, "it has no defect");
        assert_eq!(cure("node:sqlite3", "3.52.0"), None, "no release is without one");
        assert_eq!(cure("python:sqlite3", "3.40.1"), None, "the library of the system");
    }
}
