//! Pictures of a view written by hand.

use std::sync::Arc;

use litelab_record::recording::{
    DatabaseView, Event, Limit, LockView, Own, Phase, ProcessView, Rates, ReaderView, Totals, View,
};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::super::state::State;
use super::draw;

fn process(pid: u32, command: &str, cpu: f64) -> ProcessView {
    ProcessView {
        pid,
        name: command.split(' ').next().unwrap_or_default().into(),
        command: command.into(),
        sqlite: vec!["3.54.1".into()],
        threads: Some(4),
        cpu: Some(cpu),
        read_per_second: Some(0.0),
        written_per_second: Some(2_500_000.0),
        readable: true,
        ..ProcessView::default()
    }
}

fn database(path: &str) -> DatabaseView {
    DatabaseView {
        path: path.into(),
        mode: "wal".into(),
        page_size: Some(4096),
        database_bytes: Some(12_000_000),
        wal_bytes: Some(36_000_000),
        frames: Some(8738),
        backfilled: Some(101),
        backlog_frames: Some(8637),
        backlog_bytes: Some(35_584_440),
        rates: Some(Rates { commits: 1204.0, frames: 2410.0, checkpointed: 12.0, write_locked: 0.93 }),
        totals: Totals::default(),
        locks: vec![LockView { lock: "write".into(), pid: Some(812), seconds: 1.24, ..LockView::default() }],
        readers: vec![
            ReaderView {
                slot: Some(1),
                mark: Some(101),
                pid: Some(977),
                seconds: 41.0,
                behind_seconds: Some(40.0),
                pins_frames: 8000,
                pins_bytes: 33_000_000,
                ..ReaderView::default()
            },
            ReaderView {
                slot: Some(2),
                mark: Some(8738),
                pid: None,
                seconds: 0.3,
                at_least: true,
                ..ReaderView::default()
            },
        ],
        free_bytes: Some(64_000_000_000),
        full_in_seconds: Some(720.0),
        open_by: vec![812, 977],
        ..DatabaseView::default()
    }
}

/// A state after a minute in which the backlog grew.
fn state(paths: &[&str]) -> State {
    let mut state = State::default();
    let event = Event {
        number: 1,
        at: 1_800_000_020.0,
        phase: Phase::Begin,
        kind: "starved-checkpoint".into(),
        database: paths[0].into(),
        pid: Some(977),
        seconds: 31.0,
        rule: "LL514".into(),
        severity: "warning".into(),
        message: "977 python report.py reads a snapshot that is 10 s old and pins 9.1 MB of log".into(),
        because: "No checkpoint can pass the oldest snapshot, so the log grows until that read transaction ends."
            .into(),
        fix: "exhaust or close cursors, and call `commit()`".into(),
        ..Event::default()
    };
    for second in 0..60 {
        let databases = paths.iter().map(|path| {
            let mut database = database(path);
            database.backlog_bytes = Some(600_000 * second);
            database.rates.as_mut().unwrap().commits = 1000.0 + (second % 7) as f64 * 100.0;
            database
        });
        let view = View {
            at: 1_800_000_000.0 + second as f64,
            databases: databases.collect(),
            processes: vec![process(812, "node /srv/api.js", 0.71), process(977, "python report.py", 0.0)],
            limits: vec![Limit {
                name: "no-permission".into(),
                text: "some processes may not be examined: run as root, or add CAP_SYS_PTRACE".into(),
            }],
            watch: Own { interval_seconds: 0.1, cpu_share: 0.004, ..Own::default() },
        };
        state.take(Arc::new(view), if second == 30 { vec![event.clone()] } else { vec![] });
    }
    state
}

fn picture(state: &State, columns: u16, rows: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| draw(frame, state)).unwrap();
    terminal.backend().to_string()
}

#[test]
fn one_database_on_a_small_screen() {
    insta::assert_snapshot!(picture(&state(&["/srv/app.db"]), 80, 24));
}

#[test]
fn three_databases_on_a_large_screen() {
    insta::assert_snapshot!(picture(&state(&["/srv/app.db", "/srv/queue.db", "/srv/cache.db"]), 200, 60));
}

#[test]
fn every_size_is_drawn() {
    let state = state(&["a.db", "b.db"]);
    for (columns, rows) in (1..120).zip((1..60).cycle()) {
        picture(&state, columns, rows);
    }
    picture(&State::default(), 80, 24);
}

#[test]
fn control_characters_of_other_programs_are_not_drawn() {
    let mut hostile = state(&["a\u{1b}[31m.db"]);
    let mut view = (*hostile.view).clone();
    view.processes[0].command = "x\u{1b}]0;title\u{7} \u{202e}y\n".into();
    hostile.view = Arc::new(view);
    let text = picture(&hostile, 80, 24);
    assert!(!text.chars().any(|c| c != '\n' && c.is_control()) && !text.contains('\u{202e}'), "{text}");
}
