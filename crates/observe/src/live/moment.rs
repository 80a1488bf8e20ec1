//! What is seen of a database and of the processes that have it open, at one moment.

use std::path::PathBuf;
use std::time::Instant;

use crate::{DatabaseHeader, FileSizes, Lock, ProcessUsage, WalHeader, WalIndex};

use super::program::Program;

/// One look at all watched databases.
#[derive(Debug, Clone)]
pub struct Look {
    /// The databases, in the order in which they were named.
    pub databases: Vec<Moment>,
    /// The processes that have any of them open or hold a lock on them, by id.
    pub processes: Vec<Seen>,
    /// Whether the last search for processes could examine each process of this system.
    pub complete: bool,
    /// Whether locks of this system can be seen: false without `/proc`, as on another system than Linux.
    pub sees_locks: bool,
}

/// State of one database.
#[derive(Debug, Clone)]
pub struct Moment {
    /// Time at which the locks were read.
    pub at: Instant,
    /// Device and inode of the database file; `None` if no file has this path.
    pub identity: Option<(u64, u64)>,
    /// Sizes of the files.
    pub files: FileSizes,
    /// Header of the database file.
    pub header: Option<DatabaseHeader>,
    /// Header of the log.
    pub log: Option<WalHeader>,
    /// The wal-index.
    pub index: Option<WalIndex>,
    /// Whether the wal-index had the same content before and after the locks were read.
    pub steady: bool,
    /// Number of reads of the wal-index during a write, which were repeated.
    pub torn: u32,
    /// Whether the database or its wal-index may not be read by this user.
    pub denied: bool,
    /// Locks held and waited for.
    pub holds: Vec<Hold>,
    /// The processes that have a file of it open.
    pub openers: Vec<Opener>,
    /// Whether the rollback journal has a header, and so would be rolled back by the next connection if no process
    /// holds the reserved lock.
    pub journal_header: bool,
    /// Free space of the file system for this user, in bytes.
    pub free_bytes: Option<u64>,
    /// Kernel name of the type of the file system.
    pub filesystem: Option<String>,
}

/// A lock that a process holds or waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hold {
    /// The lock.
    pub lock: Lock,
    /// Its owner; `None` if the kernel does not show it: a process of another PID namespace, or an open file description
    /// of a process whose descriptors may not be listed.
    pub pid: Option<u32>,
    /// Whether the owner waits for the lock.
    pub waits: bool,
    /// Whether the lock belongs to an open file description.
    pub of_description: bool,
}

/// A process with files of a database open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opener {
    /// Process id.
    pub pid: u32,
    /// Number of descriptors of the database file, about one for each connection.
    pub descriptors: usize,
    /// Suffixes of open files that have no name any more.
    pub deleted: Vec<String>,
    /// Path of an open database file that was moved away from its path, if it still has a name.
    pub moved: Option<PathBuf>,
}

/// A process that has a watched database open or holds a lock on it.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Process id, as seen from here.
    pub pid: u32,
    /// Start in clock ticks after boot.
    pub started: Option<u64>,
    /// Its program.
    pub program: Program,
    /// Whether its descriptors may be listed; if not, its locks are known from `/proc/locks` alone.
    pub readable: bool,
    /// Resource usage and the time of its reading, about once a second.
    pub usage: Option<(Instant, ProcessUsage)>,
}
