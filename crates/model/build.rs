//! Studies, workloads and profiles are built into the program; a new file has to rebuild it.

fn main() {
    for folder in ["studies", "workloads", "profiles"] {
        println!("cargo::rerun-if-changed=../../{folder}");
    }
}
