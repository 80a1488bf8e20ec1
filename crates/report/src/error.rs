//! Why there is no report.

use litelab_record::RecordError;

use crate::compare::Difference;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The run file cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A trial names an arm that the plan does not have.
    #[error("the run file is damaged: a trial is of arm {arm}, and the plan has {arms} arms")]
    Damaged {
        /// The index it names.
        arm: usize,
        /// Arms of the plan.
        arms: usize,
    },
    /// Two runs cannot be compared.
    #[error("these runs are not alike: {}; compare runs of the same machine and builds, or allow it with --allow-unlike={}", list(.0), kinds(.0))]
    Unlike(Vec<Difference>),
    /// Two runs have no arm in common.
    #[error("these runs have no arm in common: compare runs of the same study, or name two arms of one run")]
    NothingInCommon,
    /// A selector does not select one arm.
    #[error("{0}")]
    Arm(String),
    /// A tolerance that is none.
    #[error("a tolerance of {0} makes no sense: give a fraction such as 0.05")]
    Tolerance(f64),
    /// Two runs of which neither repeats the other.
    #[error("these runs are not of one study, so that neither repeats the other: {0}")]
    NoRepetition(String),
    /// A table that cannot be made as it is asked for.
    #[error("{0}")]
    Pivot(String),
    /// A page whose tables cannot be made.
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
