//! Compiles the C yardsticks with the header of the SQLite that the whole workspace links.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=c");
    let header = env::var("DEP_SQLITE3_INCLUDE").expect("libsqlite3-sys with `bundled` says where its header is");
    // -O2 in every profile: a C programmer ships the yardstick in this form.
    for name in ["bulk", "handwritten"] {
        let mut build = cc::Build::new();
        build.file(format!("c/{name}.c")).include(&header).opt_level(2).std("c11").warnings(true);
        build.compile(&format!("bench_{name}"));
    }
}
