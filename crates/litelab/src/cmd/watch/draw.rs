//! Pictures of the screen: a function of its state.

use std::collections::VecDeque;

use litelab_doctor::judge::bytes_in_words as bytes;
use litelab_model::text::line as clean;
use litelab_record::recording::{DatabaseView, Event, Phase, ProcessView};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Sparkline, Wrap};

use super::plain::{age, note, seconds, time};
use super::state::{Point, State};

/// Width of names in the lines of rates.
const NAME: u16 = 14;
/// Width of values there.
const VALUE: u16 = 22;

/// Draws the whole screen.
pub fn draw(frame: &mut Frame, state: &State) {
    let look = Look { color: state.color };
    let databases = state.databases();
    let several = databases.len() > 1;
    let chosen = databases.get(state.database).copied();
    let area = frame.area();
    let limits = state.view.limits.len().min(2) as u16;
    let table = if several { (databases.len() as u16 + 1).min(area.height / 4) } else { 0 };
    let holders = chosen.map(|database| holders(database, state, look)).unwrap_or_default();
    let processes = processes(state, area.width, look);
    let explained = match area.height {
        0..30 => 3,
        30..40 => 5,
        _ => 8,
    };
    let rest = area.height.saturating_sub(2 + limits + table + 6);
    // Two lines of events and the explanation of one; holders come before processes.
    let upper = rest.saturating_sub(explained + 3);
    let of_holders = (holders.len() as u16).min(upper.saturating_sub(processes.len().min(2) as u16));
    let of_processes = (processes.len() as u16).min(upper.saturating_sub(of_holders));
    let parts = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(table),
        Constraint::Length(6),
        Constraint::Length(of_holders),
        Constraint::Length(of_processes),
        Constraint::Min(0),
        Constraint::Length(limits),
        Constraint::Length(1),
    ]);
    let [title_at, table_at, rates_at, holders_at, processes_at, events_at, limits_at, keys_at] = parts.areas(area);
    frame.render_widget(title(state, area.width), title_at);
    if several {
        frame.render_widget(Paragraph::new(overview(&databases, state, table, look)), table_at);
    }
    if let Some(database) = chosen {
        rates(frame, rates_at, database, state.history.get(&database.path), look);
    }
    frame.render_widget(Paragraph::new(cut(holders, of_holders)), holders_at);
    frame.render_widget(Paragraph::new(cut(processes, of_processes)), processes_at);
    events(frame, events_at, state, explained, look);
    let blind = state
        .view
        .limits
        .iter()
        .map(|limit| Line::from(vec![look.color("not visible: ", Color::Yellow), Span::raw(clean(&limit.text))]));
    frame.render_widget(Paragraph::new(blind.take(limits.into()).collect::<Vec<_>>()), limits_at);
    frame.render_widget(keys(state, several), keys_at);
}

/// Styles, without colours if the terminal shows none.
#[derive(Clone, Copy)]
struct Look {
    color: bool,
}

impl Look {
    fn color(self, text: impl Into<String>, color: Color) -> Span<'static> {
        let style = if self.color { Style::new().fg(color) } else { Style::new() };
        Span::styled(text.into(), style)
    }

    fn strong(text: impl Into<String>) -> Span<'static> {
        Span::styled(text.into(), Style::new().add_modifier(Modifier::BOLD))
    }

    fn dim(text: impl Into<String>) -> Span<'static> {
        Span::styled(text.into(), Style::new().add_modifier(Modifier::DIM))
    }

    fn severity(self, event: &Event) -> Span<'static> {
        let color = match event.severity.as_str() {
            "error" => Color::Red,
            "warning" => Color::Yellow,
            _ => Color::Reset,
        };
        self.color(format!("{:<7}", event.severity), color)
    }
}

/// The first lines, and how many are missing.
fn cut(mut lines: Vec<Line<'static>>, room: u16) -> Vec<Line<'static>> {
    let room = usize::from(room);
    if lines.len() > room && room > 1 {
        let missing = lines.len() - room + 1;
        lines.truncate(room - 1);
        lines.push(Line::from(Look::dim(format!("  and {missing} more"))));
    }
    lines
}

fn title(state: &State, width: u16) -> Line<'static> {
    let own = &state.view.watch;
    let every = match &state.position {
        Some(position) => position.clone(),
        None => format!("every {}, own CPU {:.1} %", seconds(own.interval_seconds), 100.0 * own.cpu_share),
    };
    let left = format!("litelab watch  {} UTC  {every}", time(state.view.at));
    let right = if state.paused { "paused" } else { "" };
    let gap = usize::from(width).saturating_sub(left.chars().count() + right.len());
    Line::from(vec![Look::strong(left), Span::raw(" ".repeat(gap)), Look::strong(right)])
}

