//! The folder of a server, and the programs that run in it.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::account::Account;
use super::binaries::{self, Binaries};
use super::process::Process;
use super::state::State;
use crate::error::one_line;
use crate::{Kind, ServersError};

/// Waits for a line and then executes the program; exits if the pipe is closed without a line. Before the line is sent,
/// the guard receives the process number, so that no server ever runs without a guard.
const GATE: &str = "read -r go && exec \"$@\" </dev/null";

/// Folder, account and programs of a server.
#[derive(Debug)]
pub(super) struct InstanceFiles {
    pub kind: Kind,
    pub folder: PathBuf,
    pub binaries: Binaries,
    pub account: Option<Account>,
    /// Password of the user `litelab`.
    pub password: String,
}

impl InstanceFiles {
    /// Creates the folder, which must be empty or absent.
    pub fn make(kind: Kind, folder: &Path) -> Result<Self, ServersError> {
        let binaries = binaries::find(kind)?;
        let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.into());
        if kind != Kind::Postgres && !whole.to_str().is_some_and(plain) {
            let why =
                "MariaDB's own scripts understand no blanks, quotes or signs in a path: choose another with --dir";
            return Err(ServersError::Folder { path: whole, why: why.into() });
        }
        let account = Account::for_kind(kind)?;
        let failed = |what| ServersError::io(what, folder);
        if std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
            let why = "it is not empty; a server is only made in a folder of its own: choose another with --dir";
            return Err(ServersError::Folder { path: folder.into(), why: why.into() });
        }
        std::fs::DirBuilder::new().recursive(true).mode(0o755).create(folder).map_err(failed("make the folder"))?;
        let folder = folder.canonicalize().map_err(failed("enter the folder"))?;
        let place = Self { kind, folder, binaries, account, password: password()? };
        // If the server's user cannot enter the folder, it is removed again; the folders above are unchanged.
        if let Some(account) = &place.account
            && let Err(e) = std::fs::set_permissions(&place.folder, PermissionsExt::from_mode(0o755))
                .map_err(failed("open the folder"))
                .and_then(|()| account.can_reach(&place.folder))
        {
            let _left = std::fs::remove_dir(&place.folder);
            return Err(e);
        }
        Ok(place)
    }

    /// Folder of a node.
    pub fn node(&self, node: usize) -> PathBuf {
        self.folder.join(format!("node-{node}"))
    }

    /// Data directory of a node.
    pub fn data(&self, node: usize) -> PathBuf {
        self.node(node).join("data")
    }

    /// Log file of a node.
    pub fn log(&self, node: usize) -> PathBuf {
        self.node(node).join("log")
    }

    /// Creates a folder that belongs to the server's user and is closed to others.
    pub fn own_folder(&self, path: &Path) -> Result<(), ServersError> {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.map_err(ServersError::io("make the folder", path))?;
        self.account.as_ref().map_or(Ok(()), |a| a.own(path))
    }

    /// Writes a file that belongs to the server's user and is closed to others.
    pub fn own_file(&self, path: &Path, text: &str) -> Result<(), ServersError> {
        write_closed(path, text)?;
        self.account.as_ref().map_or(Ok(()), |a| a.own(path))
    }

    /// A command that runs as the server's user in the folder, without the environment of this program (PGDATA,
    /// MYSQL_HOME).
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            .env("LC_ALL", "C")
            .env("HOME", &self.folder)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .process_group(0);
        if let Some(account) = &self.account {
            account.apply(&mut command);
        }
        command
    }

    /// Path of a temporary file that only the installing program may read.
    pub fn secret(&self) -> PathBuf {
        self.node(0).join("secret")
    }

    /// Starts a program behind the gate, which opens when a line is written to its standard input.
    pub fn launch(
        &self,
        program: &Path,
        arguments: &[String],
        stdout: Stdio,
        stderr: Stdio,
    ) -> Result<(Child, Process), ServersError> {
        let mut child = self
            .command(Path::new("/bin/sh"))
            .args(["-c", GATE, "litelab-gate"])
            .arg(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(stdout)
            .stderr(stderr)
            .spawn()
            .map_err(ServersError::io("start", program))?;
        let Some(process) = Process::of(child.id()) else {
            let _gone = child.kill().and_then(|()| child.wait());
            return Err(ServersError::Failed("a server is told by /proc, which is absent here".into()));
        };
        Ok((child, process))
    }

    /// Opens a node's log for writing.
    pub fn open_log(&self, node: usize) -> Result<File, ServersError> {
        let path = self.log(node);
        File::options().create(true).append(true).open(&path).map_err(ServersError::io("open", &path))
    }

    /// Output of a node after the first `from` bytes of its log.
    pub fn said(&self, node: usize, from: u64) -> String {
        let bytes = std::fs::read(self.log(node)).unwrap_or_default();
        String::from_utf8_lossy(bytes.get(from as usize..).unwrap_or_default()).into_owned()
    }
}

