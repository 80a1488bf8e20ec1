//! Descriptions of charts in words.

/// Number of marks that a description names; the table next to the chart has all of them.
const NAMED: usize = 10;

/// Joins the main sentence, the sentence on what is drawn, and the first marks in words.
pub(crate) fn description(summary: &str, drawn: &str, marks: impl ExactSizeIterator<Item = String>) -> String {
    let more = marks.len().saturating_sub(NAMED);
    let marks: Vec<String> = marks.take(NAMED).filter(|mark| !mark.is_empty()).collect();
    let marks = match (marks.is_empty(), more) {
        (true, _) => String::new(),
        (false, 0) => format!("{}.", marks.join("; ")),
        (false, more) => format!("{}; and {more} more.", marks.join("; ")),
    };
    let drawn = format!("Shown: {}", drawn.trim());
    let parts = [summary.trim(), &drawn, &marks];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}
