//! Folded call stacks, bounded in size.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Maximum number of frames kept per stack; the kernel keeps at most 127.
const DEEPEST: usize = 160;
/// Name of the frame that replaces rarely sampled callees.
pub const REST: &str = "…";
/// Suffix of the names of kernel functions.
const KERNEL: &str = "_[k]";

/// Call stacks of one trial. The first frame of each stack is the name of its thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stacks {
    /// Samples per second of CPU time.
    pub hertz: u32,
    /// Nameless frame that contains all stacks.
    pub root: Frame,
}

/// A function in one calling context.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Number of samples in the function or its callees.
    pub samples: u64,
    /// Number of samples in the function itself.
    pub own: u64,
    /// Callees by name.
    pub calls: BTreeMap<String, Frame>,
}

/// A function over all its calling contexts.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    /// Name of the function, as in a frame.
    pub name: String,
    /// Number of samples in the function itself.
    pub own: u64,
    /// Number of samples in the function or its callees; a recursive call is counted once.
    pub samples: u64,
}

impl Stacks {
    /// Parses lines of `thread;function;function samples`; malformed lines are skipped.
    #[must_use]
    pub fn parse(folded: &str, hertz: u32) -> Self {
        let mut root = Frame::default();
        for line in folded.lines() {
            let Some((stack, count)) = line.rsplit_once(' ') else { continue };
            if let Ok(count @ 1..) = count.parse() {
                root.add(stack, count);
            }
        }
        Self { hertz, root }
    }

    /// Formats the stacks as such lines, one per frame with samples in itself.
    #[must_use]
    pub fn folded(&self) -> String {
        let mut out = String::new();
        self.root.fold(&mut String::new(), &mut out);
        out
    }

    /// Reduces [`Stacks::folded`] to at most `bytes`: replaces the callees with the fewest samples by one [`REST`] per
    /// caller, so that every caller keeps its number of samples.
    #[must_use]
    pub fn bounded(mut self, bytes: usize) -> Self {
        let mut least = 2;
        while self.folded().len() > bytes && least <= self.root.samples.saturating_mul(2) {
            self.root.merge_below(least);
            least = least.saturating_mul(2);
        }
        self
    }

    /// Total number of samples.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.root.samples
    }

    /// CPU time represented by the samples, in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.samples() as f64 / f64::from(self.hertz.max(1))
    }

    /// Functions sorted by samples in themselves, most first; without threads and [`REST`].
    #[must_use]
    pub fn functions(&self) -> Vec<Leaf> {
        let mut all: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for thread in self.root.calls.values() {
            thread.count(&mut Vec::new(), &mut all);
        }
        let leaf = |(name, (own, samples)): (&str, (u64, u64))| Leaf { name: name.to_owned(), own, samples };
        let mut leaves: Vec<Leaf> = all.into_iter().filter(|(name, _)| *name != REST).map(leaf).collect();
        leaves.sort_by_key(|leaf| std::cmp::Reverse(leaf.own));
        leaves
    }
}

/// Name of a frame without its suffix, and whether it is a kernel function.
#[must_use]
pub fn plain(name: &str) -> (&str, bool) {
    name.strip_suffix(KERNEL).map_or((name, false), |name| (name, true))
}

impl Frame {
    fn add(&mut self, stack: &str, count: u64) {
        let mut at = self;
        at.samples = at.samples.saturating_add(count);
        for name in stack.split(';').take(DEEPEST) {
            at = at.calls.entry(name.to_owned()).or_default();
            at.samples = at.samples.saturating_add(count);
        }
        at.own = at.own.saturating_add(count);
    }

    fn fold(&self, stack: &mut String, out: &mut String) {
        if self.own > 0 && !stack.is_empty() {
            // Writing to a String does not fail.
            let _written = writeln!(out, "{stack} {}", self.own);
        }
        let length = stack.len();
        for (name, frame) in &self.calls {
            if length > 0 {
                stack.push(';');
            }
            stack.push_str(name);
            frame.fold(stack, out);
            stack.truncate(length);
        }
    }

