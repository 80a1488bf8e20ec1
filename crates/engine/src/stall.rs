//! Times without progress.

use litelab_protocol::Tick;

/// Longest time in nanoseconds between ticks in which nothing was committed by anybody; none without ticks. It is a lower
/// bound: the commits before and after it may each lie a tick further away.
///
/// Ticks of several processes may stand in any order.
#[must_use]
pub fn longest(ticks: &[Tick]) -> Option<u64> {
    let mut by_time: Vec<(u64, bool)> =
        ticks.iter().map(|tick| (tick.t_ms, tick.counts.iter().any(|count| count.committed > 0))).collect();
    by_time.sort_unstable();
    let end = by_time.last()?.0;
    let (mut longest, mut progress, mut before) = (0_u64, 0_u64, 0_u64);
    for (at, committed) in by_time {
        if committed {
            longest = longest.max(before.saturating_sub(progress));
            progress = at;
        }
        before = at;
    }
    Some(longest.max(end - progress).saturating_mul(1_000_000))
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
        // In the middle: from the last tick with a commit to the last without.
        assert_eq!(longest(&[(100, 5), (200, 0), (300, 0), (400, 1), (500, 0), (600, 1)]), Some(200));
        assert_eq!(longest(&[(100, 0), (200, 0), (300, 2)]), Some(200), "at the beginning");
        assert_eq!(longest(&[(100, 2), (200, 0), (300, 0), (400, 0)]), Some(300), "at the end");
        assert_eq!(longest(&[(100, 0), (200, 0)]), Some(200), "always");
    }

    #[test]
    fn another_process_that_commits_is_progress() {
        // One after the other, as the ticks of several processes come.
        let both = [(100, 1), (200, 0), (300, 0), (400, 1), (105, 1), (205, 0), (305, 1), (405, 0)];
        assert_eq!(longest(&ticks(&both)), Some(100_000_000 - 5_000_000));
    }
}
