//! Compiles the runner's C against the header of the SQLite that libsqlite3-sys builds and links.

use std::env;
use std::fs;
use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=examples");
    let header = env::var("DEP_SQLITE3_INCLUDE").expect("libsqlite3-sys with `bundled` says where its header is");
    // -O2 whatever the profile: the yardstick is what a C programmer ships. Warnings are errors in `make lint` only,
    // so that a compiler with new ones still builds.
    let compile = |files: &[PathBuf], name: &str| {
        let mut build = cc::Build::new();
        build.include(&header).std("c17").opt_level(2).define("_GNU_SOURCE", None);
        build.warnings(true).extra_warnings(true).files(files).compile(name);
    };
    let mut files: Vec<PathBuf> = fs::read_dir("src").expect("src").flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "c"));
    files.sort();
    compile(&files, "litelab_c");
    compile(&["examples/handwritten.c".into()], "handwritten");
    // rustc leaves out the compiler's own libraries, so `make asan` names those of the sanitizer.
    println!("cargo::rerun-if-env-changed=RUNNER_C_LINK");
    for library in env::var("RUNNER_C_LINK").unwrap_or_default().split_whitespace() {
        println!("cargo::rustc-link-arg=-l{library}");
    }
    println!("cargo::rustc-link-lib=m");
    println!("cargo::rustc-link-lib=pthread");
}
