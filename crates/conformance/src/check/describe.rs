//! The description that a runner prints of itself.

use litelab_engine::runner::{Absent, Runner};
use litelab_protocol::{Description, DriverDescription, Sharing};

use super::{orchestration, queue};
use crate::error::{At, Result, ensure};

/// Name of the check.
pub const NAME: &str = "describes-itself";

/// Compares the runner's description with its manifest. Returns the description, the missing optional drivers, and a
/// summary.
pub fn describe(runner: &Runner) -> Result<(Description, Vec<Absent>, String)> {
    // It is parsed strictly: unknown or missing fields, or another protocol version, are errors.
    let (description, mut absent) = runner.describe(None).map_err(|e| e.to_string())?;
    let manifest = &runner.manifest;
    ensure!(description.runner == manifest.name, "it calls itself `{}`", description.runner);
    ensure!(description.language == manifest.language, "it says its language is `{}`", description.language);
    ensure!(!description.runtime.is_empty(), "it names no runtime");
    for name in &manifest.drivers {
        let broken = absent.iter().find(|a| a.driver == *name && !a.optional);
        let why = broken.and_then(|a| a.reason.as_ref()).map_or_else(String::new, |reason| format!(": {reason}"));
        ensure!(broken.is_none(), "runner.toml lists the driver `{name}`, and it says it has none of that name{why}");
    }
    absent.retain(|a| a.optional);
    for (i, driver) in description.drivers.iter().enumerate() {
        let name = &driver.name;
        ensure!(manifest.drivers.contains(name), "it has a driver `{name}` that runner.toml does not list");
        ensure!(description.drivers[..i].iter().all(|d| d.name != *name), "it has two drivers `{name}`");
        of_driver(driver).at(format_args!("driver `{name}`"))?;
    }
    ensure!(description.drivers.iter().any(|d| d.name == "noop"), "it has no driver `noop`");
    let seen = format!("{} {}, {} drivers", description.language, description.runtime, description.drivers.len());
    Ok((description, absent, seen))
}

fn of_driver(driver: &DriverDescription) -> Result {
    ensure!(!driver.version.is_empty(), "it has no version");
    ensure!(!driver.sharings.is_empty() && !driver.executors.is_empty(), "it has no sharing or no executor");
    for kind in &driver.sharings {
        let known = [kind.clone(), format!("{kind}(1)")].iter().any(|t| t.parse::<Sharing>().is_ok());
        ensure!(known, "`{kind}` is no sharing");
    }
    if let Some(interface) = &driver.interface {
        let known = [queue::interface(), orchestration::interface()];
        ensure!(
            known.contains(interface),
            "`{}` is no interface of the suite, or has other operations",
            interface.name
        );
    }
    if let Some(sqlite) = &driver.sqlite {
        ensure!(sqlite.version.starts_with("3."), "`{}` is no version of SQLite", sqlite.version);
        ensure!(sqlite.source_id.starts_with("20"), "`{}` is no source id", sqlite.source_id);
        ensure!(!sqlite.compile_options.is_empty(), "its SQLite has no compile options");
    }
    Ok(())
}
