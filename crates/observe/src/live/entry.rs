//! Lines of `/proc/locks` and of `/proc/PID/fdinfo/FD`
//! (<https://docs.kernel.org/filesystems/proc.html#proc-locks>, `fs/locks.c` of Linux).

use crate::lock::{Lock, database_locks, wal_locks};

/// A lock on a range of bytes of a file, held or waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockEntry {
    /// Process that took the lock; `None` for a lock of an open file description, which belongs to no process.
    pub pid: Option<u32>,
    /// Whether the lock excludes all others.
    pub exclusive: bool,
    /// Whether its owner waits for it.
    pub waits: bool,
    /// Major and minor number of the device of the file's superblock, and inode. The device is that of
    /// `/proc/self/mountinfo`; on btrfs and overlayfs stat(2) returns another one.
    pub file: (u32, u32, u64),
    /// First byte.
    pub first: u64,
    /// Last byte.
    pub last: u64,
}

impl LockEntry {
    /// Parses a line such as `1: -> POSIX  ADVISORY  WRITE 812 08:02:1234 120 120`. `None` for locks of other kinds
    /// (flock, leases) and for anything else.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        words.next()?.strip_suffix(':')?;
        let mut kind = words.next()?;
        let waits = kind == "->";
        if waits {
            kind = words.next()?;
        }
        if !matches!(kind, "POSIX" | "OFDLCK") {
            return None;
        }
        words.next()?;
        let exclusive = match words.next()? {
            "WRITE" => true,
            "READ" => false,
            _ => return None,
        };
        // -1 for an open file description, 0 for a process of another PID namespace.
        let pid = words.next()?.parse::<i64>().ok()?;
        let mut file = words.next()?.split(':');
        let major = u32::from_str_radix(file.next()?, 16).ok()?;
        let minor = u32::from_str_radix(file.next()?, 16).ok()?;
        let inode = file.next()?.parse().ok()?;
        let first = words.next()?.parse().ok()?;
        let last = match words.next()? {
            "EOF" => u64::MAX,
            last => last.parse().ok()?,
        };
        let pid = u32::try_from(pid).ok().filter(|pid| *pid > 0);
        Some(Self { pid, exclusive, waits, file: (major, minor, inode), first, last })
    }

    /// All entries of `/proc/locks`.
    pub fn table(text: &str) -> impl Iterator<Item = Self> {
        text.lines().filter_map(Self::parse)
    }

    /// All entries of a file `/proc/PID/fdinfo/FD`.
    pub fn of_descriptor(text: &str) -> impl Iterator<Item = Self> {
        text.lines().filter_map(|line| Self::parse(line.strip_prefix("lock:")?))
    }

    /// SQLite's locks in this range of the file with that suffix. An exclusive lock on a read mark is no reader: its
    /// owner is about to change the mark, or to restart the log.
    #[must_use]
    pub fn meaning(&self, suffix: &str) -> Vec<Lock> {
        let mut locks = match suffix {
            "" => database_locks(self.first, self.last, self.exclusive),
            "-shm" => wal_locks(self.first, self.last),
            _ => Vec::new(),
        };
        locks.retain(|lock| matches!(lock, Lock::Read(_) | Lock::Shared) != self.exclusive);
        locks
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;
    use crate::testkit::changed_text;

    const FDINFO: &str = "pos:\t0\nflags:\t02\nlock:\t1: POSIX  ADVISORY  READ  812 08:02:99 123 123\n\
                          lock:\t2: OFDLCK ADVISORY  WRITE -1 08:02:99 120 EOF\n\
                          lock:\t3: POSIX  ADVISORY  WRITE 812 08:02:98 1073741824 1073742335\n";

    #[test]
    fn lines_of_linux() {
        let text = "1: POSIX  ADVISORY  WRITE 8027 fe:00:10052082 120 121\n\
                    2:     -> POSIX  ADVISORY  WRITE 812 fe:00:10052082 120 120\n\
                    3: OFDLCK ADVISORY  READ -1 00:2a:7 123 EOF\n\
                    4: FLOCK  ADVISORY  WRITE 499 fe:00:5447682 0 EOF\n\
                    5: POSIX  ADVISORY  READ 0 fe:00:9 1073741826 1073742335\n\
                    6: POSIX  ADVISORY  READ 5 <none>:0 0 EOF\n";
        let found: Vec<LockEntry> = LockEntry::table(text).collect();
        let [held, waiting, of_description, foreign] = found[..] else { panic!("{found:?}") };
        assert_eq!((held.pid, held.exclusive, held.waits, held.file), (Some(8027), true, false, (254, 0, 10_052_082)));
        assert_eq!(held.meaning("-shm"), [Lock::Write, Lock::Checkpoint]);
        assert_eq!(held.meaning("-wal"), []);
        assert!(waiting.waits && waiting.pid == Some(812));
        assert_eq!((of_description.pid, of_description.last, of_description.file.1), (None, u64::MAX, 42));
        assert_eq!(of_description.meaning("-shm"), (0..5).map(Lock::Read).collect::<Vec<_>>());
        assert_eq!((foreign.pid, foreign.meaning("")), (None, vec![Lock::Shared]));
    }

    #[test]
    fn lines_of_a_descriptor() {
        let found: Vec<LockEntry> = LockEntry::of_descriptor(FDINFO).collect();
        let [mark, of_description, whole] = found[..] else { panic!("{found:?}") };
        assert_eq!(mark.meaning("-shm"), [Lock::Read(0)]);
        assert_eq!(of_description.meaning("-shm"), [Lock::Write, Lock::Checkpoint, Lock::Recover]);
        assert_eq!(whole.meaning(""), [Lock::Exclusive, Lock::Reserved, Lock::Pending]);
        let others = "lock:\t1: FLOCK  ADVISORY  WRITE 812 08:02:98 0 EOF\nlock: garbage\n";
        assert_eq!(LockEntry::of_descriptor(others).count(), 0);
    }

    #[test]
    fn the_mark_of_a_slot_being_changed_is_no_reader() {
        let entry = LockEntry::parse("1: POSIX  ADVISORY  WRITE 8 fe:00:1 124 127").unwrap();
        assert_eq!(entry.meaning("-shm"), []);
    }

    /// Any text, and text of the words of the format in any order.
    fn hostile() -> impl Strategy<Value = String> {
        let word = prop_oneof![
            "[0-9]{1,25}:?",
            "[0-9a-f]{0,9}:[0-9a-f]{0,9}:[0-9]{0,25}",
            Just("->".to_owned()),
            Just("POSIX".to_owned()),
            Just("OFDLCK".to_owned()),
            Just("ADVISORY".to_owned()),
            Just("WRITE".to_owned()),
            Just("READ".to_owned()),
            Just("EOF".to_owned()),
            Just("lock:".to_owned()),
            Just("-1".to_owned()),
            "\\PC{0,12}",
        ];
        proptest::collection::vec(word, 0..14).prop_map(|words| words.join(" "))
    }

    proptest! {
        #![proptest_config(crate::testkit::cases())]
        #[test]
        fn hostile_lines_never_panic(text in hostile()) {
            for entry in LockEntry::table(&text).chain(LockEntry::of_descriptor(&text)) {
                for suffix in ["", "-wal", "-shm", "-journal"] {
                    prop_assert!(entry.meaning(suffix).len() <= 8);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn changed_texts_of_proc_never_panic(
            edits in proptest::collection::vec((any::<Index>(), prop_oneof![any::<char>(), prop::char::range('\t', '9')]), 0..6),
            cut in any::<Index>(),
        ) {
            for entry in LockEntry::of_descriptor(&changed_text(FDINFO, &edits, cut)) {
                for suffix in ["", "-wal", "-shm", "-journal"] {
                    let found = entry.meaning(suffix);
                    prop_assert!(found.iter().all(|lock| !matches!(lock, Lock::Read(slot) if *slot > 4)), "{found:?}");
                }
            }
        }
    }
}
