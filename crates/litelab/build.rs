//! Packs the sources of every runner that is built separately, with the sources they depend on, so that an installed
//! litelab can build them. Output: one archive, and a table of the runners' manifests.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

/// Sources that a build of any runner reads: all packages of the workspace, because cargo requires every member.
const ROOTS: [&str; 5] = ["Cargo.lock", "Cargo.toml", "crates", "libraries", "runners"];
/// Folders that no build reads, and folders that builds create.
const SKIPPED: [&str; 10] = [
    "assets",
    "node_modules",
    "onewriter-node",
    "__pycache__",
    "proptest-regressions",
    "schema",
    "target",
    "test",
    "tests",
    "vectors",
];
/// Files that builds create.
const BUILT: [&str; 4] = [
    "runners/duroxide-patched/Cargo.lock",
    "runners/go/goqite_schema.sql",
    "runners/go/litelab-handwritten-go",
    "runners/go/litelab-runner-go",
];

fn main() -> io::Result<()> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let mut files = Vec::new();
    for root in ROOTS {
        collect(&home, Path::new(root), &mut files)?;
    }
    files.sort();

    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::best()));
    archive.mode(tar::HeaderMode::Deterministic);
    let mut manifests = String::new();
    for file in &files {
        let path = home.join(file);
        println!("cargo::rerun-if-changed={}", path.display());
        archive.append_path_with_name(&path, file)?;
        if file.file_name().is_some_and(|name| name == "runner.toml") && file.starts_with("runners") {
            let folder = file.parent().unwrap_or(file).display().to_string();
            manifests.push_str(&format!("({folder:?}, include_str!({:?})),\n", path.display().to_string()));
        }
    }
    let packed = archive.into_inner()?.finish()?;
    let hash: String = Sha256::digest(&packed).iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=LITELAB_SOURCES={hash}");

    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    fs::write(out.join("sources.tar.gz"), packed)?;
    write!(fs::File::create(out.join("manifests.rs"))?, "&[{manifests}]")
}

fn collect(home: &Path, path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if home.join(path).is_file() {
        files.push(path.to_path_buf());
        return Ok(());
    }
    for entry in fs::read_dir(home.join(path))? {
        let name = entry?.file_name();
        let text = name.to_string_lossy();
        let hidden = text.starts_with('.') && text != ".cargo";
        let path = path.join(&name);
        if !hidden && !SKIPPED.contains(&&*text) && !BUILT.iter().any(|built| path == Path::new(built)) {
            collect(home, &path, files)?;
        }
    }
    Ok(())
}
