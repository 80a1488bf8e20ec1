//! Passes the version of the compiler to the library, which reports it in `describe`.

use std::process::Command;

fn main() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output();
    let version = version.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned()).unwrap_or_default();
    println!("cargo:rustc-env=HARNESS_RUSTC={version}");
    println!("cargo:rerun-if-changed=build.rs");
}