    fn merge_below(&mut self, least: u64) {
        let mut rest = 0_u64;
        self.calls.retain(|name, frame| {
            let keep = name != REST && frame.samples >= least;
            if !keep {
                rest = rest.saturating_add(frame.samples);
            }
            keep
        });
        if rest > 0 {
            self.calls.insert(REST.to_owned(), Frame { samples: rest, own: rest, calls: BTreeMap::new() });
        }
        self.calls.values_mut().for_each(|frame| frame.merge_below(least));
    }

    fn count<'a>(&'a self, above: &mut Vec<&'a str>, all: &mut BTreeMap<&'a str, (u64, u64)>) {
        for (name, frame) in &self.calls {
            let (own, samples) = all.entry(name).or_default();
            *own = own.saturating_add(frame.own);
            if !above.contains(&name.as_str()) {
                *samples = samples.saturating_add(frame.samples);
            }
            above.push(name);
            frame.count(above, all);
            above.pop();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]
mod tests {
    use super::*;

    const FOLDED: &str = "main;step;btree 6\nmain;step;btree;step 2\nmain;step;vfs;fcntl_[k] 3\nmain;step 1\npool 4\n";

    #[test]
    fn what_is_read_is_written_again() {
        let stacks = Stacks::parse(FOLDED, 200);
        assert_eq!((stacks.samples(), stacks.seconds()), (16, 0.08));
        assert_eq!(Stacks::parse(&stacks.folded(), 200), stacks);
        let mut lines: Vec<String> = stacks.folded().lines().map(str::to_owned).collect();
        let mut given: Vec<String> = FOLDED.lines().map(str::to_owned).collect();
        lines.sort();
        given.sort();
        assert_eq!(lines, given);
    }

    #[test]
    fn what_is_no_line_is_left_out() {
        assert_eq!(Stacks::parse("a;b\na x\n\na;b -1\na 0\nb 2", 1).folded(), "b 2\n");
        assert_eq!(
            Stacks::parse(&format!("{} 1", vec!["a"; 9999].join(";")), 1).folded().matches('a').count(),
            DEEPEST
        );
        assert_eq!(Stacks::parse("a 18446744073709551615\na 2", 1).samples(), u64::MAX);
    }

    #[test]
    fn functions_stand_by_their_own_samples_and_recursion_counts_once() {
        let functions = Stacks::parse(FOLDED, 200).functions();
        let told: Vec<(&str, u64, u64)> = functions.iter().map(|f| (f.name.as_str(), f.own, f.samples)).collect();
        assert_eq!(told, [("btree", 6, 8), ("fcntl_[k]", 3, 3), ("step", 3, 12), ("vfs", 0, 3)]);
        assert_eq!((plain("fcntl_[k]"), plain("step")), (("fcntl", true), ("step", false)));
    }

    #[test]
    fn a_bound_is_kept_and_no_sample_lost() {
        let line = |i: u32| format!("main;often;f{} {}\nmain;once;g{i} 1\n", i % 3, 100 + i);
        let stacks = Stacks::parse(&(0..500).map(line).collect::<String>(), 99);
        let whole = stacks.folded().len();
        assert_eq!(stacks.clone().bounded(whole), stacks, "nothing is merged that has its place");
        for bytes in [4000, 200, 60, 20] {
            let bounded = stacks.clone().bounded(bytes);
            assert!(bounded.folded().len() <= bytes, "{bytes}: {}", bounded.folded());
            assert_eq!(bounded.samples(), stacks.samples());
            let written: u64 =
                bounded.folded().lines().map(|l| l.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
            assert_eq!(written, stacks.samples());
        }
        let text = stacks.bounded(200).folded();
        assert!(text.contains("main;often;f1 ") && text.contains("main;once;… 500"), "{text}");
    }
}
