//! One watched database: its files, and one reading of them.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use super::entry::LockEntry;
use super::moment::{Hold, Moment};
use super::process::{Identity, Known};
use super::query::{Owner, owners};
use crate::environment::filesystem::{Filesystem, device_of};
use crate::files::{FILES, JOURNAL_MAGIC, open_regular, sidecar};
use crate::lock::Lock;
use crate::{DatabaseHeader, FileSizes, WalHeader, WalIndex};

/// Number of earlier files of a path that are remembered, to find processes that still have them open.
const FORMER: usize = 8;

/// A watched database.
#[derive(Debug)]
pub(super) struct Database {
    named: PathBuf,
    paths: [PathBuf; 4],
    identities: [Option<Identity>; 4],
    born: [Option<SystemTime>; 4],
    former: Vec<(Identity, Option<SystemTime>, &'static str)>,
    sizes: FileSizes,
    /// Device of the superblock, as `/proc/locks` has it.
    device: Option<(u32, u32)>,
    filesystem: Option<String>,
    free_bytes: Option<u64>,
}

impl Database {
    pub(super) fn new(named: PathBuf) -> Self {
        Self {
            paths: FILES.map(|suffix| sidecar(&named, suffix)),
            named,
            identities: [None; 4],
            born: [None; 4],
            former: Vec::new(),
            sizes: FileSizes::default(),
            device: None,
            filesystem: None,
            free_bytes: None,
        }
    }

    /// Path of the database file.
    pub(super) fn path(&self) -> &Path {
        &self.paths[0]
    }

    /// Looks which files exist. True if database, log or wal-index is another file than before. `slow` also resolves
    /// symbolic links and asks for free space.
    pub(super) fn stat(&mut self, slow: bool) -> bool {
        if slow {
            if let Ok(path) = self.named.canonicalize() {
                self.paths = FILES.map(|suffix| sidecar(&path, suffix));
            }
            let folder = self.paths[0].parent().unwrap_or(Path::new("/"));
            self.free_bytes = rustix::fs::statvfs(folder).ok().and_then(|s| s.f_bavail.checked_mul(s.f_frsize));
        }
        let found = self.paths.each_ref().map(std::fs::metadata);
        let is_absent =
            |error: &io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
        if found.iter().any(|found| found.as_ref().is_err_and(|error| !is_absent(error))) {
            // A folder that may not be searched tells nothing of its files.
            return false;
        }
        let found = found.map(Result::ok);
        let [database, wal, shm, journal] = found.each_ref().map(|found| found.as_ref().map(std::fs::Metadata::len));
        self.sizes = FileSizes { database, wal, shm, journal };
        let born = found.each_ref().map(|found| found.as_ref().and_then(|found| found.created().ok()));
        let now = found.map(|found| found.map(|found| (found.dev(), found.ino())));
        // A rollback journal comes and goes with every transaction.
        let changed = now[..3] != self.identities[..3];
        if changed {
            for (((before, born), after), suffix) in self.identities.iter().zip(self.born).zip(now).zip(FILES) {
                if let Some(before) = before.filter(|before| Some(*before) != after) {
                    self.former.push((before, born, suffix));
                }
            }
            self.former.retain(|(former, ..)| !now.contains(&Some(*former)));
            let many = self.former.len().saturating_sub(FORMER);
            self.former.drain(..many);
            let folder = self.paths[0].parent().unwrap_or(Path::new("/"));
            self.device = device_of(&self.paths[0]);
            self.filesystem = Filesystem::of(folder).and_then(|filesystem| filesystem.kind);
        }
        (self.identities, self.born) = (now, born);
        changed
    }

    /// Its files, of now and before.
    pub(super) fn known(&self, database: usize) -> Vec<Known> {
        let now = self.paths.iter().zip(self.identities).zip(FILES);
        let now = now.map(|((path, identity), suffix)| (identity, suffix, Some(path.clone()), None));
        let former = self.former.iter().map(|(identity, born, suffix)| (Some(*identity), *suffix, None, *born));
        now.chain(former)
            .map(|(identity, suffix, path, born)| Known { identity, database, suffix, path, born })
            .collect()
    }

    /// Suffix of the file that an entry of `/proc/locks` is about.
    pub(super) fn part(&self, entry: &LockEntry) -> Option<&'static str> {
        let (major, minor, inode) = entry.file;
        let same = |(device, number): Identity| {
            let stat = (rustix::fs::major(device), rustix::fs::minor(device));
            number == inode && (stat == (major, minor) || self.device == Some((major, minor)))
        };
        self.identities.iter().zip(FILES).find(|(identity, _)| identity.is_some_and(same)).map(|(_, suffix)| suffix)
    }

