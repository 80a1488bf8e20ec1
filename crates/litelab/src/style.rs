//! Colours, and how wide the terminal is. `anstream` drops colours where NO_COLOR or a pipe says so.

use std::io::IsTerminal;

use anstyle::{AnsiColor, Color, Style};

/// Errors.
pub const ERROR: Style = Style::new().bold().fg_color(Some(Color::Ansi(AnsiColor::Red)));
/// Warnings.
pub const WARNING: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Yellow)));
/// What matters in a line.
pub const STRONG: Style = Style::new().bold();

/// Columns of standard output; wide enough for tables where it is no terminal.
pub fn width() -> usize {
    terminal_size::terminal_size().map_or(120, |(width, _)| usize::from(width.0))
}

/// Lines of the terminal that shows progress.
pub fn height() -> usize {
    terminal_size::terminal_size_of(std::io::stderr()).map_or(0, |(_, height)| usize::from(height.0))
}

/// Whether standard output shows colours.
pub fn color() -> bool {
    anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never
}

/// How a report on standard output is to look.
pub fn report() -> litelab_report::Style {
    litelab_report::Style { color: color(), width: width() }
}

/// Whether progress may redraw its lines.
pub fn redraws() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
}
