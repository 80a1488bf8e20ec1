//! One-line messages of errors, and the exit code of each.

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
    let exit = code(error);
    if let Some(cancelled @ BulkError::Cancelled { .. }) = error.downcast_ref() {
        output::note(style::WARNING, "interrupted", cancelled);
    } else if exit != Exit::Interrupted {
        output::error(&format!("{error:#}"));
    }
    exit
}

fn code(error: &anyhow::Error) -> Exit {
    for cause in error.chain() {
        if cause.is::<BadInput>() || cause.is::<ModelError>() {
            return Exit::BadInput;
        }
        if let Some(engine) = cause.downcast_ref::<EngineError>() {
            return match engine {
                EngineError::Interrupted => Exit::Interrupted,
                e if e.is_bad_input() => Exit::BadInput,
                _ => Exit::Failed,
            };
        }
        if let Some(source) = cause.downcast_ref::<SourceError>() {
            return if source.is_bad_input() { Exit::BadInput } else { Exit::Failed };
        }
        if let Some(record) = cause.downcast_ref::<RecordError>() {
            return if record.is_bad_input() { Exit::BadInput } else { Exit::Failed };
        }
        if let Some(exit) = cmd::servers::exit(cause) {
            return exit;
        }
        if let Some(bulk) = cause.downcast_ref::<BulkError>() {
            return match bulk {
                BulkError::Cancelled { .. } => Exit::Interrupted,
                error if error.is_bad_input() => Exit::BadInput,
                _ => Exit::Failed,
            };
        }
    }
    Exit::Failed
}