/// Writes a file that is closed to other users.
pub(super) fn write_closed(path: &Path, text: &str) -> Result<(), ServersError> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
    let written = file.and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
    written.map_err(ServersError::io("write", path))
}

/// Whether a path is safe in a shell script that quotes nothing.
fn plain(path: &str) -> bool {
    path.chars().all(|c| c.is_alphanumeric() || "/._-+=,@:%".contains(c))
}

/// Number of the System V segment that a killed server leaves behind, and by which PostgreSQL would assume that it
/// still runs (line 7 of `postmaster.pid`). `None` if the server ended normally.
fn segment(folder: &Path) -> Option<String> {
    let file = std::fs::read_to_string(folder.join("node-0/data/postmaster.pid")).ok()?;
    let number = file.lines().nth(6)?.split_whitespace().nth(1)?;
    number.bytes().all(|b| b.is_ascii_digit()).then(|| number.to_owned())
}

/// Removes the folder of a server whose processes are gone. Children of a killed server may still write files and delay
/// the removal.
pub(super) fn remove(folder: &Path, state: &State) -> Result<(), ServersError> {
    // A symbolic link would be removed in place of the folder it leads to.
    let folder = &folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let same_boot = state.nodes.iter().filter_map(|n| n.process.as_ref()).any(Process::is_of_this_boot);
    if let Some(segment) = segment(folder).filter(|_| same_boot && state.kind == Kind::Postgres) {
        // The segment has 56 bytes; without ipcrm it stays until the next boot.
        let _left = Command::new("ipcrm").args(["-m", &segment]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
    let mut left = Ok(());
    for _ in 0..20 {
        left = std::fs::remove_dir_all(folder);
        match &left {
            Ok(()) => return Ok(()),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
    left.map_err(ServersError::io("remove the folder", folder))
}

/// The line of an output that states the reason: the last line with an error, else the last line. Lines that end in
/// `Aborting` are ignored.
pub(super) fn telling(said: &str) -> String {
    let lines = || said.lines().rev().map(str::trim).filter(|l| !l.is_empty() && !l.ends_with("Aborting"));
    let error = lines().find(|l| ["ERROR", "FATAL", "error:"].iter().any(|word| l.contains(word)));
    one_line(error.or_else(|| lines().next()).unwrap_or("it said nothing"))
}

/// Sixteen random bytes in hexadecimal.
fn password() -> Result<String, ServersError> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")
        .and_then(|mut random| std::io::Read::read_exact(&mut random, &mut bytes))
        .map_err(|e| ServersError::Failed(format!("no random password: {e}")))?;
    Ok(litelab_protocol::draw::hex(&bytes))
}

/// Claims a folder by creating a file in it, which only one program can do.
pub(super) fn claim(place: &InstanceFiles) -> Result<(), ServersError> {
    let ignore = place.folder.join(".gitignore");
    match File::options().write(true).create_new(true).open(&ignore) {
        // Ignores the whole folder, including this file.
        Ok(mut file) => std::io::Write::write_all(&mut file, b"*\n").map_err(ServersError::io("write", &ignore)),
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
            let why = "another litelab is starting a server there";
            Err(ServersError::Folder { path: place.folder.clone(), why: why.into() })
        }
        Err(source) => Err(ServersError::io("write", &ignore)(source)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_telling_line_is_the_last_error() {
        let log = "LOG: a\nFATAL:  could not create lock\nHINT: look\n\n";
        assert_eq!(telling(log), "FATAL: could not create lock");
        assert_eq!(telling("[ERROR] no disk\n[Note] x\n[ERROR] Aborting\n"), "[ERROR] no disk");
        assert_eq!(telling("a\nb\n \n"), "b");
        assert_eq!(telling(""), "it said nothing");
    }

    #[test]
    fn paths_are_plain_or_not() {
        assert!(plain("/home/änne/.scratch-12-x_y/node-0"));
        for path in ["/a b", "/a#", "/it's", "/$HOME", "/a;b", "/a*"] {
            assert!(!plain(path), "{path}");
        }
    }

    #[test]
    fn passwords_differ() {
        let (a, b) = (password().unwrap(), password().unwrap());
        assert!(a != b && a.len() == 32 && a.bytes().all(|c| c.is_ascii_hexdigit()));
    }
}
