//! The integration tests of this package in one program.

mod bad_input;
mod calibrate;
mod common;
mod compare;
mod end_to_end;
mod flame;
mod memory;
mod repeat;
mod report;
mod task_queue;
#[cfg(not(feature = "servers"))]
mod without_servers;
mod work;
