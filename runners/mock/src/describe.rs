//! The verb `describe`.

use litelab_harness::rusqlite::connect;
use litelab_protocol::{Description, DriverDescription, Executor};

use crate::fault::Fault;
use crate::library;

/// Kinds of sharing that every fault claims, those of its target except `group-commit`.
const SHARINGS: [&str; 5] = ["own-connection", "one-connection", "pool", "app-lock", "writer-readers"];

/// Description of the runner, with the given version of the protocol.
pub fn describe(protocol: u32) -> Description {
    let driver = |name: &str, sqlite, executors, interface| DriverDescription {
        name: name.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        sqlite,
        sharings: SHARINGS.map(String::from).to_vec(),
        executors,
        interface,
        dialect: litelab_protocol::Dialect::Sqlite,
    };
    // That of this runner, which may differ from the target's.
    let build = connect::build().ok();
    let scripted = ["scripted", "noop"]
        .into_iter()
        .map(|name| driver(name, None, vec![Executor::Threads, Executor::Processes], None));
    let faults = Fault::ALL.iter().map(|(fault, name)| match fault.is_of_a_server() {
        false => driver(name, build.clone(), fault.executors(), fault.interface().map(library::interface)),
        // The capabilities of the target of server faults.
        true => DriverDescription {
            sharings: vec!["own-connection".into(), "pool".into()],
            dialect: litelab_protocol::Dialect::Postgres,
            ..driver(name, None, fault.executors(), None)
        },
    });
    Description {
        protocol,
        runner: "mock".into(),
        language: "rust".into(),
        runtime: env!("CARGO_PKG_RUST_VERSION").into(),
        drivers: scripted.chain(faults).collect(),
    }
}
