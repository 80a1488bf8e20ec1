//! Rebuilds the crate after a change of the files that are built into it: studies, workloads, profiles, advisories.

fn main() {
    for folder in ["studies", "workloads", "profiles", "advisories"] {
        println!("cargo::rerun-if-changed=../../{folder}");
    }
}
