//! Why a sample or a parameter could not be judged.

/// What was wrong with the input. Never a panic, and never a silent NaN in a result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StatsError {
    /// No observation at all.
    #[error("no observations: nothing can be estimated")]
    Empty,
    /// An observation is NaN or infinite.
    #[error("observation {index} is {value}: only finite numbers can be judged")]
    NotFinite {
        /// Position in the input, from 0.
        index: usize,
        /// The offending value.
        value: f64,
    },
    /// A ratio was asked for and an observation is zero or negative.
    #[error("observation {index} is {value}: a ratio needs positive numbers")]
    NotPositive {
        /// Position in the input, from 0.
        index: usize,
        /// The offending value.
        value: f64,
    },
    /// The estimator is not defined on so few observations.
    #[error("{have} distinct observations where at least {need} are needed")]
    TooFew {
        /// Observations given (for a curve: distinct abscissae).
        have: usize,
        /// The least that works.
        need: usize,
    },
    /// More observations than the method is meant for.
    ///
    /// The pairwise methods take quadratic time and memory; and thousands of "blocks" are in practice
    /// operations of one trial passed by mistake, which are not independent.
    #[error("{have} observations exceed the limit of {limit}: pass one number per trial, not one per operation")]
    TooMany {
        /// Observations given.
        have: usize,
        /// The most accepted.
        limit: usize,
    },
    /// A parameter lies outside its domain.
    #[error("{what} is {value}, must be {domain}")]
    OutOfDomain {
        /// The parameter's name.
        what: &'static str,
        /// The value given.
        value: f64,
        /// The accepted values, in words.
        domain: &'static str,
    },
    /// The ends of an interval or a range are the wrong way round, or it has no end at all.
    #[error("[{low}, {high}] is not a range")]
    NotARange {
        /// Lower end given (negative infinity: open).
        low: f64,
        /// Upper end given (infinity: open).
        high: f64,
    },
    /// The result does not fit a double, although each observation does.
    #[error("the result overflows: the observations differ by more than a double can hold")]
    Overflow,
    /// An iterative fit did not settle.
    #[error("the fit did not converge: the observations do not resemble the curve")]
    NoConvergence,
}
