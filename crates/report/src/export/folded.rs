//! Call stacks as folded lines, for tools that draw or compare them.

use std::io::Write;

use litelab_model::text::printable;
use litelab_record::RunInfo;

use crate::document::clean;
use crate::error::ReportError;

/// Writes lines of `variant;thread;function;function samples` for all sampled variants; nothing without samples.
///
/// # Errors
/// If the output cannot be written.
pub fn stacks(info: &RunInfo, out: &mut dyn Write) -> Result<(), ReportError> {
    for (variant, stacks) in &info.stacks {
        // The name of a variant must not contain the separator of frames.
        let variant = clean(&info.plan.variant_name(*variant)).replace(';', ",");
        for line in stacks.folded().lines() {
            writeln!(out, "{variant};{}", printable(line)).map_err(ReportError::Write)?;
        }
    }
    Ok(())
}
