//! Rebuilds the crate after a change of the studies, workloads and profiles that are built into it.

fn main() {
    for folder in ["studies", "workloads", "profiles"] {
        println!("cargo::rerun-if-changed=../../{folder}");
    }
}
