//! Colours and terminal size. `anstream` drops colours if NO_COLOR is set or the output is a pipe.

use std::io::IsTerminal;

use anstyle::{AnsiColor, Color, Style};

/// Style of errors.
pub const ERROR: Style = Style::new().bold().fg_color(Some(Color::Ansi(AnsiColor::Red)));
/// Style of warnings.
pub const WARNING: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Yellow)));
/// Style of the important part of a line.
pub const STRONG: Style = Style::new().bold();

/// Width of standard output in columns. Where it is not a terminal: that of the variable COLUMNS, default 120.
pub fn width() -> usize {
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns >= 20);
    let terminal = terminal_size::terminal_size_of(std::io::stdout());
    terminal.map(|(width, _)| usize::from(width.0)).or_else(columns).unwrap_or(120)
}

/// Height in lines of the terminal on standard error; 0 where it is not a terminal.
pub fn height() -> usize {
    terminal_size::terminal_size_of(std::io::stderr()).map_or(0, |(_, height)| usize::from(height.0))
}

/// Whether standard output shows colours.
pub fn color() -> bool {
    anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never
}

/// Style of a report on standard output.
pub fn report() -> litelab_report::Style {
    litelab_report::Style { color: color(), width: width() }
}

/// Whether standard error is a terminal on which progress can redraw its lines.
pub fn redraws() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
}
