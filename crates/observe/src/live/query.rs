//! The question to the kernel which lock stands in the way of another one: `fcntl(F_GETLK)`. It takes no lock, costs
//! about a microsecond, and also tells of locks whose owners `/proc` does not show.

use std::fs::File;
use std::os::fd::AsRawFd as _;

use super::entry::LockEntry;
use crate::lock::{Lock, PENDING, WAL_LOCKS};

/// Owner of a lock, as far as the kernel tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Process(u32),
    /// A process of another PID namespace.
    Hidden,
    /// An open file description, which processes may share.
    Description,
}

/// Locks to ask for in the file with a suffix: first byte and number of bytes.
const SHM: [(u64, u64); 8] = [
    (WAL_LOCKS, 1),
    (WAL_LOCKS + 1, 1),
    (WAL_LOCKS + 2, 1),
    (WAL_LOCKS + 3, 1),
    (WAL_LOCKS + 4, 1),
    (WAL_LOCKS + 5, 1),
    (WAL_LOCKS + 6, 1),
    (WAL_LOCKS + 7, 1),
];
const DATABASE: [(u64, u64); 3] = [(PENDING, 1), (PENDING + 1, 1), (PENDING + 2, 510)];

/// One owner of each lock that is held in the file with a suffix, `-shm` or ``.
pub(crate) fn owners(file: &File, suffix: &str) -> Vec<(Lock, Owner)> {
    let asked = if suffix.is_empty() { &DATABASE[..] } else { &SHM[..] };
    let found = asked.iter().flat_map(|(first, length)| {
        let owned = owner(file, *first, *length);
        let locks = owned.map(|(found, exclusive)| {
            let last = first + length - 1;
            let entry = LockEntry { pid: None, exclusive, waits: false, file: (0, 0, 0), first: *first, last };
            entry.meaning(suffix).into_iter().map(move |lock| (lock, found))
        });
        locks.into_iter().flatten()
    });
    found.collect()
}

/// Owner of one lock, shared or exclusive, on any of `length` bytes from `first` on; `None` without one.
fn owner(file: &File, first: u64, length: u64) -> Option<(Owner, bool)> {
    // An exclusive lock is what every other lock stands in the way of. F_GETLK needs no descriptor for writing.
    // SAFETY: all bytes of the structure are valid as zeros.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = libc::off_t::try_from(first).ok()?;
    lock.l_len = libc::off_t::try_from(length).ok()?;
    // SAFETY: the descriptor is open, and the call writes within `lock`.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLK, &raw mut lock) };
    if done != 0 || lock.l_type == libc::F_UNLCK as libc::c_short {
        return None;
    }
    let owner = match lock.l_pid {
        0 => Owner::Hidden,
        pid => u32::try_from(pid).map_or(Owner::Description, Owner::Process),
    };
    Some((owner, lock.l_type == libc::F_WRLCK as libc::c_short))
}
