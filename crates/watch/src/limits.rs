//! What cannot be seen here, and what helps.

use std::collections::HashSet;

use litelab_observe::Lock;
use litelab_observe::environment::filesystem::class;
use litelab_observe::live::{Look, Moment};
use litelab_record::recording::Limit;

/// Limits of a look, each once.
pub(crate) fn of(look: &Look) -> Vec<Limit> {
    let mut found = Vec::new();
    if !look.sees_locks {
        let text = "this system has no /proc/locks: backlog and sizes are shown, holders of locks are not";
        found.push(("no-locks", text.to_owned()));
    }
    let unreadable: Vec<u32> = look.processes.iter().filter(|p| !p.readable).map(|process| process.pid).collect();
    if !unreadable.is_empty() {
        let pids = unreadable.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        let text = format!(
            "no permission for /proc/{pids}/fd: its locks come from /proc/locks ten times a second at most, its deleted files \
             and I/O are unknown; run as root or as the same user, or add CAP_SYS_PTRACE"
        );
        found.push(("no-permission", text));
    } else if !look.complete && look.sees_locks {
        let text = "some processes may not be examined: those that hold a lock are shown, idle ones are not; run as root, or \
                    add CAP_SYS_PTRACE";
        found.push(("no-permission", text.to_owned()));
    }
    found.extend(look.databases.iter().flat_map(of_database));
    let mut seen = HashSet::new();
    found.retain(|limit| seen.insert(limit.clone()));
    found.into_iter().map(|(name, text)| Limit { name: name.to_owned(), text }).collect()
}

fn of_database(moment: &Moment) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    let mut add = |name, text: &str| found.push((name, text.to_owned()));
    if moment.denied {
        add(
            "denied",
            "the database or its -shm may not be read: run as its owner or as root, or add CAP_DAC_READ_SEARCH",
        );
    }
    let hidden = |of_description| {
        moment.holds.iter().any(|hold| hold.pid.is_none() && !hold.waits && hold.of_description == of_description)
    };
    if hidden(false) {
        add(
            "other-pid-namespace",
            "a lock belongs to a process of another PID namespace: run outside of the container, or with `--pid=host`",
        );
    }
    if hidden(true) {
        add(
            "open-file-description",
            "a lock belongs to an open file description (OFD) of a process whose descriptors may not be listed: run as root, or \
             add CAP_SYS_PTRACE",
        );
    }
    let wal = moment.header.is_some_and(|header| header.wal);
    let exclusive = moment.holds.iter().any(|hold| hold.lock == Lock::Exclusive && !hold.waits);
    if wal && exclusive {
        add(
            "exclusive-locking-mode",
            "locking_mode = EXCLUSIVE: the wal-index may be in the private memory of its process, so that backlog, readers and \
             commits cannot be seen",
        );
    } else if wal && moment.files.wal > Some(0) && moment.index.is_none() && !moment.denied {
        add(
            "no-wal-index",
            "there is a log and no readable wal-index: no process has the database open, or it keeps the index in private memory",
        );
    }
    if let Some(kind) = &moment.filesystem
        && ["network", "shared", "fuse"].contains(&class(kind))
    {
        found.push((
            "network-file-system",
            format!("{kind}: locks and processes of other machines cannot be seen, and WAL mode is not safe there"),
        ));
    }
    found
}