    /// Opens the files and reads the wal-index, before locks are read.
    pub(super) fn begin(&self) -> Reading {
        let mut denied = false;
        let mut open = |number: usize, size: Option<u64>| {
            size.and_then(|_| match open_regular(&self.paths[number]) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    denied = true;
                    None
                }
                other => other.ok(),
            })
        };
        let database = open(0, self.sizes.database);
        let shm = open(2, self.sizes.shm);
        let mut torn = 0;
        let before = shm.as_ref().and_then(|file| WalIndex::of(file, &mut torn));
        let log = self
            .sizes
            .wal
            .filter(|bytes| *bytes >= WalHeader::BYTES as u64)
            .and_then(|_| WalHeader::parse(&start::<{ WalHeader::BYTES }>(&self.paths[1])?));
        let journal_header = self.sizes.journal.is_some_and(|bytes| bytes > 0)
            && start::<{ JOURNAL_MAGIC.len() }>(&self.paths[3]) == Some(JOURNAL_MAGIC);
        let header = database.as_ref().and_then(|file| {
            let mut bytes = [0; DatabaseHeader::BYTES];
            file.read_exact_at(&mut bytes, 0).ok()?;
            DatabaseHeader::parse(&bytes).ok()
        });
        let moment = Moment {
            at: Instant::now(),
            identity: self.identities[0],
            files: self.sizes,
            header,
            log,
            index: before,
            steady: false,
            torn,
            denied,
            holds: Vec::new(),
            openers: Vec::new(),
            journal_header,
            free_bytes: self.free_bytes,
            filesystem: self.filesystem.clone(),
        };
        Reading { moment, database, shm, asked: None }
    }
}

/// A reading in progress: the wal-index was read, the locks are being collected.
pub(super) struct Reading {
    moment: Moment,
    database: Option<File>,
    shm: Option<File>,
    /// Locks that F_GETLK has found, once it was asked.
    asked: Option<Vec<Lock>>,
}

impl Reading {
    /// Adds the locks of an entry. After [`Reading::owners`] an entry counts only as far as the kernel has just
    /// confirmed that the lock is held.
    pub(super) fn add(&mut self, entry: &LockEntry, suffix: &str, pid: Option<u32>) {
        for lock in entry.meaning(suffix) {
            if !entry.waits && self.asked.as_ref().is_some_and(|asked| !asked.contains(&lock)) {
                continue;
            }
            let hold = Hold { lock, pid, waits: entry.waits, of_description: entry.pid.is_none() };
            self.put(hold);
        }
    }

    fn put(&mut self, hold: Hold) {
        let holds = &mut self.moment.holds;
        let shared = matches!(hold.lock, Lock::Read(_) | Lock::Shared);
        let same = |known: &Hold| known.lock == hold.lock && known.waits == hold.waits;
        if holds.iter().any(|known| same(known) && (known.pid == hold.pid || hold.pid.is_none())) {
            return;
        }
        if !shared && !hold.waits {
            // One process at a time has it; this was read last.
            holds.retain(|known| !same(known));
        } else if hold.of_description {
            holds.retain(|known| !(same(known) && known.pid.is_none() && known.of_description));
        }
        holds.push(hold);
    }

    /// Asks the kernel for an owner of each lock and adds those that were not known. Returns their process ids, and the
    /// suffix of the file.
    pub(super) fn owners(&mut self) -> Vec<(u32, &'static str)> {
        let mut new = Vec::new();
        let mut asked = Vec::new();
        let found = [("-shm", &self.shm), ("", &self.database)]
            .map(|(suffix, file)| (suffix, file.as_ref().map_or_else(Vec::new, |file| owners(file, suffix))));
        let found = found.into_iter().flat_map(|(suffix, found)| found.into_iter().map(move |found| (suffix, found)));
        for (suffix, (lock, found)) in found {
            asked.push(lock);
            let known = |pid: u32| self.moment.holds.iter().any(|hold| hold.lock == lock && hold.pid == Some(pid));
            let described = self.moment.holds.iter().any(|hold| hold.lock == lock && hold.of_description);
            let hold = Hold { lock, pid: None, waits: false, of_description: false };
            match found {
                Owner::Process(pid) if known(pid) || pid == std::process::id() => {}
                Owner::Process(pid) => {
                    new.push((pid, suffix));
                    self.put(Hold { pid: Some(pid), ..hold });
                }
                Owner::Description if described => {}
                Owner::Description => self.put(Hold { of_description: true, ..hold }),
                Owner::Hidden => self.put(hold),
            }
        }
        if self.shm.is_some() || self.database.is_some() {
            self.asked = Some(asked);
        }
        new.sort_unstable();
        new.dedup();
        new
    }

    /// Whether a lock belongs to an open file description of a process that is not known yet.
    pub(super) fn lacks_owner(&self) -> bool {
        self.moment.holds.iter().any(|hold| hold.pid.is_none() && hold.of_description)
    }

    /// Reads the wal-index again.
    pub(super) fn end(self) -> Moment {
        let mut moment = self.moment;
        let before = moment.index;
        if let Some(after) = self.shm.as_ref().and_then(|file| WalIndex::of(file, &mut moment.torn)) {
            moment.index = Some(after);
        }
        moment.steady = before == moment.index;
        moment.holds.sort_unstable();
        moment
    }
}

/// The first bytes of a file; `None` if it cannot be read or is shorter.
fn start<const N: usize>(path: &Path) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    open_regular(path).ok()?.read_exact(&mut bytes).ok()?;
    Some(bytes)
}
