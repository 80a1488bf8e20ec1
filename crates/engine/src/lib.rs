//! Plans blocks, prepares database copies, starts runners, observes them and records the run.

pub mod environment;
pub mod observe;
