//! Lock tokens.

use std::hash::{BuildHasher, RandomState};

/// Makes tokens that say what they lock, so that no table of them is needed, and that no other opening of the same database
/// has made.
#[derive(Debug)]
pub struct Tokens {
    opening: u64,
    lease: u64,
}

/// What a token says: the instance's or the work's number, and which of its leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    /// The instance or the work.
    pub id: i64,
    /// The lease.
    pub lease: u64,
}

impl Tokens {
    pub fn new() -> Self {
        // Seeded by the system, anew for each.
        Self { opening: RandomState::new().hash_one(std::process::id()), lease: 0 }
    }

    /// A lease that no other has the number of.
    pub fn claim(&mut self, id: i64) -> Claim {
        self.lease += 1;
        Claim { id, lease: self.lease }
    }

    /// Its token.
    pub fn token(&self, claim: Claim) -> String {
        format!("{:016x}-{:x}-{:x}", self.opening, claim.id, claim.lease)
    }

    /// What a token of this opening says.
    pub fn read(&self, token: &str) -> Option<Claim> {
        let mut parts = token.split('-');
        let opening = u64::from_str_radix(parts.next()?, 16).ok()?;
        let id = i64::from_str_radix(parts.next()?, 16).ok()?;
        let lease = u64::from_str_radix(parts.next()?, 16).ok()?;
        (opening == self.opening && parts.next().is_none()).then_some(Claim { id, lease })
    }
}

#[cfg(test)]
mod tests {
    use super::Tokens;

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
