//! Known defects of a version, from the advisories.

use std::sync::LazyLock;

use litelab_model::advisory::{self, Advisory, Version};

use crate::facts::Defect;

static OF_SQLITE: LazyLock<Vec<Advisory>> = LazyLock::new(|| advisory::of_sqlite().unwrap_or_default());
static OF_DRIVERS: LazyLock<Vec<Advisory>> = LazyLock::new(|| advisory::of_drivers().unwrap_or_default());

/// Defects of a version of SQLite; none for text that is no version.
#[must_use]
pub fn of_sqlite(version: &str) -> Vec<Defect> {
    version.parse().map_or_else(|_| Vec::new(), |version| of(OF_SQLITE.iter(), version))
}

/// Defects of a driver, named as `go:modernc`, in a version.
#[must_use]
pub fn of_driver(driver: &str, version: &str) -> Vec<Defect> {
    let Some(version) = Version::of_driver(version) else { return Vec::new() };
    of(OF_DRIVERS.iter().filter(|advisory| advisory.drivers.iter().any(|name| name == driver)), version)
}

/// Whether an application can meet a defect of this SQLite with statements and databases of its own.
pub(crate) fn is_sound(sqlite: Version) -> bool {
    OF_SQLITE.iter().all(|advisory| !advisory.concerns_all() || advisory.fix(sqlite).is_none())
}

fn of<'a>(advisories: impl Iterator<Item = &'a Advisory>, version: Version) -> Vec<Defect> {
    let defect = |advisory: &Advisory| {
        Some(Defect {
            name: advisory.name.clone(),
            kind: advisory.kind,
            effect: advisory.effect.clone(),
            fixed: advisory.fix(version)?.to_string(),
        })
    };
    advisories.filter_map(defect).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(defects: Vec<Defect>) -> Vec<String> {
        defects.into_iter().map(|defect| format!("{} {}", defect.name, defect.fixed)).collect()
    }

    #[test]
    fn a_version_has_its_defects() {
        assert_eq!(
            names(of_sqlite("3.51.1")),
            [
                "WAL-reset bug 3.51.3",
                "EXISTS as a join 3.51.2",
                "deadlock after a broken lock 3.51.2",
                "CVE-2026-11822 3.53.2"
            ]
        );
        assert_eq!(names(of_sqlite("3.53.3")), ["rollback of attached databases 3.53.4"]);
        assert_eq!(names(of_sqlite("3.54.1")), [] as [&str; 0]);
        assert_eq!(of_sqlite("newest"), []);
    }

    #[test]
    fn a_driver_has_its_own() {
        assert_eq!(names(of_driver("go:modernc", "v1.61.0")), ["statements compiled on every execution 1.61.1"]);
        assert_eq!(names(of_driver("go:mattn", "1.14.0")), [] as [&str; 0]);
        assert_eq!(names(of_driver("go:ncruces", "0.36.0")), ["transactions begin immediate 0.37.0"]);
        assert_eq!(names(of_driver("node:node:sqlite", "24.13.1")), ["defensive mode 24.14.0"]);
        assert_eq!(names(of_driver("node:node:sqlite", "24.21.0")), [] as [&str; 0]);
    }
}
