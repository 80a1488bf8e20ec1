//! The nouns: workloads, profiles, studies. Parsed, validated and resolved; no I/O beyond reading the files.

pub mod pragma;