fn overview(databases: &[&DatabaseView], state: &State, room: u16, look: Look) -> Vec<Line<'static>> {
    let head = format!("  {:<28} {:>9} {:>9} {:>9}  write lock", "database", "commits/s", "backlog", "reader");
    let mut lines = vec![Line::from(Look::dim(head))];
    let room = usize::from(room).saturating_sub(1);
    let first = state.database.saturating_sub(room.saturating_sub(1));
    for (number, database) in databases.iter().enumerate().skip(first).take(room) {
        let name: String = {
            let name = clean(&database.path);
            let skip = name.chars().count().saturating_sub(28);
            name.chars().skip(skip).collect()
        };
        let commits = database.rates.map_or(String::new(), |rates| format!("{:.0}", rates.commits));
        let backlog = database.backlog_bytes.map_or(String::new(), |backlog| bytes(backlog as f64));
        let behind = database.readers.iter().filter(|reader| reader.behind_seconds.is_some());
        let reader = behind.map(|reader| reader.seconds).reduce(f64::max).map_or(String::new(), seconds);
        let writer = database.locks.iter().find(|lock| ["write", "reserved", "exclusive"].contains(&&*lock.lock));
        let writer = writer.map_or(String::new(), |lock| state.view.holder(lock.pid));
        let mark = if number == state.database { "> " } else { "  " };
        let text = format!("{mark}{name:<28} {commits:>9} {backlog:>9} {reader:>9}  {}", clean(&writer));
        let storm =
            state.events.iter().any(|e| e.database == database.path && e.phase == Phase::Begin && e.severity != "note");
        lines.push(Line::from(if storm { look.color(text, Color::Yellow) } else { Span::raw(text) }));
    }
    lines
}

/// A line of rates: its name, its value, and the quantity of its sparkline with the greatest value that it can have.
type Row = (&'static str, String, fn(&Point) -> f64, Option<f64>);

fn rates(frame: &mut Frame, area: Rect, database: &DatabaseView, history: Option<&VecDeque<Point>>, look: Look) {
    let rows = Layout::vertical([Constraint::Length(1); 6]).split(area);
    let size = |value: Option<u64>| value.map_or("none".to_owned(), |value| bytes(value as f64));
    let mut about = vec![Look::strong(clean(&database.path)), Span::raw(format!("  {}", database.mode))];
    if database.hot_journal {
        about.push(look.color("  hot journal", Color::Red));
    }
    let mut text = format!("  file {}, log {}", size(database.database_bytes), size(database.wal_bytes));
    if let Some(free) = database.free_bytes {
        text.push_str(&format!(", free {}", bytes(free as f64)));
    }
    if let Some(full) = database.full_in_seconds.filter(|full| *full < 86_400.0) {
        text.push_str(&format!(", full in {}", seconds(full)));
    }
    about.push(Span::raw(text));
    frame.render_widget(Line::from(about), rows[0]);
    let now = Point::of(database);
    let backlog = format!(
        "{} {}",
        database.backlog_bytes.map_or("-".into(), |backlog| bytes(backlog as f64)),
        database.backlog_frames.map_or(String::new(), |frames| format!("({frames} frames)")),
    );
    let per = |value: f64| format!("{}/s", bytes(value));
    let rows_of: [Row; 5] = [
        ("commits", format!("{:.0}/s", now.commits), |point| point.commits, None),
        ("log written", per(now.written), |point| point.written, None),
        ("log copied", per(now.copied), |point| point.copied, None),
        ("backlog", backlog, |point| point.backlog, None),
        ("write lock", format!("{:.0} % held", 100.0 * now.locked), |point| point.locked, Some(1.0)),
    ];
    for ((name, value, of, most), row) in rows_of.into_iter().zip(rows.iter().skip(1)) {
        let cells = Layout::horizontal([Constraint::Length(NAME), Constraint::Length(VALUE), Constraint::Min(0)]);
        let [name_at, value_at, line_at] = cells.areas(*row);
        frame.render_widget(Line::from(Look::dim(format!("  {name}"))), name_at);
        frame.render_widget(Line::from(Span::raw(value)), value_at);
        let points = history.map(|history| {
            let skip = history.len().saturating_sub(line_at.width.into());
            // Sparklines have whole numbers; three digits are more than eight levels need.
            history.iter().skip(skip).map(|point| (1000.0 * of(point)) as u64).collect::<Vec<_>>()
        });
        let points = points.unwrap_or_default();
        let most = most.map_or_else(|| points.iter().copied().max().unwrap_or(0), |most| (1000.0 * most) as u64);
        if most > 0 {
            let style = if look.color { Style::new().fg(Color::Cyan) } else { Style::new() };
            frame.render_widget(Sparkline::default().data(points).max(most).style(style), line_at);
        }
    }
}

fn holders(database: &DatabaseView, state: &State, look: Look) -> Vec<Line<'static>> {
    let mut lines = vec![Line::from(Look::dim("  lock          held      by"))];
    let line = |name: String, held: String, who: String, more: Span<'static>| {
        Line::from(vec![Span::raw(format!("  {name:<12} {held:>8}  ")), Span::raw(clean(&who)), more])
    };
    for lock in &database.locks {
        let held = age(lock.seconds, lock.at_least);
        lines.push(line(lock.lock.clone(), held, state.view.holder(lock.pid), Span::raw("")));
    }
    for reader in &database.readers {
        let name = reader.slot.map_or_else(|| "shared".to_owned(), |slot| format!("read {slot}"));
        let more = match note(reader, &state.view) {
            Some(note) if reader.pins_frames > 0 => look.color(format!("  {note}"), Color::Yellow),
            Some(note) => Look::dim(format!("  {note}")),
            None if reader.behind_seconds.is_some() => Look::dim("  behind"),
            None => Span::raw(""),
        };
        lines.push(line(name, age(reader.seconds, reader.at_least), state.view.holder(reader.pid), more));
    }
    for lock in &database.waiters {
        let waits = format!("waits {}", lock.lock);
        lines.push(line(waits, age(lock.seconds, lock.at_least), state.view.holder(lock.pid), Span::raw("")));
    }
    if lines.len() == 1 {
        lines.push(Line::from(Look::dim("  no lock is held")));
    }
    lines
}

