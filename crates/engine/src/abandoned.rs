//! Servers of a litelab that was killed together with the guard of its servers.

use std::path::Path;

/// Stops the servers in a folder whose litelab and guard process were both killed.
#[cfg(feature = "servers")]
pub(crate) fn end_in(folder: &Path) {
    use litelab_servers::{State, instance};

    let below = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for place in below(folder).chain(below(&folder.join("servers"))) {
        if let Ok(Some(state)) = State::read(&place) {
            // A failed removal is repeated with the removal of the folder.
            let _left = instance::down(state.kind, &place);
        }
    }
}

/// Does nothing: without that feature litelab has started no server.
#[cfg(not(feature = "servers"))]
pub(crate) fn end_in(_folder: &Path) {}
