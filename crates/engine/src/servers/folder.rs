//! Folder of the servers of a run.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use litelab_model::Server;
use litelab_servers::instance::may_enter;

use crate::scratch::Folder;

/// A folder for servers, which run under their own user accounts: in `directory`; if that account may not enter it, in
/// the system's temporary folder, provided that this lies on the same file system, so that the same disk is measured.
///
/// # Errors
/// If it cannot be created. If no location is accessible, the folder is in `directory`, and the start of the server
/// reports which folder is closed.
pub fn folder(directory: &Path, server: Server) -> std::io::Result<Folder> {
    let elsewhere = std::env::temp_dir();
    let is_closed = may_enter(server, directory).is_err();
    let there = if is_closed && may_enter(server, &elsewhere).is_ok() && on_one_disk(directory, &elsewhere) {
        &elsewhere
    } else {
        directory
    };
    Folder::with_mode(there, 0o755)
}

fn on_one_disk(a: &Path, b: &Path) -> bool {
    let device = |path: &Path| path.metadata().map(|metadata| metadata.dev()).ok();
    device(a).is_some_and(|dev| device(b) == Some(dev))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn servers_live_where_their_user_may_enter() {
        let mode =
            |folder: &TempDir, mode| std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(mode)).unwrap();
        let closed = tempfile::tempdir().unwrap();
        if let Err(e) = may_enter(Server::Postgres, &std::env::temp_dir()) {
            println!("skipped: {e}");
            return;
        }
        mode(&closed, 0o755);
        assert!(super::folder(closed.path(), Server::Postgres).unwrap().path().starts_with(closed.path()));
        mode(&closed, 0o700);
        // Without root the server runs as the current user, who may enter the closed folder.
        let is_closed = may_enter(Server::Postgres, closed.path()).is_err();
        let made = super::folder(closed.path(), Server::Postgres).unwrap();
        assert_eq!(made.path().starts_with(closed.path()), !is_closed);
        may_enter(Server::Postgres, made.path()).unwrap();
    }
}
