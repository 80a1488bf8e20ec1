//! Errors of samples and parameters.

/// The error of an input, reported in place of a panic or a NaN.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StatsError {
    /// The sample has no observation.
    #[error("no observations: nothing can be estimated")]
    Empty,
    /// An observation is NaN or infinite.
    #[error("observation {index} is {value}: only finite numbers can be judged")]
    NotFinite {
        /// Position in the input, from 0.
        index: usize,
        /// The invalid value.
        value: f64,
    },
    /// An observation is zero or negative, and a ratio needs positive numbers.
    #[error("observation {index} is {value}: a ratio needs positive numbers")]
    NotPositive {
        /// Position in the input, from 0.
        index: usize,
        /// The invalid value.
        value: f64,
    },
    /// The estimator is not defined for so few observations.
    #[error("{have} distinct observations where at least {need} are needed")]
    TooFew {
        /// Number of observations (for a curve: of distinct abscissae).
        have: usize,
        /// Minimum number.
        need: usize,
    },
    /// The sample exceeds the limit of the method.
    ///
    /// Pairwise methods take quadratic time and memory. Besides, thousands of "rounds" are usually the operations of
    /// one trial passed by mistake, which are not independent.
    #[error("{have} observations exceed the limit of {limit}: pass one number per trial, not one per operation")]
    TooMany {
        /// Number of observations.
        have: usize,
        /// Maximum number.
        limit: usize,
    },
    /// A parameter is outside its domain.
    #[error("{what} is {value}, must be {domain}")]
    OutOfDomain {
        /// Name of the parameter.
        what: &'static str,
        /// The invalid value.
        value: f64,
        /// Description of the valid values.
        domain: &'static str,
    },
    /// The ends of an interval or range are in the wrong order, or both are open.
    #[error("[{low}, {high}] is not a range")]
    NotARange {
        /// Lower end (negative infinity: open).
        low: f64,
        /// Upper end (infinity: open).
        high: f64,
    },
    /// The result exceeds a double, although each observation does not.
    #[error("the result overflows: the observations differ by more than a double can hold")]
    Overflow,
    /// An iterative fit did not converge.
    #[error("the fit did not converge: the observations do not resemble the curve")]
    NoConvergence,
}
