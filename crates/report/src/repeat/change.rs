//! What became of a verdict.

use litelab_stats::{ClaimVerdict, Verdict};

/// Of a comparison or of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// An arm against its baseline.
    Comparison(Verdict),
    /// A claim.
    Claim(ClaimVerdict),
}

/// The most telling first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// Into its opposite: faster and slower, holds and contradicted.
    Reversed,
    /// Decided before, inconclusive now.
    Lost,
    /// Decided both times and not alike, yet no opposites: faster or slower the one time, equivalent the other.
    Moved,
    /// Inconclusive before, decided now.
    Gained,
    /// The same; inconclusive both times too.
    Unchanged,
}

/// What a judgement says, whatever it is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sense {
    For,
    Against,
    Neither,
    Open,
}

impl Change {
    /// All of them, the most telling first.
    pub const ALL: [Self; 5] = [Self::Reversed, Self::Lost, Self::Moved, Self::Gained, Self::Unchanged];

    /// From one verdict to the next.
    #[must_use]
    pub fn of(before: Judgement, after: Judgement) -> Self {
        match (before.sense(), after.sense()) {
            (a, b) if a == b => Self::Unchanged,
            (Sense::For, Sense::Against) | (Sense::Against, Sense::For) => Self::Reversed,
            (Sense::Open, _) => Self::Gained,
            (_, Sense::Open) => Self::Lost,
            _ => Self::Moved,
        }
    }

    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Reversed => "REVERSED",
            Self::Lost => "no longer decided",
            Self::Moved => "decided otherwise",
            Self::Gained => "newly decided",
            Self::Unchanged => "unchanged",
        }
    }
}

impl Judgement {
    fn sense(self) -> Sense {
        match self {
            Self::Comparison(Verdict::Faster) | Self::Claim(ClaimVerdict::Holds) => Sense::For,
            Self::Comparison(Verdict::Slower) | Self::Claim(ClaimVerdict::Contradicted) => Sense::Against,
            Self::Comparison(Verdict::Equivalent) => Sense::Neither,
            Self::Comparison(Verdict::Inconclusive { .. }) | Self::Claim(ClaimVerdict::Inconclusive { .. }) => {
                Sense::Open
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_verdicts_has_its_kind() {
        let open = Verdict::Inconclusive { blocks_needed: Some(3) };
        let all = [Verdict::Faster, Verdict::Slower, Verdict::Equivalent, open];
        let kinds =
            all.map(|before| all.map(|after| Change::of(Judgement::Comparison(before), Judgement::Comparison(after))));
        use Change::{Gained, Lost, Moved, Reversed, Unchanged};
        assert_eq!(
            kinds,
            [
                [Unchanged, Reversed, Moved, Lost],
                [Reversed, Unchanged, Moved, Lost],
                [Moved, Moved, Unchanged, Lost],
                [Gained, Gained, Gained, Unchanged],
            ]
        );
        // How many blocks are still needed is no change.
        let other = Judgement::Comparison(Verdict::Inconclusive { blocks_needed: None });
        assert_eq!(Change::of(Judgement::Comparison(open), other), Unchanged);
        let claim = |before, after| Change::of(Judgement::Claim(before), Judgement::Claim(after));
        let open = ClaimVerdict::Inconclusive { blocks_needed: None };
        assert_eq!(claim(ClaimVerdict::Holds, ClaimVerdict::Contradicted), Reversed);
        assert_eq!(claim(ClaimVerdict::Contradicted, ClaimVerdict::Holds), Reversed);
        assert_eq!(claim(ClaimVerdict::Holds, open), Lost);
        assert_eq!(claim(open, ClaimVerdict::Holds), Gained);
    }
}
