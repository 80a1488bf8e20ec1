//! Errors of reports.

use litelab_record::RecordError;

use crate::unlike::Difference;

/// Reason for which a report, comparison or export was not made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The run file cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A trial names a variant that the plan does not have.
    #[error("the run file is damaged: a trial is of variant {variant}, and the plan has {variants} variants")]
    Damaged {
        /// Index of the variant that the trial names.
        variant: usize,
        /// Number of variants of the plan.
        variants: usize,
    },
    /// Two runs cannot be compared.
    #[error("these runs are not alike: {}; compare runs of the same machine and builds, or allow it with --allow-unlike={}", list(.0), kinds(.0))]
    Unlike(Vec<Difference>),
    /// Two runs have no variant in common.
    #[error("these runs have no variant in common: compare runs of the same study, or name two variants of one run")]
    NothingInCommon,
    /// A selector does not select one variant.
    #[error("{0}")]
    Variant(String),
    /// A tolerance is not a usable fraction.
    #[error("a tolerance of {0} makes no sense: give a fraction such as 0.05")]
    Tolerance(f64),
    /// Neither of two runs repeats the other.
    #[error("these runs are not of one study, so that neither repeats the other: {0}")]
    NoRepetition(String),
    /// A table cannot be made as requested.
    #[error("{0}")]
    Pivot(String),
    /// The tables of a page cannot be made.
    #[error("{0}")]
    Splice(String),
    /// The export cannot be written.
    #[error("cannot write the export")]
    Write(#[source] std::io::Error),
}

impl From<csv::Error> for ReportError {
    fn from(error: csv::Error) -> Self {
        Self::Write(match error.into_kind() {
            csv::ErrorKind::Io(error) => error,
            other => std::io::Error::other(format!("{other:?}")),
        })
    }
}

fn kinds(differences: &[Difference]) -> String {
    let kinds: std::collections::BTreeSet<_> = differences.iter().map(|d| d.of).collect();
    kinds.into_iter().map(|kind| kind.name()).collect::<Vec<_>>().join(",")
}

fn list(differences: &[Difference]) -> String {
    differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
