//! Lock tokens.

use std::hash::{BuildHasher, RandomState};

/// Creates tokens that encode the locked object, so that no table of tokens is needed. Tokens of another opening of the
/// database are invalid.
#[derive(Debug)]
pub struct Tokens {
    opening: u64,
    lease: u64,
}

/// Decoded token: the number of an instance or activity, and the number of its lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    /// Number of the instance or activity.
    pub id: i64,
    /// Number of the lease.
    pub lease: u64,
}

impl Tokens {
    pub fn new() -> Self {
        // Each `RandomState` has a new seed from the operating system.
        Self { opening: RandomState::new().hash_one(std::process::id()), lease: 0 }
    }

    /// Assigns a unique lease number.
    pub fn claim(&mut self, id: i64) -> Claim {
        self.lease += 1;
        Claim { id, lease: self.lease }
    }

    /// Encodes a claim as a token.
    pub fn token(&self, claim: Claim) -> String {
        format!("{:016x}-{:x}-{:x}", self.opening, claim.id, claim.lease)
    }

    /// Decodes a token of this opening. Only the exact form written by [`Tokens::token`] is accepted.
    pub fn read(&self, token: &str) -> Option<Claim> {
        let mut parts = token.split('-').skip(1);
        let id = i64::from_str_radix(parts.next()?, 16).ok()?;
        let lease = u64::from_str_radix(parts.next()?, 16).ok()?;
        let claim = Claim { id, lease };
        (self.token(claim) == token).then_some(claim)
    }
}

#[cfg(test)]
mod tests {
    use super::Tokens;

    /// An opening whose number starts with a zero: a numeric parser would also accept its tokens without that zero.
    #[test]
    fn a_token_is_written_in_one_way_only() {
        let mut one = Tokens { opening: 0x0f80_f48b_f88d_3c11, lease: 0 };
        let claim = one.claim(77);
        let token = one.token(claim);
        assert_eq!(token, "0f80f48bf88d3c11-4d-1");
        assert_eq!(one.read(&token), Some(claim));
        for wrong in [
            &token[1..],
            "+f80f48bf88d3c11-4d-1",
            "0F80F48BF88D3C11-4D-1",
            "0f80f48bf88d3c11-04d-1",
            "0f80f48bf88d3c11-+4d-1",
        ] {
            assert_eq!(one.read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_token_is_understood_by_the_opening_that_made_it_alone() {
        let mut one = Tokens::new();
        let claim = one.claim(77);
        let token = one.token(claim);
        assert_eq!(one.read(&token), Some(claim));
        assert_ne!(one.claim(77), claim);
        assert_eq!(Tokens::new().read(&token), None);
        for wrong in ["", "no-token", "invalid-token-x", &token[1..], &format!("{token}-1")] {
            assert_eq!(one.read(wrong), None, "{wrong}");
        }
    }
}
