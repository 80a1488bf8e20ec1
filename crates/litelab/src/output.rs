//! The only functions that write lines to a terminal or a pipe.
//!
//! A line may quote a study, a runner, a run file or a file name. Control characters are replaced here, so that no call
//! site needs to; colours are added afterwards. `clippy.toml` forbids the macros and methods that bypass this module.
//! The renderers of `litelab-report` sanitise whole pages ([`rendered`]) themselves.

use std::fmt::{Arguments, Display};
use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use anstyle::Style;
use clap::error::ErrorKind as UsageKind;
use indicatif::{MultiProgress, ProgressBar};
use litelab_model::text;

use crate::exit::Exit;
use crate::style;

/// Whether standard output has no reader any more, or cannot be written.
static CLOSED: AtomicBool = AtomicBool::new(false);
/// Whether standard output could not be written for another reason than that its reader has ended.
static FAILED: AtomicBool = AtomicBool::new(false);

/// Whether there is no use in printing more.
pub fn is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Whether something that was printed is lost, as on a full disk.
pub fn has_failed() -> bool {
    FAILED.load(Ordering::Relaxed)
}

fn out(text: Arguments<'_>) {
    let Err(error) = anstream::stdout().write_fmt(text) else { return };
    CLOSED.store(true, Ordering::Relaxed);
    if error.kind() != ErrorKind::BrokenPipe && !FAILED.swap(true, Ordering::Relaxed) {
        note(style::ERROR, "error", format_args!("standard output: {error}"));
    }
}

/// A message that cannot be printed must not end the work.
fn err(text: Arguments<'_>) {
    let _lost = anstream::stderr().write_fmt(text);
}

/// Prints a line on standard output.
pub fn line(text: impl Display) {
    spans(&[(Style::new(), &text)]);
}

/// Prints a line on standard output that begins with a styled head.
pub fn headed(style: Style, head: impl Display, rest: impl Display) {
    spans(&[(style, &head), (Style::new(), &rest)]);
}

/// Prints a line on standard output, each piece in its style.
pub fn spans(pieces: &[(Style, &dyn Display)]) {
    out(format_args!("{}\n", painted(pieces)));
}

/// Prints a name in a column of `width`, and a description that is wrapped beside it.
pub fn entry(name: impl Display, width: usize, description: &str) {
    entry_in(style::STRONG, name, width, description);
}

/// Like [`entry`], with the name in a style.
pub fn entry_in(style: Style, name: impl Display, width: usize, description: &str) {
    let indent = " ".repeat(width + 2);
    let name = format!("{name:width$}");
    let room = style::width().saturating_sub(indent.len()).max(20);
    let description = text::line(description);
    let room = textwrap::Options::new(room).word_splitter(textwrap::WordSplitter::NoHyphenation);
    for (number, part) in textwrap::wrap(&description, room).into_iter().enumerate() {
        match number {
            0 => headed(style, &name, format_args!("  {part}")),
            _ => line(format_args!("{indent}{part}")),
        }
    }
}

/// Prints several lines of foreign text on standard output.
pub fn lines(text: &str) {
    out(format_args!("{}", text::printable_lines(text)));
}

/// Prints a value as indented JSON on standard output.
pub fn json(value: &impl serde::Serialize) -> serde_json::Result<()> {
    lines(&format!("{}\n", litelab_report::export::json::pretty(value)?));
    Ok(())
}

/// Prints a page rendered by `litelab-report` on standard output, colours included.
pub fn rendered(page: &str) {
    out(format_args!("{page}"));
}

/// Prints a line on standard error.
pub fn log(text: impl Display) {
    err(format_args!("{}\n", painted(&[(Style::new(), &text)])));
}

/// Prints a line on standard error that begins with a styled word and a colon.
pub fn note(style: Style, word: impl Display, text: impl Display) {
    err(format_args!("{}\n", painted(&[(style, &format_args!("{word}:")), (Style::new(), &format_args!(" {text}"))])));
}

/// Like [`log`], above a progress bar.
pub fn log_above(screen: &MultiProgress, text: impl Display) {
    screen.suspend(|| log(text));
}

/// Like [`note`], above a progress bar.
pub fn note_above(screen: &MultiProgress, style: Style, word: &str, text: impl Display) {
    screen.suspend(|| note(style, word, text));
}

/// Sets the message of a progress bar.
#[expect(clippy::disallowed_methods, reason = "this is the place")]
pub fn message(bar: &ProgressBar, text: &str) {
    bar.set_message(text::line(text));
}

/// Prints clap's help, or the line of a usage error, and returns the exit code.
pub fn usage(failed: &clap::Error) -> ExitCode {
    match failed.kind() {
        UsageKind::DisplayHelp | UsageKind::DisplayVersion => out(format_args!("{}", failed.render().ansi())),
        UsageKind::DisplayHelpOnMissingArgumentOrSubcommand => err(format_args!("{}", failed.render().ansi())),
        _ => error(&crate::usage::line(failed)),
    }
    match failed.use_stderr() {
        true => Exit::BadInput.into(),
        false if has_failed() => Exit::Failed.into(),
        false => Exit::Ok.into(),
    }
}

/// A duration in the largest unit of which there are at least two.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.1} days", s / 86_400.0),
    }
}

fn painted(pieces: &[(Style, &dyn Display)]) -> String {
    let mut out = String::new();
    for (style, text) in pieces {
        let text = text.to_string();
        out.push_str(&format!("{style}{}{style:#}", text::line(&text)));
    }
    out
}

/// Prints an error as one line; long quotations are shortened.
pub fn error(text: &str) {
    note(style::ERROR, "error", text::message(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_program_colours_its_lines() {
        let hostile = "\u{1b}[31mred\u{9b}0m\n\u{202e}x";
        let line = painted(&[(style::STRONG, &hostile), (Style::new(), &": rest")]);
        assert_eq!(line, "\u{1b}[1m [31mred 0m \u{fffd}x\u{1b}[0m: rest");
    }

    #[test]
    fn what_a_line_quotes_has_an_end() {
        let line = painted(&[(Style::new(), &"x".repeat(1_000_000)), (Style::new(), &": rest")]);
        assert!(line.ends_with("x…: rest") && line.chars().count() < 2_100, "{}", line.chars().count());
    }
}
