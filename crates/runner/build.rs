//! Compiles the driver `c` against the header of the SQLite that rusqlite links.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=c");
    let header = env::var("DEP_SQLITE3_INCLUDE").expect("libsqlite3-sys with `bundled` says where its header is");
    let mut build = cc::Build::new();
    // `-O2` in every profile: the measured code is that of a C program as it is released.
    build.file("c/driver.c").include(header).opt_level(2).std("c11").warnings(true).extra_warnings(true);
    build.compile("litelab_c");
}
