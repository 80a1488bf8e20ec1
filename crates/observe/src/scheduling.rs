//! Place of this process in the queue for the processors.

/// Lets this thread wait for its turn, also when it wakes, in place of interrupting the observed processes
/// (`SCHED_BATCH`, <https://man7.org/linux/man-pages/man7/sched.7.html>); so do the threads and processes that it
/// starts afterwards. Changes nothing where another policy than the usual one is set, nor on other systems than Linux.
pub fn wait_for_turn() {
    #[cfg(target_os = "linux")]
    {
        let param = libc::sched_param { sched_priority: 0 };
        // SAFETY: the calls take the calling thread (0), and the second one only reads `param`.
        unsafe {
            if libc::sched_getscheduler(0) == libc::SCHED_OTHER {
                // Where it is refused, watching works as before.
                libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const param);
            }
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::wait_for_turn;

    /// Policy of the calling thread, as the kernel reports it (field 41 of `stat`).
    fn policy() -> String {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let (_, fields) = stat.rsplit_once(") ").unwrap();
        fields.split(' ').nth(41 - 3).unwrap().to_owned()
    }

    #[test]
    fn the_thread_and_those_it_starts_wait_for_their_turn() {
        let thread = std::thread::spawn(|| {
            let before = policy();
            wait_for_turn();
            (before, policy(), std::thread::spawn(policy).join().unwrap())
        });
        let (before, after, started) = thread.join().unwrap();
        let expected = if before == "0" { "3" } else { &before };
        assert_eq!((after.as_str(), started.as_str()), (expected, expected));
    }
}
