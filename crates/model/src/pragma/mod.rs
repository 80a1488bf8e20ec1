//! SQLite's PRAGMAs.
#[cfg(test)]
mod scratch;
