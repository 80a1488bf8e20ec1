//! Checks that the list of tests is complete for the linked version of duroxide.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the output of a command.
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Path of the duroxide source that cargo compiles this package with.
fn duroxide() -> PathBuf {
    // For this platform only: dependencies of others have not been downloaded.
    let platform = output(Command::new("rustc").args(["--print", "host-tuple"]));
    let metadata = output(
        Command::new(env!("CARGO"))
            .args(["metadata", "--format-version=1", "--offline", "--locked", "--filter-platform", platform.trim()])
            .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]),
    );
    let metadata: serde_json::Value = serde_json::from_str(&metadata).unwrap();
    let package = metadata["packages"].as_array().unwrap().iter().find(|package| package["name"] == "duroxide");
    let manifest = package.expect("it is among the dependencies")["manifest_path"].as_str().unwrap();
    Path::new(manifest).parent().unwrap().into()
}

/// Names of the checks in the source of the crate: public asynchronous functions, each on its own line.
fn checks_of(folder: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let source = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let functions = source.lines().filter_map(|line| line.strip_prefix("pub async fn "));
        names.extend(functions.filter_map(|rest| rest.split(['<', '(']).next()).map(str::to_owned));
    }
    names
}

/// Names in the list of this package.
fn ours() -> BTreeSet<String> {
    let list = concat!(include_str!("list.rs"), include_str!("main.rs"));
    list.split(|c: char| !(c.is_alphanumeric() || c == '_')).map(str::to_owned).collect()
}

#[test]
fn there_is_a_test_for_every_check() {
    let checks = checks_of(&duroxide().join("src/provider_validation"));
    assert!(checks.len() >= 233, "only {} were found: the source has another form now", checks.len());
    let missing: Vec<_> = checks.difference(&ours()).cloned().collect();
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn a_check_that_the_list_lacks_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("new.rs"), "pub async fn test_of_tomorrow<F: ProviderFactory>(factory: &F) {\n")
        .unwrap();
    // Assembled, so that the name does not appear in the text of this package.
    let name = ["test", "of", "tomorrow"].join("_");
    assert_eq!(checks_of(folder.path()), BTreeSet::from([name.clone()]));
    assert!(!ours().contains(&name));
}
