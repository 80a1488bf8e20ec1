//! Call stacks for tools that draw or compare them.

use std::io::Write;

use litelab_model::text::printable;
use litelab_record::RunInfo;

use crate::document::clean;
use crate::error::ReportError;

/// Lines of `arm;thread;function;function samples`, of all arms that were sampled; nothing where none was.
///
/// # Errors
/// When they cannot be written.
pub fn stacks(info: &RunInfo, out: &mut dyn Write) -> Result<(), ReportError> {
    for (arm, stacks) in &info.stacks {
        // What separates frames must not stand in the arm's name.
        let arm = clean(&info.plan.arm_name(*arm)).replace(';', ",");
        for line in stacks.folded().lines() {
            writeln!(out, "{arm};{}", printable(line)).map_err(ReportError::Write)?;
        }
    }
    Ok(())
}
