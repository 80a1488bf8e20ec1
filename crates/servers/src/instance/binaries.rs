//! Locations of the servers' programs.

use std::path::{Path, PathBuf};

use crate::{Kind, ServersError};

/// Debian installs PostgreSQL's server programs per version, outside the search path.
const POSTGRES: &str = "/usr/lib/postgresql";
/// Folders of system programs, which may be missing from a user's search path.
const SYSTEM: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/usr/libexec"];
/// Paths of Galera's library in different distributions.
const GALERA: [&str; 4] = [
    "/usr/lib/galera/libgalera_smm.so",
    "/usr/lib64/galera-4/libgalera_smm.so",
    "/usr/lib64/galera/libgalera_smm.so",
    "/usr/lib/libgalera_smm.so",
];

/// The programs of one kind of server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binaries {
    /// Creates a data directory: `initdb`, `mariadb-install-db`.
    pub install: PathBuf,
    /// The server: `postgres`, `mariadbd`.
    pub server: PathBuf,
    /// Galera's library; `None` except for a cluster.
    pub galera: Option<PathBuf>,
}

/// Debian packages that contain the programs of a kind of server.
#[must_use]
pub fn packages(kind: Kind) -> &'static str {
    match kind {
        Kind::Postgres => "postgresql",
        Kind::Mariadb => "mariadb-server",
        Kind::Galera => "mariadb-server galera-4 rsync",
    }
}

/// Finds the programs of a server: in the newest of Debian's PostgreSQL folders, in the search path, or in the folders
/// of system programs.
///
/// # Errors
/// [`ServersError::Missing`], which names the packages.
pub fn find(kind: Kind) -> Result<Binaries, ServersError> {
    let missing = |what: &str| ServersError::Missing { kind, missing: what.into(), packages: packages(kind) };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = if kind == Kind::Postgres { versions(Path::new(POSTGRES)) } else { Vec::new() };
    folders.extend(std::env::split_paths(&path));
    folders.extend(SYSTEM.iter().map(PathBuf::from));
    let program = |name: &str| folders.iter().map(|f| f.join(name)).find(|p| p.is_file()).ok_or_else(|| missing(name));
    let (install, server) = match kind {
        Kind::Postgres => ("initdb", "postgres"),
        Kind::Mariadb | Kind::Galera => ("mariadb-install-db", "mariadbd"),
    };
    let galera = match kind {
        Kind::Galera => {
            // rsync copies the data of a node to one that joins.
            program("rsync")?;
            let library = GALERA.iter().map(PathBuf::from).find(|p| p.is_file());
            Some(library.ok_or_else(|| missing("libgalera_smm.so"))?)
        }
        _ => None,
    };
    Ok(Binaries { install: program(install)?, server: program(server)?, galera })
}

/// The folders `FOLDER/*/bin`, highest version first.
fn versions(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    found.sort_by(|a, b| b.cmp(a));
    found.into_iter().map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers() {
        let top = tempfile::tempdir().unwrap();
        for name in ["9", "15", "100", "common"] {
            std::fs::create_dir(top.path().join(name)).unwrap();
        }
        let names = ["100", "15", "9"].map(|n| top.path().join(n).join("bin"));
        assert_eq!(versions(top.path()), names);
        assert!(versions(&top.path().join("absent")).is_empty());
    }

    #[test]
    fn what_is_missing_names_its_packages() {
        let said =
            ServersError::Missing { kind: Kind::Galera, missing: "rsync".into(), packages: packages(Kind::Galera) }
                .to_string();
        assert_eq!(said, "galera is not installed (rsync not found): apt-get install mariadb-server galera-4 rsync");
    }
}
