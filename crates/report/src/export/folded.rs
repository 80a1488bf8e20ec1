//! Call stacks as folded lines, for tools that draw or compare them.

use std::io::Write;

use litelab_model::text::printable;
use litelab_record::RunInfo;

use crate::document::clean;
use crate::error::ReportError;

/// Writes lines of `arm;thread;function;function samples` for all sampled arms; nothing without samples.
///
/// # Errors
/// If the output cannot be written.
pub fn stacks(info: &RunInfo, out: &mut dyn Write) -> Result<(), ReportError> {
    for (arm, stacks) in &info.stacks {
        // The name of an arm must not contain the separator of frames.
        let arm = clean(&info.plan.arm_name(*arm)).replace(';', ",");
        for line in stacks.folded().lines() {
            writeln!(out, "{arm};{}", printable(line)).map_err(ReportError::Write)?;
        }
    }
    Ok(())
}