fn processes(state: &State, width: u16, look: Look) -> Vec<Line<'static>> {
    let room = usize::from(width).saturating_sub(50).clamp(16, 60);
    let head = format!("  {:<room$} {:>6} {:>10} {:>10} {:>7}  SQLite", "process", "CPU", "read", "written", "threads");
    let mut lines = vec![Line::from(Look::dim(head))];
    let per = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{}/s", bytes(value)));
    let mut all: Vec<&ProcessView> = state.view.processes.iter().collect();
    all.sort_by(|a, b| b.cpu.unwrap_or(0.0).total_cmp(&a.cpu.unwrap_or(0.0)).then(a.pid.cmp(&b.pid)));
    for process in all {
        let name: String = clean(&process.shown()).chars().take(room).collect();
        let cpu = process.cpu.map_or("-".to_owned(), |cpu| format!("{:.0} %", 100.0 * cpu));
        let threads = process.threads.map_or("-".to_owned(), |threads| threads.to_string());
        let (read, written) = (per(process.read_per_second), per(process.written_per_second));
        let sqlite = process.sqlite.join(", ");
        let mut spans = vec![Span::raw(format!(
            "  {name:<room$} {cpu:>6} {read:>10} {written:>10} {threads:>7}  {}",
            clean(&sqlite)
        ))];
        if !process.deleted.is_empty() {
            spans.push(look.color(format!("  deleted: {}", clean(&process.deleted.join(", "))), Color::Red));
        }
        lines.push(Line::from(spans));
    }
    if lines.len() == 1 {
        lines.push(Line::from(Look::dim("  no process has it open")));
    }
    lines
}

fn events(frame: &mut Frame, area: Rect, state: &State, explained: u16, look: Look) {
    let [list_at, text_at] = Layout::vertical([Constraint::Min(0), Constraint::Length(explained)]).areas(area);
    let mut lines = vec![Line::from(Look::dim("  events"))];
    let room = usize::from(list_at.height).saturating_sub(1);
    let first = state.event.saturating_sub(room.saturating_sub(1));
    for (number, event) in state.events.iter().enumerate().skip(first).take(room) {
        let mark = if number == state.event { "> " } else { "  " };
        let lasts = match event.phase {
            Phase::Once => String::new(),
            Phase::Begin => format!("  lasts {}", seconds(event.seconds)),
            Phase::End => format!("  over after {}", seconds(event.seconds)),
        };
        lines.push(Line::from(vec![
            Span::raw(format!("{mark}{} ", time(event.at))),
            look.severity(event),
            Span::raw(format!(" {}", clean(&event.message))),
            Look::dim(lasts),
        ]));
    }
    if state.events.is_empty() {
        lines.push(Line::from(Look::dim("  none yet")));
    }
    frame.render_widget(Paragraph::new(lines), list_at);
    if let Some(event) = state.events.get(state.event) {
        let text = vec![
            Line::from(vec![Look::strong(event.rule.clone()), Span::raw(format!(" {}", clean(&event.because)))]),
            Line::from(vec![Look::strong("fix "), Span::raw(clean(&event.fix))]),
        ];
        frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), text_at);
    }
}

fn keys(state: &State, several: bool) -> Line<'static> {
    let databases = if several { format!("up/down database  s sort: {}  ", state.sort.name()) } else { String::new() };
    Line::from(Look::dim(format!("q end  p pause  {databases}left/right event")))
}

#[cfg(test)]
#[path = "draw_tests.rs"]
mod tests;
