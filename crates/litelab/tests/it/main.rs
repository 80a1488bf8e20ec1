//! The integration tests of this package in one program.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

mod calibrate;
mod common;
mod compare;
mod doctor;
mod end_to_end;
mod ends;
mod flame;
mod foreign;
mod format_2;
mod hostile;
mod memory;
mod messages;
mod own_files;
mod repeat;
mod report;
mod task_queue;
#[cfg(target_os = "linux")]
mod watch;
#[cfg(not(feature = "servers"))]
mod without_servers;
mod work;
