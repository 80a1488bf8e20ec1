//! The one place where a line leaves the program for a terminal or a pipe.
//!
//! What a line quotes may come from a study, a runner, a run file or the name of a file. It is made printable here, so
//! that no call site has to; colours are added afterwards. `clippy.toml` refuses the macros and methods that print past it.
//! Whole pages ([`rendered`]) are made printable by the renderers of `litelab-report`.

use std::fmt::Display;
use std::process::ExitCode;

use anstyle::Style;
use clap::error::{ContextKind, ContextValue};
use indicatif::{MultiProgress, ProgressBar};
use litelab_model::text;

use crate::exit::Exit;
use crate::style;

/// A line on standard output.
pub fn line(text: impl Display) {
    spans(&[(Style::new(), &text)]);
}

/// A line on standard output that begins with a styled head.
pub fn headed(style: Style, head: impl Display, rest: impl Display) {
    spans(&[(style, &head), (Style::new(), &rest)]);
}

/// A line on standard output, each piece in its style.
#[expect(clippy::disallowed_macros, reason = "this is the place")]
pub fn spans(pieces: &[(Style, &dyn Display)]) {
    anstream::println!("{}", painted(pieces));
}

/// Several lines of a text from outside on standard output.
#[expect(clippy::disallowed_macros, reason = "this is the place")]
pub fn lines(text: &str) {
    anstream::print!("{}", text::printable_lines(text));
}

/// What a renderer of `litelab-report` has made, colours included, on standard output.
#[expect(clippy::disallowed_macros, reason = "this is the place")]
pub fn rendered(page: &str) {
    anstream::print!("{page}");
}

/// A line on standard error.
#[expect(clippy::disallowed_macros, reason = "this is the place")]
pub fn log(text: impl Display) {
    anstream::eprintln!("{}", painted(&[(Style::new(), &text)]));
}

/// A line on standard error that begins with a styled word and a colon.
#[expect(clippy::disallowed_macros, reason = "this is the place")]
pub fn note(style: Style, word: impl Display, text: impl Display) {
    anstream::eprintln!("{}", painted(&[(style, &format_args!("{word}:")), (Style::new(), &format_args!(" {text}"))]));
}

/// [`log`] above a bar.
pub fn log_above(screen: &MultiProgress, text: impl Display) {
    screen.suspend(|| log(text));
}

/// [`note`] above a bar.
pub fn note_above(screen: &MultiProgress, style: Style, word: &str, text: impl Display) {
    screen.suspend(|| note(style, word, text));
}

/// The message of a bar.
#[expect(clippy::disallowed_methods, reason = "this is the place")]
pub fn message(bar: &ProgressBar, text: &str) {
    bar.set_message(text::line(text));
}

/// Ends the program as clap would: help on standard output, a mistake in the arguments on standard error.
#[expect(clippy::disallowed_macros, reason = "this is the place")]
pub fn usage(mut error: clap::Error) -> ExitCode {
    drop_far_suggestion(&mut error);
    let text = error.render();
    let plain = text.to_string();
    let shown = text::printable_lines(&plain);
    match error.use_stderr() {
        // Clap's colours are kept where the arguments have none of their own.
        true if shown == plain => anstream::eprint!("{}", text.ansi()),
        true => anstream::eprint!("{shown}"),
        false => anstream::print!("{}", text.ansi()),
    }
    if error.use_stderr() { Exit::BadInput.into() } else { Exit::Ok.into() }
}

/// Takes the suggestion of an argument out of an error where it is not near: clap's own measure finds `--dir` for `--driver`.
fn drop_far_suggestion(error: &mut clap::Error) {
    let name = |kind| match error.get(kind) {
        Some(ContextValue::String(name)) => Some(name.trim_start_matches('-')),
        _ => None,
    };
    if let (Some(given), Some(suggested)) = (name(ContextKind::InvalidArg), name(ContextKind::SuggestedArg))
        && litelab_model::nearest(given, [suggested]).is_none()
    {
        error.remove(ContextKind::SuggestedArg);
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

/// An error: one line, nothing quoted at any length.
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
