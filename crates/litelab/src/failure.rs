//! One-line messages of errors, and the exit code of each.

use std::error::Error;

use litelab_bulk::BulkError;
use litelab_database::SourceError;
use litelab_engine::EngineError;
use litelab_model::ModelError;
use litelab_record::RecordError;

use crate::exit::{BadInput, Exit};
use crate::{cmd, files, output, style};

/// Prints an error as one red line and returns its exit code.
pub fn report(error: &anyhow::Error) -> Exit {
    // The reader has closed the pipe (`litelab export | head`): not an error.
    if files::written(error).is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe) {
        return Exit::Ok;
    }
    let exit = error.chain().find_map(code).unwrap_or(Exit::Failed);
    if let Some(cancelled @ BulkError::Cancelled { .. }) = error.downcast_ref() {
        output::note(style::WARNING, "interrupted", cancelled);
    } else if exit != Exit::Interrupted {
        output::error(&format!("{error:#}"));
    }
    exit
}

/// Exit code of one of litelab's own errors; `None` for any other.
fn code(error: &(dyn Error + 'static)) -> Option<Exit> {
    let is_run_stopped = matches!(error.downcast_ref(), Some(EngineError::Interrupted));
    if is_run_stopped || matches!(error.downcast_ref(), Some(BulkError::Cancelled { .. })) {
        return Some(Exit::Interrupted);
    }
    if error.is::<BadInput>() || error.is::<ModelError>() {
        return Some(Exit::BadInput);
    }
    let is_bad_input = error
        .downcast_ref::<EngineError>()
        .map(EngineError::is_bad_input)
        .or_else(|| error.downcast_ref::<SourceError>().map(SourceError::is_bad_input))
        .or_else(|| error.downcast_ref::<RecordError>().map(RecordError::is_bad_input))
        .or_else(|| error.downcast_ref::<BulkError>().map(BulkError::is_bad_input));
    is_bad_input.map(|bad| if bad { Exit::BadInput } else { Exit::Failed }).or_else(|| cmd::servers::exit(error))
}
