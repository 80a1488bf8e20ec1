//! Times without progress.

use litelab_protocol::Tick;

/// Longest time in nanoseconds between ticks in which nothing was committed by anybody; none without ticks. It is a lower
/// bound: the commits before and after it may each lie a tick further away.
///
/// Ticks of several processes stand one process after the other.
#[must_use]
pub fn longest(ticks: &[Tick]) -> Option<u64> {
    let end = ticks.iter().map(|tick| tick.t_ms).max()?;
    // When a tick with commits began, which is where its process had ticked before, and when it ended.
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
        // In the middle: from the last tick with a commit to the last without.
        assert_eq!(longest(&[(100, 5), (200, 0), (300, 0), (400, 1), (500, 0), (600, 1)]), Some(200));
        assert_eq!(longest(&[(100, 0), (200, 0), (300, 2)]), Some(200), "at the beginning");
        assert_eq!(longest(&[(100, 2), (200, 0), (300, 0), (400, 0)]), Some(300), "at the end");
        assert_eq!(longest(&[(100, 0), (200, 0)]), Some(200), "always");
    }

    #[test]
    fn another_process_that_commits_is_progress() {
        // Nobody between 105 and 205 ms: what the second committed up to 305 ms may have been just after that.
        let both = [(100, 1), (200, 0), (300, 0), (400, 1), (105, 1), (205, 0), (305, 1), (405, 0)];
        assert_eq!(longest(&ticks(&both)), Some(100_000_000));
    }
}
