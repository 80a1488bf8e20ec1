//! The unprivileged account that a server runs under.

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::{Kind, ServersError};

/// An unprivileged user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Account {
    pub name: String,
    pub uid: u32,
    pub gid: u32,
}

/// Checks that the user of a server of this kind may enter a folder and all folders above it.
///
/// # Errors
/// The first folder that is closed to that user, or that the user does not exist.
pub fn may_enter(kind: Kind, folder: &Path) -> Result<(), ServersError> {
    let whole = folder.canonicalize().map_err(ServersError::io("enter the folder", folder))?;
    Account::for_kind(kind)?.map_or(Ok(()), |account| account.can_reach(&whole))
}

impl Account {
    /// The account for a server of this kind. `None` unless this program runs as root: servers refuse to run as root.
    pub fn for_kind(kind: Kind) -> Result<Option<Self>, ServersError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let own = if kind == Kind::Postgres { "postgres" } else { "mysql" };
        [own, "nobody"]
            .iter()
            .find_map(|name| find(&users, name))
            .map(Some)
            .ok_or_else(|| ServersError::Failed(format!("root must not run a server, and there is no user `{own}`")))
    }

    /// Makes a command run as this user, without root's supplementary groups (`uid` drops them).
    pub fn apply(&self, command: &mut Command) {
        command.uid(self.uid).gid(self.gid);
    }

    /// Changes the owner of a file or folder to this user.
    pub fn own(&self, path: &Path) -> Result<(), ServersError> {
        let owned = std::os::unix::fs::chown(path, Some(self.uid), Some(self.gid));
        owned.map_err(ServersError::io("give it to the server's user", path))
    }

    /// Checks that this user may enter every folder above an existing one.
    pub fn can_reach(&self, folder: &Path) -> Result<(), ServersError> {
        for above in folder.ancestors() {
            let Ok(metadata) = above.metadata() else { continue };
            let bit = if metadata.uid() == self.uid {
                0o100
            } else if metadata.gid() == self.gid {
                0o010
            } else {
                0o001
            };
            if metadata.mode() & bit == 0 {
                return Err(ServersError::Folder {
                    path: above.into(),
                    why: format!(
                        "user `{}`, whom the server runs as, may not enter it: choose another folder with --dir",
                        self.name
                    ),
                });
            }
        }
        Ok(())
    }
}

/// Finds a user in the text of passwd(5).
fn find(users: &str, name: &str) -> Option<Account> {
    users.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let is = fields.first() == Some(&name);
        is.then(|| {
            Some(Account { name: name.into(), uid: fields.get(2)?.parse().ok()?, gid: fields.get(3)?.parse().ok()? })
        })?
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const USERS: &str =
        "root:x:0:0:root:/root:/bin/bash\nmysql2:x:5:6::/:\nmysql:x:103:111:MySQL Server,,,:/nonexistent:/bin/false\n";

    #[test]
    fn users_are_found_by_their_whole_name() {
        assert_eq!(find(USERS, "mysql"), Some(Account { name: "mysql".into(), uid: 103, gid: 111 }));
        assert_eq!(find(USERS, "mysq"), None);
    }

    #[test]
    fn a_folder_above_that_is_closed_is_named() {
        let top = tempfile::tempdir().unwrap();
        let below = top.path().join("closed/below");
        std::fs::create_dir_all(&below).unwrap();
        // Numbers of no existing user, who may only enter what is open to all users.
        let stranger = Account { name: "stranger".into(), uid: 4_000_001, gid: 4_000_001 };
        let mode = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        mode(top.path(), 0o711);
        mode(&top.path().join("closed"), 0o711);
        stranger.can_reach(&below).unwrap();
        mode(&top.path().join("closed"), 0o700);
        let said = stranger.can_reach(&below).unwrap_err().to_string();
        assert!(said.contains("closed: user `stranger`") && said.contains("--dir") && !said.contains('\n'), "{said}");
    }
}
