//! Longest time without progress.

use litelab_protocol::Tick;

/// Longest time in nanoseconds between ticks without a commit of any process; `None` without ticks. It is a lower
/// bound: the commits before and after it may each be up to one tick further away.
///
/// `ticks` holds the ticks of several processes one process after the other.
#[must_use]
pub fn longest(ticks: &[Tick]) -> Option<u64> {
    let end = ticks.iter().map(|tick| tick.t_ms).max()?;
    // End and begin of each tick with commits; a tick begins at the previous tick of its process.
    let mut progress = Vec::new();
    let mut before = 0;
    for tick in ticks {
        let begun = if tick.t_ms < before { 0 } else { before };
        if tick.counts.iter().any(|count| count.committed > 0) {
            progress.push((tick.t_ms, begun));
        }
        before = tick.t_ms;
    }
    progress.sort_unstable();
    let (mut longest, mut last) = (0, 0);
    for (ended, begun) in progress {
        longest = longest.max(begun.saturating_sub(last));
        last = ended;
    }
    Some(longest.max(end - last).saturating_mul(1_000_000))
}

#[cfg(test)]
mod tests {
    use litelab_protocol::TickCount;

    use super::*;

    fn ticks(list: &[(u64, u64)]) -> Vec<Tick> {
        let count = |committed| TickCount { committed, ..TickCount::default() };
        list.iter().map(|(t_ms, n)| Tick { t_ms: *t_ms, counts: vec![count(*n)], lag_ns: None }).collect()
    }

    #[test]
    fn the_longest_time_without_a_commit_is_found_wherever_it_lies() {
        let longest = |list: &[(u64, u64)]| longest(&ticks(list)).map(|ns| ns / 1_000_000);
        assert_eq!(longest(&[]), None);
        assert_eq!(longest(&[(100, 5), (200, 1), (300, 9)]), Some(0));
        // In the middle: from the last tick with a commit to the last one without.
        assert_eq!(longest(&[(100, 5), (200, 0), (300, 0), (400, 1), (500, 0), (600, 1)]), Some(200));
        assert_eq!(longest(&[(100, 0), (200, 0), (300, 2)]), Some(200), "at the beginning");
        assert_eq!(longest(&[(100, 2), (200, 0), (300, 0), (400, 0)]), Some(300), "at the end");
        assert_eq!(longest(&[(100, 0), (200, 0)]), Some(200), "always");
    }

    #[test]
    fn another_process_that_commits_is_progress() {
        // No commit between 105 and 205 ms: the second process may have committed just after 205 ms.
        let both = [(100, 1), (200, 0), (300, 0), (400, 1), (105, 1), (205, 0), (305, 1), (405, 0)];
        assert_eq!(longest(&ticks(&both)), Some(100_000_000));
    }
}
