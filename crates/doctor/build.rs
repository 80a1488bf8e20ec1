//! Compiles the crate again after a change of the rules that it contains.

fn main() {
    println!("cargo::rerun-if-changed=../../rules");
}
