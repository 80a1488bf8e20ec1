//! Errors of samples and parameters.

/// The error of an input, reported in place of a panic or a NaN.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum StatsError {
    #[error("no observations: nothing can be estimated")]
    Empty,
    #[error("observation {index} is {value}: only finite numbers can be judged")]
    NotFinite {
        /// Position in the input, from 0.
        index: usize,
        value: f64,
    },
    #[error("observation {index} is {value}: a ratio needs positive numbers")]
    NotPositive {
        /// Position in the input, from 0.
        index: usize,
        value: f64,
    },
    #[error("{have} distinct observations where at least {need} are needed")]
    TooFew {
        /// Number of observations (for a curve: of distinct abscissae).
        have: usize,
        need: usize,
    },
    /// The sample exceeds the limit of the method.
    ///
    /// Pairwise methods take quadratic time and memory. Besides, thousands of "rounds" are usually the operations of
    /// one trial passed by mistake, which are not independent.
    #[error("{have} observations exceed the limit of {limit}: pass one number per trial, not one per operation")]
    TooMany { have: usize, limit: usize },
    #[error("{what} is {value}, must be {domain}")]
    OutOfDomain { what: &'static str, value: f64, domain: &'static str },
    #[error("[{low}, {high}] is not a range")]
    NotARange { low: f64, high: f64 },
    /// The result exceeds a double, although each observation does not.
    #[error("the result overflows: the observations differ by more than a double can hold")]
    Overflow,
    #[error("the fit did not converge: the observations do not resemble the curve")]
    NoConvergence,
}
